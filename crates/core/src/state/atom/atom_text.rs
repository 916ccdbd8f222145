//! Atoms read from the lossless tree, and written back, with the keys of each kind as rules.

use super::{Atom, Body, PlanningStep, ShownStatus, Task, ends::kids};
use crate::doc::prelude::*;
use crate::{
    doc::{self, Node},
    id::AtomId,
    state::{
        Extra,
        fields::{Fields, Findings, Halves, Writer},
        rule::{ChoiceRule, FieldRule, Form, Owner, RecordRule, WordRule, WordsRule},
        table::{Part, rule},
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
        Self::read_half(node, None, pointer, found)
    }

    /// Reads an atom of which `internal` is the other half.
    pub fn read_half(
        node: &Node,
        internal: Option<&Node>,
        pointer: &str,
        found: &mut Findings,
    ) -> Option<Self> {
        let fields = Fields::open_or(node, pointer, found, |node| {
            let form = "write `{description: …}`, or `{action: {run: …}}`";
            node.as_str().map(|_| form.to_owned())
        })?;
        let mut fields = fields.with_internal(internal);
        let Some(kind) = read_kind(&mut fields) else {
            return fields.found.is_newer.then(|| Self::newer(fields));
        };
        let description = fields.text_or_empty("description");
        let depends_on = Vec::take(&mut fields, "depends_on").unwrap_or_default();
        let body = match kind {
            "all" => Body::All { parts: kids(&mut fields, "parts") },
            "plan" => Body::Plan(Box::new(PlanningStep::read(&mut fields)?)),
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
        let origin = fields.owned(Owner::Internal, |fields| fields.take("origin").cloned());
        if matches!(body, Body::All { .. } | Body::Any { .. }) {
            fields.pass_over("status");
        }
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
            extra: Extra::whole(fields.node, fields.internal),
            ..Self::default()
        }
    }

    pub fn node(&self) -> Node {
        let mut to = Writer::default();
        self.write_keys(&mut to);
        to.finish(&self.extra)
    }

    /// Its half for people, with the status that they see, and the one in `internal`.
    pub fn halves(&self, status: ShownStatus) -> Halves {
        let mut to = Writer::of_halves();
        self.write_keys(&mut to);
        if status != ShownStatus::Pending {
            to.text("status", status.word());
        }
        to.finish_halves(&self.extra)
    }

    fn write_keys(&self, to: &mut Writer) {
        if self.plan().is_some() {
            to.text("kind", "plan");
        }
        to.text_unless_empty("description", &self.description);
        match &self.body {
            Body::Task(_) => {}
            Body::Plan(plan) => plan.write_parts(to),
            Body::All { parts } => {
                to.put("parts", parts.node());
            }
            Body::Any { choices, selected, speculative, unknown } => {
                to.put("choices", choices.node());
                to.some("selected", selected.as_ref().map(AtomId::node));
                to.flag_if("speculative", *speculative);
                to.flag_if("unknown", *unknown);
            }
        }
        if !self.depends_on.is_empty() {
            to.put("depends_on", self.depends_on.node());
        }
        to.flag_if("accepts_partial", self.accepts_partial);
        match &self.body {
            Body::Task(task) => task.write(to),
            Body::Plan(plan) => plan.write(to),
            Body::All { .. } | Body::Any { .. } => {}
        }
        to.owned(Owner::Internal, |to| {
            to.some("origin", self.origin.clone());
        });
    }
}

fn selected(fields: &mut Fields<'_, '_>, choices: &[AtomId]) -> Option<AtomId> {
    let named = fields.text("selected").map(AtomId::new)?;
    if !choices.contains(&named) {
        let known: Vec<&str> = choices.iter().map(AtomId::as_str).collect();
        let hint = doc::did_you_mean(named.as_str(), known.iter().copied());
        let hint = hint.unwrap_or_else(|| format!("one of {}; or take it out", known.join(", ")));
        let message = format!("`{named}` is no choice of this group");
        fields.fault_at("selected", "selected-not-a-choice", message, Some(hint));
    }
    Some(named)
}

