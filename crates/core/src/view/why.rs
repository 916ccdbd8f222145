//! Explains the status of an atom by its choices, attempts and evidence, and lists the atoms worth
//! asking about.

pub(super) mod attempts;

use crate::doc::prelude::*;
use attempts::attempts;
use serde::Serialize;

use super::{
    QuestionView, Surroundings,
    graph::{ChoiceView, choice_view},
    judged::{self, AttentionView, UnclearView},
    leaves::{ConfidenceView, confidence},
    next::after_why,
    status_word, work,
};
use crate::{
    event::Event,
    graph::{Ix, NodeKind},
    id::{AgentName, AtomId},
    state::{
        AnswerRecord, AtomStatus, Check, Entry, EntryKind, FreeValue, IssueRecord, State, Task,
        Try, law::BlockedRecord,
    },
    world::{World, long_phase},
};

pub use attempts::AttemptView;
#[cfg(feature = "schema")]
pub use attempts::SideFileView;

/// Everything that explains the status of one atom.
#[serde_with::skip_serializing_none]
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Why {
    pub schema: &'static str,
    pub atom: AtomId,
    pub kind: &'static str,
    pub description: String,
    pub status: String,
    pub live: bool,
    /// Its unresolved dependencies.
    pub waits_for: Vec<AtomId>,
    pub depends_on: Vec<AtomId>,
    /// The atoms that depend on it.
    pub needed_by: Vec<AtomId>,
    /// The shell action; without one the worker does the task.
    pub action: Option<String>,
    /// The agent that the atom names for itself.
    pub agent: Option<AgentName>,
    /// The planner's reasons: of the plan that a step has now, or of the plan that the atom is of.
    pub planned: Option<PlannedView>,
    /// The results of the plan of a step in short, by an agent.
    pub in_short: Option<AnswerRecord>,
    /// The issues of it, or of the plan of a step: advice, not proof.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub issues: Vec<IssueRecord>,
    /// The reason why a person should look at it.
    pub attention: Option<AttentionView>,
    /// Questions about it, with what is assumed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<UnclearView>,
    /// Tools and targets that the planner of a step may not propose.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub blocked: Vec<BlockedRecord>,
    /// A person's words on it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub guidance: Vec<String>,
    /// Its own checks.
    pub checks: Vec<String>,
    /// The number of them that held when it was last judged.
    pub confidence: Option<ConfidenceView>,
    pub in_branch: Option<BranchView>,
    pub binding: Option<FreeValue>,
    pub choice: Option<ChoiceView>,
    pub tries: Vec<Try>,
    /// Every kept attempt of it and of what is inside it, in the order in which they ended.
    pub attempts: Vec<AttemptView>,
    /// The entries of the trail about it, in order.
    pub trail: Vec<FreeValue>,
    /// The event that each of them stands for.
    #[serde(skip)]
    pub events: Vec<Option<Event>>,
    pub next: String,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlannedView {
    /// The step that planned it.
    pub step: AtomId,
    pub reasons: String,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BranchView {
    pub group: AtomId,
    pub choice: AtomId,
    pub selected: Option<AtomId>,
}

pub fn why(world: &World, id: &AtomId, around: &Surroundings) -> Option<Why> {
    let x = world.graph.ix(id)?;
    let atom = world.state.atom(id)?;
    let solved = world.solved();
    let live = world.active.is_live(x);
    let kind = world.graph.vertex(x).kind;
    let waits = world.graph.waits_for(x).filter(|dep| live && !solved[*dep]);
    let trail = trail_of(world, id);
    let binding = world.state.bindings.get(id).map(|binding| binding.parked_node());
    Some(Why {
        schema: "descent/why/1",
        atom: id.clone(),
        kind: kind.word(),
        description: atom.description.clone(),
        status: status_word(world, x).to_owned(),
        live,
        waits_for: counted(waits.map(|dep| world.graph.id(dep))),
        depends_on: atom.depends_on.clone(),
        needed_by: counted(world.graph.needed_by(x).iter().map(|y| world.graph.id(*y))),
        action: atom
            .task()
            .and_then(|task| task.spec.action.as_ref())
            .map(|action| action.run.clone()),
        agent: atom.task().and_then(|task| task.spec.agent.clone()),
        planned: planned(world, x),
        in_short: long_phase::in_force(&world.graph, &world.active, &world.state, x)
            .and_then(|fragment| fragment.summary.clone()),
        issues: judged::issues_of(world, x),
        attention: judged::mark(id, atom),
        questions: judged::questions_of(&world.state, id, atom),
        blocked: judged::blocked(&world.state, kind),
        guidance: atom.task().map(|task| task.spec.guidance.clone()).unwrap_or_default(),
        checks: checks(atom.task()),
        confidence: confidence(&world.state, id),
        in_branch: branch(world, x),
        binding,
        choice: (kind == NodeKind::Any).then(|| choice_view(world, x)),
        tries: crate::search::tries(&world.state, id).to_vec(),
        attempts: attempts(world, x),
        trail: trail.iter().map(|entry| entry.node.clone()).collect(),
        events: trail.iter().map(|entry| Event::of_entry(&entry.kind)).collect(),
        next: after_why(world, around, id),
    })
}

fn planned(world: &World, x: Ix) -> Option<PlannedView> {
    let graph = &world.graph;
    let (step, part) = match graph.vertex(x).kind {
        NodeKind::Plan => (x, world.active.phase(graph, x)?.first()),
        NodeKind::Task | NodeKind::All | NodeKind::Any => (graph.planned_by(x)?, x),
    };
    let origin = world.state.atom(graph.id(part))?.origin.as_ref()?;
    let reasons = origin.get("reason")?.as_str()?;
    (!reasons.trim().is_empty())
        .then(|| PlannedView { step: graph.id(step).clone(), reasons: reasons.to_owned() })
}

/// The refiner whose change took an atom out, if one did.
pub fn taken_out_by<'s>(state: &'s State, id: &AtomId) -> Option<&'s AgentName> {
    let mut newest_first = state.trail.iter().rev();
    newest_first.find_map(|entry| match &entry.kind {
        EntryKind::Replan(change) if change.removed.contains(id) => change.by.as_ref(),
        _ => None,
    })
}

