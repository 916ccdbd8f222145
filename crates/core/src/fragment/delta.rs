//! Turns a refiner's answer into changes of a plan that stands, or refuses it with all its faults (contract §9.29).
//!
//! Invariant: it adds tasks and planning steps under ids that the program makes, and changes or takes out only pending or
//! blocked tasks that a planner made. It is taken whole or not at all. Not here: what it would open (`step/replan`).

mod actions;
mod remarks;

use self::actions::Actions;
use super::{ProposedParts, form, too_many_phases};
use crate::doc::prelude::*;
use crate::state::limits::FRAGMENT_ATOMS_MAX;
use crate::{
    doc::{self, Fault, Node},
    graph::{
        Graph, Ix, NodeKind,
        active::{self, ActiveGraph},
        validate,
    },
    id::{AtomId, ConsultId, Digest},
    judging::{self, JudgedPlan, PlanFacts},
    plan, profile,
    state::{Atom, AtomStatus, Body, JudgingLevel, Severity, State, Try, atom::AttentionMark},
};

/// How often planners may change one task.
pub const REFINEMENTS_MAX: u32 = 3;
/// The state that a refiner's answer changes.
#[derive(Debug, Clone, Copy)]
pub struct DeltaRequest<'a> {
    pub state: &'a State,
    pub graph: &'a Graph,
    /// The question that is answered.
    pub consult: &'a ConsultId,
}

impl DeltaRequest<'_> {
    fn may_change(self, id: &AtomId) -> Result<(), &'static str> {
        let known = self.graph.ix(id).ok_or("is no atom of the plan");
        known.and_then(|x| may_change(self.state, self.graph, x))
    }
}

/// A valid delta.
#[derive(Debug)]
pub struct AcceptedDelta {
    /// The atoms that are new or other than before.
    pub atoms: BTreeMap<AtomId, Atom>,
    pub added: Vec<AtomId>,
    pub changed: Vec<AtomId>,
    pub removed: Vec<AtomId>,
    /// Solved tasks that are said to contradict, and changed ones at their limit.
    pub marks: Vec<(AtomId, AttentionMark)>,
    /// Tasks that a person is asked about.
    pub asked: Vec<AtomId>,
    pub reasoning: String,
    pub digest: Digest,
}

impl AcceptedDelta {
    /// Whether a step that it adds is planned by whoever plans in this run.
    pub fn needs_planner(&self) -> bool {
        let added = self.added.iter().filter_map(|id| self.atoms.get(id));
        added.filter_map(Atom::plan).any(|plan| plan.task.spec.action.is_none())
    }

    /// Changes the atoms of a state by it.
    pub fn put_into(&self, state: &mut State) {
        for (id, atom) in &self.atoms {
            state.atoms.insert(id.clone(), Arc::new(atom.clone()));
        }
        for id in &self.removed {
            state.atoms.remove(id);
        }
    }
}

/// The JSON Schema of a delta.
pub fn schema() -> String {
    let definitions = plan::definitions(None, "");
    let changes = r##"{"type":"object","minProperties":1,"properties":{"description":{"type":"string"},"depends_on":{"type":"array","items":{"type":"string"}},"action":{"type":"object"},"checks":{"$ref":"#/$defs/check"},"touches":{"type":"array","items":{"type":"string"}},"needs":{"type":"array","items":{"type":"string"}},"provides":{"type":"array","items":{"type":"string"}},"timeout":{"type":"string"}},"additionalProperties":false}"##;
    format!(
        r##"{{"type":"object","required":["actions"],"additionalProperties":false,"properties":{{"reasoning":{{"type":"string"}},"actions":{{"type":"array","minItems":1,"maxItems":20,"items":{{"type":"object","required":["type"],"additionalProperties":false,"properties":{{"type":{{"enum":["step_add","step_modify","step_remove","subplan_create","step_mark_invalid"]}},"target":{{"type":"string"}},"atoms":{{"type":"object","additionalProperties":{{"$ref":"#/$defs/atom"}}}},"changes":{changes},"reason":{{"type":"string"}}}}}}}},"questions":{{"type":"array","maxItems":3,"items":{{"type":"object","required":["about","question","assume"],"additionalProperties":false,"properties":{{"about":{{"type":"string"}},"question":{{"type":"string"}},"assume":{{"type":"string"}}}}}}}}}},{definitions}}}"##
    )
}

/// Whether a delta may change this task, or why not.
///
/// # Errors
/// The reason, in words that follow the id of the atom.
pub fn may_change(state: &State, graph: &Graph, x: Ix) -> Result<(), &'static str> {
    let id = graph.id(x);
    let Some(atom) = state.atom(id) else { return Err("is no atom of the plan") };
    let Body::Task(task) = &atom.body else { return Err("is no task") };
    if graph.planned_by(x).is_none() && !atom.is_added_by_delta() {
        return Err("was written by a person");
    }
    let is_parked = |tried: &Try| tried.parked().is_some();
    if state.bindings.contains_key(id) || task.tries.iter().any(is_parked) {
        return Err("is solved");
    }
    if state.run.in_flight.iter().any(|intent| intent.atom == *id) {
        return Err("is in flight");
    }
    if task.refined >= REFINEMENTS_MAX {
        return Err("was changed as often as is allowed");
    }
    match &task.status {
        _ if !task.spec.effect.is_in_tree() => Err("has an effect outside"),
        AtomStatus::Pending | AtomStatus::Invalid(_) => Ok(()),
        AtomStatus::Failed => Err("failed for good"),
        AtomStatus::NeedsGuidance | AtomStatus::InDoubt(_) => Err("waits for a person"),
    }
}

