//! The actions of a refiner's answer: taken apart, read like a plan, and made into atoms.
//!
//! Not here: what a delta may touch, and what the whole plan says to it (`delta`).

use super::{
    AcceptedDelta, DeltaRequest, REFINEMENTS_MAX, may_grow,
    remarks::{self, RemarkQuestion},
};
use crate::doc::prelude::*;
use crate::{
    doc::{self, Fault, Node},
    fragment::{derived, form, own, plan_of},
    id::AtomId,
    plan::{self, PlanReading},
    state::{
        Atom, AtomStatus, Body, Extra,
        answer_texts::misspelt_key,
        atom::{AttentionCause, AttentionMark},
        fields::Writer,
    },
};

/// Actions of one answer.
const ACTIONS_MAX: usize = 20;
/// Characters kept of the reasons.
const REASON_CHARS_MAX: usize = 600;
/// The types of an action.
const TYPES: [&str; 5] =
    ["step_add", "step_modify", "step_remove", "subplan_create", "step_mark_invalid"];
/// Keys that a change may give.
const CHANGES: [&str; 8] =
    ["description", "depends_on", "action", "checks", "touches", "needs", "provides", "timeout"];
/// Keys that stay as they are in a task that is changed.
const KEPT: [&str; 2] = ["effect", "output_schema"];

/// An answer taken apart.
pub(super) struct Actions<'a> {
    asked: DeltaRequest<'a>,
    /// New and changed tasks, as they are to be read.
    atoms: Vec<(String, Node)>,
    /// New and changed tasks as they would be, by the ids of the answer.
    pub(super) read: PlanReading,
    /// The group that a new task is a choice of.
    choice_of: BTreeMap<AtomId, AtomId>,
    /// New tasks, in the order in which they were written.
    pub(super) new: Vec<AtomId>,
    /// Changed tasks, each with its place in the answer.
    pub(super) changed: BTreeMap<AtomId, String>,
    /// Tasks that go, each with its place in the answer.
    pub(super) removed: BTreeMap<AtomId, String>,
    pub(super) contradicted: Vec<(AtomId, AttentionMark)>,
    pub(super) questions: Vec<RemarkQuestion>,
    /// New planning steps, among the new.
    steps: BTreeSet<AtomId>,
    pub(super) faults: Vec<Fault>,
}

impl<'a> Actions<'a> {
    pub(super) fn of(asked: DeltaRequest<'a>, answer: &Node) -> Self {
        let mut actions = Self {
            asked,
            atoms: Vec::new(),
            read: PlanReading::default(),
            choice_of: BTreeMap::new(),
            new: Vec::new(),
            changed: BTreeMap::new(),
            removed: BTreeMap::new(),
            contradicted: Vec::new(),
            questions: Vec::new(),
            steps: BTreeSet::new(),
            faults: Vec::new(),
        };
        for (at, action) in actions.listed(answer) {
            match action.get("type").and_then(Node::as_str) {
                Some("step_add") => actions.add(action, &at, false),
                Some("subplan_create") => actions.add(action, &at, true),
                Some("step_modify") => actions.modify(action, &at),
                Some("step_remove") => actions.remove(action, &at),
                Some("step_mark_invalid") => actions.mark(action, &at),
                other => {
                    let said = other.unwrap_or("none");
                    let message = format!("`{said}` is no type of an action");
                    let hint = doc::suggest(said, TYPES).unwrap_or("step_add");
                    let hint = format!("it is one of {}, such as `{hint}`", TYPES.join(", "));
                    actions.faults.push(Fault::at("unknown-action", &at, message, Some(&hint)));
                }
            }
        }
        actions.questions = remarks::questions(answer, &mut actions.faults);
        if actions.faults.is_empty() {
            actions.read();
        }
        actions
    }