/// In the order in which a person counts them.
fn counted<'w>(ids: impl Iterator<Item = &'w AtomId>) -> Vec<AtomId> {
    let mut ids: Vec<AtomId> = ids.cloned().collect();
    ids.sort_by(AtomId::cmp_naturally);
    ids
}

/// The titles of its own checks.
pub(super) fn checks(task: Option<&Task>) -> Vec<String> {
    let checks = task.and_then(|task| task.spec.checks.as_ref());
    let leaves = checks.map(Check::leaves).unwrap_or_default();
    leaves.into_iter().map(|leaf| leaf.title()).collect()
}

fn branch(world: &World, x: Ix) -> Option<BranchView> {
    let graph = &world.graph;
    let mut below = x;
    for above in graph.above(x) {
        if graph.vertex(above).kind == NodeKind::Any {
            let selected = world.active.selection.get(&above);
            return Some(BranchView {
                group: graph.id(above).clone(),
                choice: graph.id(below).clone(),
                selected: selected.map(|choice| graph.id(*choice).clone()),
            });
        }
        below = above;
    }
    None
}

/// Entries that name the atom, or a group above it.
fn trail_of<'w>(world: &'w World, id: &AtomId) -> Vec<&'w Entry> {
    let above = |id: &AtomId| -> Vec<&AtomId> {
        let x = world.graph.ix(id).into_iter();
        x.flat_map(|x| world.graph.above(x)).map(|y| world.graph.id(y)).collect()
    };
    let around = above(id);
    let is_near = |group: &AtomId| group == id || around.contains(&group);
    let speaks = |entry: &Entry| match &entry.kind {
        EntryKind::Failure(one) => one.atom == *id || above(&one.atom).contains(&id),
        EntryKind::Turn(one) => one.atom == *id,
        EntryKind::Asked(one) => one.atom == *id,
        EntryKind::Refuted(refuted) => refuted.conflict.keys().any(is_near),
        EntryKind::Choice(choice) => is_near(&choice.group),
        EntryKind::Backtrack(one) => one.changes.0.iter().any(|change| is_near(&change.group)),
        EntryKind::Replan(one) => one.atom.as_ref() == Some(id) || one.failed.contains(id),
        EntryKind::Probe(one) => one.atom == *id,
        _ => false,
    };
    let entries = world.state.trail.iter().map(AsRef::as_ref);
    entries.filter(|entry| speaks(entry)).collect()
}