fn read_kind(fields: &mut Fields<'_, '_>) -> Option<&'static str> {
    if fields.take("kind").is_some() {
        let words = ["task", "all", "any", "plan"].map(|word| (word, word));
        return fields.word("kind", &words);
    }
    Some(kind_of(fields.node))
}

/// The kind of a written atom, which need not say it.
pub(crate) fn kind_of(node: &Node) -> &'static str {
    let said = node.get("kind").map(|kind| kind.as_str());
    match said {
        Some(Some("plan")) => "plan",
        _ if node.get("choices").is_some() => "any",
        _ if node.get("parts").is_some() => "all",
        _ => "task",
    }
}

pub(crate) const ATOM: ChoiceRule = ChoiceRule {
    name: "Atom",
    is_exclusive: false,
    doc: "A task, a group of atoms, or a step that plans further atoms",
    common: of_every_atom,
    records: &[&ALL, &ANY, &PLAN, &TASK],
};

pub(crate) const ALL: RecordRule = RecordRule {
    name: "All",
    doc: "Solved when all its parts are",
    fields: || {
        Vec::from([
            kind(&KIND_ALL),
            rule::<Vec<AtomId>>("parts", "All of them are to be done")
                .required()
                .of_form(kids_form()),
        ])
    },
};

/// The keys of atoms that the program alone writes.
pub(crate) fn keys_of_program() -> Vec<&'static str> {
    let rules = ATOM.all_fields().into_iter();
    let of_program = rules.filter(|rule| rule.owner != Owner::Person);
    of_program.map(|rule| rule.key).collect()
}

pub(crate) const ANY: RecordRule = RecordRule {
    name: "Any",
    doc: "Solved when its selected choice is",
    fields: || {
        Vec::from([
            kind(&KIND_ANY),
            rule::<Vec<AtomId>>("choices", "One of them is to be done, the best first")
                .required()
                .of_form(kids_form()),
            rule::<AtomId>("selected", "The choice that is in force"),
            rule::<bool>("speculative", "Choices may be tried side by side"),
            rule::<bool>("unknown", "Choices are probed before one is tried"),
        ])
    },
};

pub(crate) const PLAN: RecordRule = RecordRule {
    name: "Plan",
    doc: "A leaf whose result is a fragment of new atoms",
    fields: || {
        let mut rules = PlanningStep::rules();
        rules.push(kind(&KIND_PLAN).required());
        rules
    },
};

pub(crate) const TASK: RecordRule = RecordRule {
    name: "Task",
    doc: "A leaf: something to be done",
    fields: || {
        let mut rules = Task::rules();
        rules.push(kind(&KIND_TASK));
        rules
    },
};

pub(crate) fn of_every_atom() -> Vec<FieldRule> {
    let arrows = "Roots, parts of the same `all`, or such of an ancestor";
    let partial = "Whether it can begin with a part of what a step that plans for it came to";
    Vec::from([
        rule::<String>("description", "What is to be done, as an agent reads it"),
        rule::<Vec<AtomId>>("depends_on", arrows),
        rule::<bool>("accepts_partial", partial),
        rule::<Node>("origin", "Who made it, and from what").internal(),
    ])
}

fn kids_form() -> Form {
    Form::Filled(Box::new(Vec::<AtomId>::form()))
}

fn kind(words: &'static WordsRule) -> FieldRule {
    rule::<String>("kind", "It follows from the other keys, but for `plan`")
        .of_form(Form::Words(words))
}

const KIND_ALL: WordsRule = one_word(&[WordRule { word: "all", doc: "" }]);
const KIND_ANY: WordsRule = one_word(&[WordRule { word: "any", doc: "" }]);
const KIND_PLAN: WordsRule = one_word(&[WordRule { word: "plan", doc: "" }]);
const KIND_TASK: WordsRule = one_word(&[WordRule { word: "task", doc: "" }]);

/// Without a name: it is of one place alone.
const fn one_word(words: &'static [WordRule]) -> WordsRule {
    WordsRule { name: "", doc: "", words }
}
