//! Atoms read from the lossless tree, and written back.

use alloc::{borrow::ToOwned, boxed::Box, format, sync::Arc, vec::Vec};

use super::{
    Action, Atom, AtomStatus, Body, FailureClass, PlanningStep, SideEffect, Spec, Task, Try, TryEnd,
};
use crate::{
    doc::{self, Fault, Node},
    id::{AtomId, AttemptId, Digest},
    state::{
        Binding, Check, Extra, binding,
        fields::{Fields, Findings, Writer, pairs_node, texts_node},
    },
};

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
        let depends_on = ids(&mut fields, "depends_on");
        let body = match kind {
            "all" => read_all(&mut fields)?,
            "plan" => Body::Plan(Box::new(read_plan(&mut fields)?)),
            "any" => {
                let choices = kids(&mut fields, "choices");
                Body::Any {
                    selected: selected(&mut fields, &choices),
                    choices,
                    speculative: fields.flag("speculative"),
                }
            }
            _ => Body::Task(Box::new(read_task(&mut fields)?)),
        };
        let accepts_partial = fields.flag("accepts_partial");
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

    /// Of a kind that only a newer version knows: what all atoms have is read, all is written back as it is.
    fn newer(mut fields: Fields<'_, '_>) -> Self {
        Self {
            description: fields.text_or_empty("description"),
            depends_on: ids(&mut fields, "depends_on"),
            extra: Extra::whole(fields.node),
            ..binding::nothing()
        }
    }

    pub fn node(&self) -> Node {
        self.written(false)
    }

    /// The same, but a planning step as one whatever is in force: so that two states of it can be laid side by side.
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
        to.text("kind", kind)
            .text_unless_empty("description", &self.description);
        if let Some(parts) = parts {
            to.put("parts", ids_node(parts));
        }
        if let Body::Any {
            choices,
            selected,
            speculative,
        } = &self.body
        {
            let selected = selected
                .as_ref()
                .map_or_else(Node::null, |id| Node::string(id.as_str()));
            to.put("choices", ids_node(choices))
                .put("selected", selected);
            to.flag_if("speculative", *speculative);
        }
        to.put("depends_on", ids_node(&self.depends_on));
        match &self.body {
            Body::Task(task) => write_task(task, &mut to),
            Body::Plan(plan) => write_plan(plan, parts.is_some(), &mut to),
            Body::All { .. } | Body::Any { .. } => {}
        }
        to.flag_if("accepts_partial", self.accepts_partial);
        to.some("origin", self.origin.clone());
        to.finish(&self.extra)
    }
}

/// An `all` that a planning step became says so in `planned`.
fn read_all(fields: &mut Fields<'_, '_>) -> Option<Body> {
    let parts = kids(fields, "parts");
    let Some(node) = fields.take("planned") else {
        return Some(Body::All { parts });
    };
    let at = fields.at("planned");
    let mut inner = Fields::open(node, &at, fields.found)?;
    let mut plan = PlanningStep::read(&mut inner, Some(parts))?;
    plan.extra = inner.finish();
    Some(Body::Plan(Box::new(plan)))
}

fn read_plan(fields: &mut Fields<'_, '_>) -> Option<PlanningStep> {
    let mut plan = PlanningStep::read(fields, None)?;
    if let Some(node) = fields.take("planned") {
        let at = fields.at("planned");
        plan.extra = Fields::open(node, &at, fields.found)?.finish();
    }
    Some(plan)
}

fn write_plan(plan: &PlanningStep, is_all: bool, to: &mut Writer) {
    if !is_all {
        plan.write(to, true);
        if !plan.extra.is_empty() {
            to.put("planned", Writer::default().finish(&plan.extra));
        }
        return;
    }
    let mut inner = Writer::default();
    plan.write(&mut inner, false);
    to.put("planned", inner.finish(&plan.extra));
}