/// Whether a delta may add a choice to this group.
pub fn may_grow(graph: &Graph, group: Ix) -> bool {
    // A fragment may be resolved in no more ways than its step was granted.
    graph.vertex(group).kind == NodeKind::Any && graph.planned_by(group).is_none()
}

/// The parts of an answer to look at before it is judged.
pub fn proposed(asked: DeltaRequest<'_>, answer: &Node) -> ProposedParts {
    let Actions { read, new, changed, .. } = Actions::of(asked, answer);
    // Steps are done by a planner.
    let is_step = |id: &&AtomId| read.atoms.get(*id).is_some_and(|atom| atom.plan().is_some());
    let listed = new.iter().chain(changed.keys()).filter(|id| !is_step(id));
    let listed: Vec<&AtomId> = listed.collect();
    ProposedParts::of(read, listed.into_iter())
}

/// # Errors
/// All its faults: no delta, one that does not fit, or one that the rules refuse.
pub fn judge(
    asked: DeltaRequest<'_>,
    answer: &Node,
    facts: &PlanFacts,
) -> Result<AcceptedDelta, Vec<Fault>> {
    let mut actions = Actions::of(asked, answer);
    if !actions.faults.is_empty() {
        return Err(actions.faults);
    }
    let names = actions.names();
    let mut taken = AcceptedDelta {
        atoms: BTreeMap::new(),
        added: actions.new.iter().filter_map(|id| names.get(id).cloned()).collect(),
        changed: actions.changed.keys().cloned().collect(),
        removed: actions.removed.keys().cloned().collect(),
        marks: core::mem::take(&mut actions.contradicted),
        asked: Vec::new(),
        reasoning: actions.reasoning(answer),
        digest: digest(answer),
    };
    actions.changed(&names, &mut taken);
    actions.added(&names, &mut taken);
    let mut faults = core::mem::take(&mut actions.faults);
    faults.extend(remarks::take_out(asked, &actions.removed, &mut taken));
    faults.extend(remarks::ask(asked, core::mem::take(&mut actions.questions), &names, &mut taken));
    if !faults.is_empty() {
        return Err(faults);
    }
    let mut faults = whole(asked, &taken, &names, facts);
    faults.extend(form::blocked(asked.state, &taken.atoms, &names));
    if faults.is_empty() { Ok(taken) } else { Err(faults) }
}

/// The digest of the actions: the same delta is not tried twice.
fn digest(answer: &Node) -> Digest {
    let bare = |node: &Node| node.filtered(|key, _| key != "reason");
    let actions = answer.get("actions").and_then(Node::as_array);
    let actions = actions.unwrap_or_default().iter().map(bare).collect();
    Digest::of(doc::canonical(&Node::array(actions)).as_bytes())
}

/// The faults of the whole plan after the delta: what does not hang together, what is too much, what the rules refuse.
fn whole(
    asked: DeltaRequest<'_>,
    taken: &AcceptedDelta,
    names: &BTreeMap<AtomId, AtomId>,
    facts: &PlanFacts,
) -> Vec<Fault> {
    let mut state = asked.state.clone();
    taken.put_into(&mut state);
    let mut faults = validate::check_made(&state);
    for fault in &mut faults {
        fault.pointer = as_proposed(form::own_pointer(&fault.pointer), names);
    }
    let constraints = &asked.state.objective.constraints;
    let of_all = u64::from(constraints.planning.atoms());
    let before = asked.graph.planned(asked.state);
    let (before, new) = (before - taken.removed.len() as u64, taken.added.len());
    if before + new as u64 > of_all || new > FRAGMENT_ATOMS_MAX as usize {
        let message = format!(
            "{new} tasks after {before} that were planned before: the limits are {} and {of_all}",
            FRAGMENT_ATOMS_MAX
        );
        faults.push(Fault::at("too-many-atoms", "/actions", message, Some("change less")));
    }
    let graph = Graph::of(&state);
    let active = ActiveGraph::of(&graph, active::selection_of(&graph, &state));
    let is_step = |id: &&AtomId| taken.atoms.get(*id).is_some_and(|one| one.plan().is_some());
    let new_steps = taken.added.iter().filter(is_step).count();
    let live = graph.plans().filter(|x| active.is_live(*x)).count();
    faults.extend(too_many_phases(&state, live.saturating_sub(new_steps), new_steps));
    if !faults.is_empty() || profile::judging(asked.state) == JudgingLevel::Off {
        return faults;
    }
    let plan = JudgedPlan {
        state: &state,
        graph: &graph,
        atoms: touched(&graph, taken),
        facts,
        // The same again would fail again.
        failed: form::wrong_specs(asked.state, asked.graph, asked.graph.tasks()),
        has_target: false,
    };
    let issues = judging::judge(&plan);
    let heavy = issues.iter().filter(|one| one.severity == Severity::High);
    heavy.map(|issue| super::form::issue_fault(issue, names)).collect()
}

/// The place under the id that the answer gave.
fn as_proposed(pointer: &str, names: &BTreeMap<AtomId, AtomId>) -> String {
    let Some(rest) = pointer.strip_prefix("/atoms/") else { return pointer.to_owned() };
    let (id, rest) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    doc::pointer_push("/atoms", form::proposed(names, id)) + rest
}

fn touched(graph: &Graph, taken: &AcceptedDelta) -> BTreeSet<Ix> {
    taken.added.iter().chain(&taken.changed).filter_map(|id| graph.ix(id)).collect()
}