/// The atoms that are worth asking about: `descent why --json`
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Asking {
    pub schema: &'static str,
    pub atoms: Vec<AskedAtom>,
    /// The question that a judging role is asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub question: Option<QuestionView>,
    pub next: String,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AskedAtom {
    pub atom: AtomId,
    pub status: String,
    pub reason: String,
}

/// Running atoms come first, then those that need a person, then failed and refuted ones.
pub fn worth_asking(world: &World) -> Asking {
    let mut atoms: Vec<(u8, AskedAtom)> = Vec::new();
    for x in world.graph.atoms() {
        let id = world.graph.id(x);
        let status = status_word(world, x);
        if let Some((rank, reason)) = reason_to_ask(world, x, status) {
            let has_failed = rank == 2 && status != "failed";
            let status = if has_failed { format!("failed, {status}") } else { status.to_owned() };
            atoms.push((rank, AskedAtom { atom: id.clone(), status, reason }));
        }
    }
    atoms.sort_by(|(rank, one), (other_rank, other)| {
        let by_rank = rank.cmp(other_rank);
        by_rank.then_with(|| one.atom.cmp_naturally(&other.atom))
    });
    let next = atoms.first().map(|(_, first)| format!("descent why {}", first.atom));
    Asking {
        schema: "descent/why-list/1",
        atoms: atoms.into_iter().map(|(_, asked)| asked).collect(),
        question: work::question(&world.state, false),
        next: next.unwrap_or_else(|| "descent status".to_owned()),
    }
}

fn reason_to_ask(world: &World, x: Ix, status: &str) -> Option<(u8, String)> {
    let id = world.graph.id(x);
    let in_flight = world.state.run.in_flight.iter();
    if let Some(intent) = in_flight.clone().find(|intent| intent.atom == *id) {
        return Some((0, format!("attempt {} since {}", intent.n, intent.at)));
    }
    let atom = world.state.atom(id)?;
    if let Some(task) = atom.task() {
        match &task.status {
            AtomStatus::NeedsGuidance => {
                let asked = task.questions.last().map(|one| one.question.clone());
                let needed = || "a person is needed".to_owned();
                return Some((1, asked.unwrap_or_else(needed)));
            }
            AtomStatus::InDoubt(attempt) => {
                return Some((1, format!("did its effect happen? descent confirm {attempt}")));
            }
            AtomStatus::Invalid(report) => return Some((1, report.words.clone())),
            AtomStatus::Pending | AtomStatus::Failed => {}
        }
        let has_failed = task.tries.iter().any(|tried| tried.is_set_aside()) || status == "failed";
        let newest = world.state.newest_failure(id);
        return has_failed
            .then(|| (2, newest.map_or_else(String::new, |(_, failure)| failure.reason.clone())));
    }
    let mut refuted = world.state.refutations();
    let refuted = refuted.find_map(|(_, refuted)| refuted.conflict.get(id));
    refuted.map(|choice| (3, format!("with {id} = {choice} the base case did not hold")))
}