    /// The actions with their places.
    fn listed<'n>(&mut self, answer: &'n Node) -> Vec<(String, &'n Node)> {
        for member in answer.as_object().unwrap_or_default() {
            let known = ["reasoning", "actions", "questions"];
            if !known.contains(&member.key.as_str()) {
                self.faults.extend(misspelt_key(&member.key, &known));
            }
        }
        let list = answer.get("actions").and_then(Node::as_array).unwrap_or_default();
        if list.is_empty() || list.len() > ACTIONS_MAX {
            let message = format!("`actions` is a list of 1 to {ACTIONS_MAX} actions");
            self.faults.push(Fault::at("no-actions", "/actions", message, None));
            return Vec::new();
        }
        let at = |n: usize| format!("/actions/{n}");
        list.iter().enumerate().map(|(n, action)| (at(n), action)).collect()
    }

    fn keys(&mut self, action: &Node, at: &str, known: &[&str]) {
        for member in action.as_object().unwrap_or_default() {
            if !known.contains(&member.key.as_str()) {
                let at = doc::pointer_push(at, &member.key);
                let message = format!("unknown key `{}`", member.key);
                let hint = doc::did_you_mean(&member.key, known.iter().copied());
                self.faults.push(Fault::at("unknown-key", &at, message, hint.as_deref()));
            }
        }
    }

    fn add(&mut self, action: &Node, place: &str, are_steps: bool) {
        self.keys(action, place, &["type", "target", "atoms", "reason"]);
        let at = doc::pointer_push(place, "atoms");
        let new = action.get("atoms");
        let Some(members) = new.and_then(Node::as_object).filter(|all| !all.is_empty()) else {
            let message = "`atoms` is an object with the new tasks by their ids".to_owned();
            self.faults.push(Fault::at("missing-key", &at, message, None));
            return;
        };
        let others = new.map(|new| plan::keys_of_others(new, &at, form::PERSONS));
        self.faults.extend(others.unwrap_or_default());
        for member in members {
            let id = AtomId::new(&*member.key);
            if self.asked.state.atom(&id).is_some() || self.new.contains(&id) {
                let at = doc::pointer_push(&at, &member.key);
                let message = format!("`{id}` is there already");
                let hint = Some("give a new task another id, or change this one by `step_modify`");
                self.faults.push(Fault::at("same-id", &at, message, hint));
            }
            if are_steps {
                self.steps.insert(id.clone());
            }
            self.new.push(id);
            self.atoms.push((member.key.to_string(), member.node.clone()));
        }
        let Some(target) = action.get("target").filter(|one| !one.is_null()) else { return };
        let group = AtomId::new(target.as_str().unwrap_or_default());
        let graph = self.asked.graph;
        let may_grow = graph.ix(&group).is_some_and(|x| may_grow(graph, x));
        if !may_grow || members.len() != 1 {
            let message = if may_grow {
                format!("a choice of `{group}` is one atom")
            } else {
                format!("`{group}` is no group that may get a choice")
            };
            let at = doc::pointer_push(place, "target");
            self.faults.push(Fault::at("no-group", &at, message, None));
            return;
        }
        self.choice_of.insert(AtomId::new(&*members[0].key), group);
    }

    fn modify(&mut self, action: &Node, at: &str) {
        self.keys(action, at, &["type", "target", "changes", "reason"]);
        let Some(id) = self.target(action, at) else { return };
        let at = doc::pointer_push(at, "changes");
        let changes = action.get("changes").and_then(Node::as_object);
        let Some(changes) = changes.filter(|all| !all.is_empty()) else {
            let message = "`changes` is an object with what shall be other".to_owned();
            self.faults.push(Fault::at("missing-key", &at, message, None));
            return;
        };
        if let Some(node) = action.get("changes") {
            self.keys(node, &at, &CHANGES);
        }
        let Some(was) = self.asked.state.atom(&id) else { return };
        let gives = |key: &str| changes.iter().any(|one| one.key == key);
        let was = was.node();
        let stays = was.as_object().unwrap_or_default().iter().filter(|one| {
            let key = one.key.as_str();
            (CHANGES.contains(&key) || KEPT.contains(&key)) && !gives(key)
        });
        let members = stays.chain(changes.iter().filter(|one| !one.node.is_null()));
        let members = members.map(|one| (one.key.to_string(), one.node.clone()));
        self.atoms.push((id.to_string(), Node::object(members.collect())));
        self.changed.insert(id, at);
    }

    fn remove(&mut self, action: &Node, at: &str) {
        self.keys(action, at, &["type", "target", "reason"]);
        if let Some(id) = self.target(action, at) {
            self.removed.insert(id, at.to_owned());
        }
    }

    fn mark(&mut self, action: &Node, at: &str) {
        self.keys(action, at, &["type", "target", "reason", "inconsistent"]);
        match remarks::contradicted(self.asked, action, at) {
            Ok(marked) => self.contradicted.push(marked),
            Err(fault) => self.faults.push(fault),
        }
    }

    /// The task that an action changes or takes out, if it may.
    fn target(&mut self, action: &Node, at: &str) -> Option<AtomId> {
        let target = action.get("target").and_then(Node::as_str);
        let id = AtomId::new(target.unwrap_or_default());
        let is_twice = self.changed.contains_key(&id) || self.removed.contains_key(&id);
        let may = if is_twice { Err("is changed twice") } else { self.asked.may_change(&id) };
        let Err(why) = may else { return Some(id) };
        let at = doc::pointer_push(at, "target");
        let hint = Some("change a pending or blocked task that a planner made, or add tasks");
        self.faults.push(Fault::at("not-to-change", &at, format!("`{id}` {why}"), hint));
        None
    }

    /// Reads the tasks like those of a plan.
    fn read(&mut self) {
        self.read = plan_of(&Node::object(core::mem::take(&mut self.atoms)));
        let read = &mut self.read;
        let mut faults = core::mem::take(&mut read.faults);
        // Nobody reads a warning here, and a mistyped key means a missing dependency or check.
        faults.append(&mut read.warnings);
        let all = read.atoms.iter();
        faults.extend(all.flat_map(|(id, atom)| form::not_allowed(id, atom, self.asked.state)));
        for (id, atom) in &read.atoms {
            let is_listed = self.new.contains(id) || self.changed.contains_key(id);
            let is_kind = if self.steps.contains(id) {
                matches!(atom.body, Body::Plan(_))
            } else {
                matches!(atom.body, Body::Task(_))
            };
            if !is_listed || !is_kind {
                let at = doc::pointer_push("/atoms", id.as_str());
                let message = if self.steps.contains(id) {
                    format!("`{id}` is no planning step")
                } else {
                    format!("`{id}` is no task")
                };
                let hint = Some("`step_add` has tasks, `subplan_create` atoms of the kind `plan`");
                faults.push(Fault::at("not-a-task", &at, message, hint));
            }
        }
        for fault in &mut faults {
            fault.message = fault.message.replace(form::KEPT_AS_IT_IS, "");
            fault.pointer = form::own_pointer(&fault.pointer).to_owned();
        }
        self.faults.extend(faults);
    }

    /// The program's own id for each new task.
    pub(super) fn names(&self) -> BTreeMap<AtomId, AtomId> {
        let state = self.asked.state;
        let mut names: BTreeMap<AtomId, AtomId> = BTreeMap::new();
        for proposed in &self.new {
            let head = self.choice_of.get(proposed).map_or("step", AtomId::as_str);
            let mut ids = (1..).map(|n| derived(&AtomId::new(head), n));
            // The failures of a task that was taken out are not those of another.
            let is_free = |id: &AtomId| {
                let mut failed = state.failures();
                state.atom(id).is_none()
                    && !names.values().any(|own| own == id)
                    && !failed.any(|(_, failure)| failure.atom == *id)
            };
            if let Some(own) = ids.find(is_free) {
                names.insert(proposed.clone(), own);
            }
        }
        names
    }

    pub(super) fn changed(&mut self, names: &BTreeMap<AtomId, AtomId>, taken: &mut AcceptedDelta) {
        for (id, at) in &self.changed {
            let Some(was) = self.asked.state.atom(id) else { continue };
            let Some(mut read) = self.read.atoms.remove(id) else { continue };
            read.rename(|id| own(names, id));
            let mut atom = Atom::clone(was);
            let (Some(task), Some(new)) = (atom.task_mut(), read.task()) else { continue };
            let mut spec = (*new.spec).clone();
            spec.guidance.clone_from(&task.spec.guidance);
            spec.agent.clone_from(&task.spec.agent);
            let is_same = spec == *task.spec
                && read.description == was.description
                && read.depends_on == was.depends_on;
            if is_same {
                let message = format!("nothing of `{id}` would be other");
                self.faults.push(Fault::at("no-change", at, message, None));
            }
            task.spec = Arc::new(spec);
            task.touches.clone_from(&new.touches);
            task.needs.clone_from(&new.needs);
            task.provides.clone_from(&new.provides);
            task.status = AtomStatus::Pending;
            task.refined += 1;
            task.questions.clear();
            task.attention = None;
            if task.refined >= REFINEMENTS_MAX {
                taken.marks.push((id.clone(), at_limit()));
            }
            atom.description = read.description;
            atom.depends_on = read.depends_on;
            taken.atoms.insert(id.clone(), atom);
        }
    }

    pub(super) fn added(&mut self, names: &BTreeMap<AtomId, AtomId>, taken: &mut AcceptedDelta) {
        let asked = self.asked;
        // A task in the place of another was changed as often as that, and once more.
        let removed = self.removed.keys().filter_map(|id| asked.state.atom(id));
        let refined = removed.filter_map(|atom| Some(atom.task()?.refined + 1));
        let inherited = refined.max().unwrap_or(0);
        for (proposed, id) in names {
            let Some(mut atom) = self.read.atoms.remove(proposed) else { continue };
            atom.rename(|id| own(names, id));
            let mut origin = Writer::default();
            origin
                .text("by", "planner")
                .put("pass", Node::uint(asked.state.run.pass))
                .text("delta", asked.consult.as_str())
                .text("reason", &taken.reasoning)
                .text("proposed", proposed.as_str());
            atom.origin = Some(origin.finish(&Extra::default()));
            if let Some(task) = atom.task_mut() {
                task.refined = inherited;
            }
            if inherited >= REFINEMENTS_MAX {
                taken.marks.push((id.clone(), at_limit()));
            }
            taken.atoms.insert(id.clone(), atom);
            let group = self.choice_of.get(proposed);
            let Some((group, known)) = group.and_then(|group| {
                let known = taken.atoms.get(group).or(asked.state.atom(group).map(Arc::as_ref));
                Some((group, known?.clone()))
            }) else {
                continue;
            };
            let mut grown = known;
            if let Body::Any { choices, .. } = &mut grown.body {
                choices.push(id.clone());
            }
            taken.atoms.insert(group.clone(), grown);
        }
    }

    pub(super) fn reasoning(&self, answer: &Node) -> String {
        let said = answer.get("reasoning").and_then(Node::as_str);
        doc::one_line(said.unwrap_or_default(), REASON_CHARS_MAX)
    }
}

fn at_limit() -> AttentionMark {
    AttentionMark {
        because: AttentionCause::Limit,
        text: format!("it was changed {REFINEMENTS_MAX} times"),
        extra: Extra::default(),
    }
}
