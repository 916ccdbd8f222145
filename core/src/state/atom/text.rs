//! Atoms read from the lossless tree, and written back.

use alloc::{borrow::ToOwned, boxed::Box, format, vec::Vec};

use super::{Atom, Body, Placed, PlanningStep, Task, kids::kids, rules::ATOM};
use crate::{
    doc::{self, Fault, Node},
    id::AtomId,
    state::{
        Extra, binding,
        fields::{Fields, Findings, Writer},
        rule::Form,
        table::Part,
        value::FieldValue,
    },
};

impl FieldValue for Atom {
    fn form() -> Form {
        Form::OneOf(&ATOM)
    }

    fn read(node: &Node, pointer: &str, found: &mut Findings) -> Option<Self> {
        Atom::read(node, pointer, found)
    }

    fn node(&self) -> Node {
        Atom::node(self)
    }
}

impl Atom {
    pub fn read(node: &Node, pointer: &str, found: &mut Findings) -> Option<Self> {
        let mut fields = Fields::open_or(node, pointer, found, |node| {
            let form = "write `{description: …}`, or `{action: {run: …}}`";
            node.as_str().map(|_| form.to_owned())
        })?;
        let Some(kind) = read_kind(&mut fields) else {
            return fields.found.is_newer.then(|| Self::newer(fields));
        };
        let description = fields.text_or_empty("description");
        let depends_on = Vec::take(&mut fields, "depends_on").unwrap_or_default();
        let body = match kind {
            "all" => read_all(&mut fields)?,
            "plan" => Body::Plan(Box::new(read_plan(&mut fields)?)),
            "any" => {
                let choices = kids(&mut fields, "choices");
                Body::Any {
                    selected: selected(&mut fields, &choices),
                    choices,
                    speculative: fields.flag("speculative").unwrap_or(false),
                    unknown: fields.flag("unknown").unwrap_or(false),
                }
            }
            _ => Body::Task(Box::new(Task::read(&mut fields)?)),
        };
        let accepts_partial = fields.flag("accepts_partial").unwrap_or(false);
        let origin = fields.take("origin").cloned();
        Some(Self {
            description,
            depends_on,
            body,
            accepts_partial,
            origin,
            extra: fields.finish(),
        })
    }

    /// An atom of a kind that only a newer version knows: its common keys are read, and all of it is written back as it
    /// is.
    fn newer(mut fields: Fields<'_, '_>) -> Self {
        Self {
            description: fields.text_or_empty("description"),
            depends_on: Vec::take(&mut fields, "depends_on").unwrap_or_default(),
            extra: Extra::whole(fields.node),
            ..binding::nothing()
        }
    }

    pub fn node(&self) -> Node {
        self.written(false)
    }

    /// The same, but with a planning step as a step whatever is in force, so that two states of it can be compared.
    pub fn node_side_by_side(&self) -> Node {
        self.written(true)
    }

    fn written(&self, as_plan: bool) -> Node {
        let mut to = Writer::default();
        let (kind, parts) = match &self.body {
            Body::Task(_) => ("task", None),
            Body::Plan(plan) => match plan.in_force().filter(|_| !as_plan) {
                Some(fragment) => ("all", Some(&fragment.parts)),
                None => ("plan", None),
            },
            Body::All { parts } => ("all", Some(parts)),
            Body::Any { .. } => ("any", None),
        };
        to.text("kind", kind).text_unless_empty("description", &self.description);
        if let Some(parts) = parts {
            to.put("parts", parts.node());
        }
        if let Body::Any { choices, selected, speculative, unknown } = &self.body {
            let selected = selected.as_ref().map_or_else(Node::null, AtomId::node);
            to.put("choices", choices.node()).put("selected", selected);
            to.flag_if("speculative", *speculative);
            to.flag_if("unknown", *unknown);
        }
        to.put("depends_on", self.depends_on.node());
        match &self.body {
            Body::Task(task) => task.write(&mut to),
            Body::Plan(plan) => write_plan(plan, parts.is_some(), &mut to),
            Body::All { .. } | Body::Any { .. } => {}
        }
        to.flag_if("accepts_partial", self.accepts_partial);
        to.some("origin", self.origin.clone());
        to.finish(&self.extra)
    }
}

/// An `all` that was a planning step has `planned`.
fn read_all(fields: &mut Fields<'_, '_>) -> Option<Body> {
    let parts = kids(fields, "parts");
    let Some(node) = fields.take("planned") else {
        return Some(Body::All { parts });
    };
    let at = fields.at("planned");
    let mut inner = Fields::open(node, &at, fields.found)?;
    let mut plan = PlanningStep::read(&mut inner, Some(parts))?;
    plan.placed = Placed::read(&mut inner)?;
    plan.extra = inner.finish();
    Some(Body::Plan(Box::new(plan)))
}

fn read_plan(fields: &mut Fields<'_, '_>) -> Option<PlanningStep> {
    let mut plan = PlanningStep::read(fields, None)?;
    if let Some(node) = fields.take("planned") {
        let at = fields.at("planned");
        let mut inner = Fields::open(node, &at, fields.found)?;
        plan.placed = Placed::read(&mut inner)?;
        plan.extra = inner.finish();
    }
    Some(plan)
}

fn write_plan(plan: &PlanningStep, is_all: bool, to: &mut Writer) {
    if !is_all {
        plan.write(to, true);
        if plan.placed.is_placed() || !plan.extra.is_empty() {
            let mut inner = Writer::default();
            plan.placed.write(&mut inner);
            to.put("planned", inner.finish(&plan.extra));
        }
        return;
    }
    let mut inner = Writer::default();
    plan.write(&mut inner, false);
    plan.placed.write(&mut inner);
    to.put("planned", inner.finish(&plan.extra));
}

/// A name that is no choice is read as null, with a warning: a choice that a person took back (contract §8).
fn selected(fields: &mut Fields<'_, '_>, choices: &[AtomId]) -> Option<AtomId> {
    let named = fields.text("selected").map(AtomId::new)?;
    if choices.contains(&named) {
        return Some(named);
    }
    let known: Vec<&str> = choices.iter().map(AtomId::as_str).collect();
    let hint = doc::did_you_mean(named.as_str(), known.iter().copied());
    let hint = hint.unwrap_or_else(|| format!("one of {}, or null", known.join(", ")));
    let span = fields.node.get("selected").map(|node| node.span);
    fields.found.warnings.push(Fault {
        span: span.unwrap_or_default(),
        pointer: fields.at("selected"),
        rule: "selected-not-a-choice",
        message: format!("`{named}` is no choice of this group: read as null"),
        hint: Some(hint),
    });
    None
}

fn read_kind(fields: &mut Fields<'_, '_>) -> Option<&'static str> {
    if fields.take("kind").is_some() {
        let words = ["task", "all", "any", "plan"].map(|word| (word, word));
        return fields.word("kind", &words);
    }
    let has = |key: &str| fields.node.get(key).is_some();
    Some(if has("choices") {
        "any"
    } else if has("parts") {
        "all"
    } else {
        "task"
    })
}