/// What names no choice is read as null, with a word: a choice that a person took back (contract §8).
fn selected(fields: &mut Fields<'_, '_>, choices: &[AtomId]) -> Option<AtomId> {
    let named = fields.text("selected").map(AtomId::new)?;
    if choices.contains(&named) {
        return Some(named);
    }
    let known = || choices.iter().map(AtomId::as_str);
    let hint = match doc::suggest(named.as_str(), known()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("one of {}, or null", known().collect::<Vec<_>>().join(", ")),
    };
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

fn ids(fields: &mut Fields<'_, '_>, key: &'static str) -> Vec<AtomId> {
    fields.texts(key).into_iter().map(AtomId::new).collect()
}

pub(super) fn kids(fields: &mut Fields<'_, '_>, key: &'static str) -> Vec<AtomId> {
    let kids = ids(fields, key);
    if kids.is_empty()
        && fields
            .node
            .get(key)
            .is_none_or(|node| node.as_array().is_some_and(<[_]>::is_empty))
    {
        let at = fields
            .node
            .get(key)
            .map_or((fields.pointer.clone(), fields.node.span), |n| {
                (fields.at(key), n.span)
            });
        let hint = Some("name at least one atom, or remove the group".to_owned());
        fields.found.fault(
            "empty-group",
            (&at.0, at.1),
            format!("a group without {key}"),
            hint,
        );
    }
    kids
}

pub(super) fn ids_node(ids: &[AtomId]) -> Node {
    Node::array(ids.iter().map(|id| Node::string(id.as_str())).collect())
}

pub(super) fn read_task(fields: &mut Fields<'_, '_>) -> Option<Task> {
    let status = read_status(fields);
    let mut tries = Vec::new();
    for (at, node) in fields.list("tries") {
        tries.extend(read_try(node, &at, fields.found));
    }
    tries.shrink_to_fit();
    let interruptions = fields.small("interruptions").unwrap_or(0);
    let spec = read_spec(fields);
    Some(Task {
        spec: Arc::new(spec),
        status,
        tries,
        interruptions,
        touches: fields.texts("touches"),
        interruptible: fields.flag_or("interruptible", true),
        unknown: fields.flag("unknown"),
    })
}

fn read_spec(fields: &mut Fields<'_, '_>) -> Spec {
    let action = fields.take("action").and_then(|node| {
        let at = fields.at("action");
        let mut action = Fields::open_or(node, &at, fields.found, |node| {
            node.as_str().map(|_| "write `action: {run: …}`".to_owned())
        })?;
        let _ = action.need("run");
        let run = action.command("run");
        let extra = action.finish();
        Some(Action { run: run?, extra })
    });
    let external = fields
        .word("effect", &[("tree", false), ("external", true)])
        .unwrap_or(false);
    let idempotent = fields.flag("idempotent");
    keep_beside(fields, "effect", &["idempotent"]);
    let checks = fields
        .take("checks")
        .and_then(|node| read_own_checks(fields, node));
    Spec {
        action,
        effect: if external {
            SideEffect::External { idempotent }
        } else {
            SideEffect::Tree
        },
        checks,
        output_schema: fields.take("output_schema").cloned(),
        timeout: fields.length("timeout"),
    }
}

/// An atom may write `{"all": []}` for: no checks.
fn read_own_checks(fields: &mut Fields<'_, '_>, node: &Node) -> Option<Check> {
    let is_empty = node
        .get("all")
        .and_then(Node::as_array)
        .is_some_and(<[_]>::is_empty);
    let at = fields.at("checks");
    if is_empty {
        None
    } else {
        Check::read(node, &at, fields.found)
    }
}

fn read_status(fields: &mut Fields<'_, '_>) -> AtomStatus {
    #[derive(Clone, Copy)]
    enum KindWord {
        Pending,
        Failed,
        Invalid,
        NeedsGuidance,
        InDoubt,
    }
    let words = [
        ("pending", KindWord::Pending),
        ("failed", KindWord::Failed),
        ("invalid", KindWord::Invalid),
        ("needs_guidance", KindWord::NeedsGuidance),
        ("in_doubt", KindWord::InDoubt),
    ];
    let word = fields.word("status", &words).unwrap_or(KindWord::Pending);
    if matches!(word, KindWord::InDoubt) {
        // The attempt: `resolve` asks for it by its name.
        let named = fields.need("because").and_then(Node::as_str);
        let _ = named.and_then(|attempt| fields.filled("because", attempt.to_owned()));
    }
    let because = fields.text_or_empty("because");
    keep_beside(fields, "status", &["because"]);
    match word {
        KindWord::Pending => AtomStatus::Pending,
        KindWord::Failed => AtomStatus::Failed,
        KindWord::Invalid => AtomStatus::Invalid(because),
        KindWord::NeedsGuidance => AtomStatus::NeedsGuidance,
        KindWord::InDoubt => AtomStatus::InDoubt(AttemptId::new(because)),
    }
}

fn read_try(node: &Node, pointer: &str, found: &mut Findings) -> Option<Try> {
    let mut fields = Fields::open(node, pointer, found)?;
    let _ = fields.need("context");
    let context = fields.text("context").map(Digest::new);
    let choices = fields.pairs("choices");
    let attempts = fields.small("attempts").unwrap_or(0);
    let transient = fields.small("transient").unwrap_or(0);
    let repairs = fields.small("repairs").unwrap_or(0);
    let rounds = fields.small("rounds").unwrap_or(0);
    let is_parked = fields.word("ended", &[("failed", false), ("parked", true)]);
    if is_parked == Some(true) {
        let _ = fields.need("result");
    }
    let class = fields
        .word("class", &FailureClass::WORDS)
        .unwrap_or(FailureClass::Logical);
    let parked = fields.take("result").and_then(|node| {
        let at = fields.at("result");
        Binding::read(node, &at, fields.found)
    });
    keep_beside(&mut fields, "ended", &["class", "result"]);
    let ended = match is_parked {
        None => None,
        Some(false) => Some(TryEnd::Failed(class)),
        Some(true) => parked.map(|binding| TryEnd::Parked(Arc::new(binding))),
    };
    let extra = fields.finish();
    let choices = choices
        .into_iter()
        .map(|(group, choice)| (AtomId::new(group), AtomId::new(choice)))
        .collect();
    Some(Try {
        context: context?,
        choices,
        attempts,
        transient,
        repairs,
        rounds,
        ended,
        extra,
    })
}

/// What is written only beside a known value of `word` stays where that one is not understood.
fn keep_beside(fields: &mut Fields<'_, '_>, word: &str, keys: &[&'static str]) {
    if fields.keeps(word) {
        keys.iter().for_each(|key| fields.keep(key));
    }
}

pub(super) fn write_spec(spec: &Spec, to: &mut Writer) {
    if let Some(action) = &spec.action {
        to.put(
            "action",
            Writer::default()
                .text("run", &action.run)
                .finish(&action.extra),
        );
    }
    if let SideEffect::External { idempotent } = spec.effect {
        to.text("effect", "external")
            .put("idempotent", Node::bool(idempotent));
    }
    to.some("checks", spec.checks.as_ref().map(Check::node));
    to.some("output_schema", spec.output_schema.clone());
    to.some(
        "timeout",
        spec.timeout
            .as_ref()
            .map(|length| Node::string(length.as_str())),
    );
}

pub(super) fn write_task(task: &Task, to: &mut Writer) {
    let (word, because) = match &task.status {
        AtomStatus::Pending => ("pending", None),
        AtomStatus::Failed => ("failed", None),
        AtomStatus::Invalid(because) => ("invalid", Some(because.as_str())),
        AtomStatus::NeedsGuidance => ("needs_guidance", None),
        AtomStatus::InDoubt(attempt) => ("in_doubt", Some(attempt.as_str())),
    };
    to.text("status", word)
        .some("because", because.map(Node::string));
    if !task.tries.is_empty() {
        to.put(
            "tries",
            Node::array(task.tries.iter().map(try_node).collect()),
        );
    }
    to.count_unless_zero("interruptions", u64::from(task.interruptions));
    write_spec(&task.spec, to);
    if !task.touches.is_empty() {
        to.put("touches", texts_node(&task.touches));
    }
    if !task.interruptible {
        to.put("interruptible", Node::bool(false));
    }
    to.flag_if("unknown", task.unknown);
}

fn try_node(tried: &Try) -> Node {
    let mut to = Writer::default();
    to.text("context", tried.context.as_str());
    if !tried.choices.is_empty() {
        to.put("choices", pairs_node(&tried.choices));
    }
    to.put("attempts", Node::uint(u64::from(tried.attempts)));
    to.count_unless_zero("transient", u64::from(tried.transient));
    to.count_unless_zero("repairs", u64::from(tried.repairs));
    to.count_unless_zero("rounds", u64::from(tried.rounds));
    match &tried.ended {
        None => {}
        Some(TryEnd::Failed(class)) => {
            to.text("ended", "failed").text("class", class.word());
        }
        Some(TryEnd::Parked(binding)) => drop(
            to.text("ended", "parked")
                .put("result", binding.parked_node()),
        ),
    }
    to.finish(&tried.extra)
}
