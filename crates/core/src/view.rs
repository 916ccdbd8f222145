//! Views of a state for people and programs, as data: `status` here, the others in files of their
//! own; attempts under way are in `work`.
//!
//! Not here: how it looks in a terminal.

pub mod graph;
pub mod judged;
mod leaves;
pub mod liveness;
pub mod log;
pub mod named;
mod next;
pub mod report;
pub mod usage;
pub mod why;
pub mod work;

use crate::doc::prelude::*;
use serde::{Serialize, Serializer};

use crate::{
    change::lost_lines,
    graph::Ix,
    id::{AtomId, CommitId},
    search,
    state::{
        AtomStatus, Correction, FreeValue, PatternRecord, RunStatus, State, Task,
        atom::TaskQuestion, final_result::FinalResultRecord, objective::RunBudget,
    },
    step::run_end,
    verdict::Verdict,
    world::World,
};
pub use graph::ChoiceView;
use graph::choices;
pub use leaves::LeafView;
use leaves::leaves;
use liveness::Liveness;
pub use next::{Surroundings, after_verify, next};
use usage::{AgentUsageView, UsageView, WaitView};
pub use usage::{BoundView, ChangesBoundView};
pub use work::{FlightView, QuestionView};

impl Serialize for FinalResultRecord {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.node().serialize(to)
    }
}

/// The schemas of records that are printed as the state keeps them.
#[cfg(feature = "schema")]
mod printed {
    use super::FinalResultRecord;
    use crate::state::{
        AnswerRecord, IssueRecord, Lesson, PatternRecord, Try,
        law::{BlockedRecord, CurvePoint, DirectiveOutcome, LawPoint, Loss},
        objective::RunBudget,
        profile::ProfileChange,
    };

    macro_rules! printed {
        ($($record:ident),* $(,)?) => {$(
            impl schemars::JsonSchema for $record {
                fn schema_name() -> alloc::borrow::Cow<'static, str> {
                    Self::RULE.name.into()
                }

                fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
                    crate::json_schema::printed(&Self::RULE, generator)
                }
            }
        )*};
    }

    printed! { AnswerRecord, BlockedRecord, CurvePoint, DirectiveOutcome, FinalResultRecord, IssueRecord }
    printed! { Lesson, LawPoint, Loss, PatternRecord, ProfileChange, RunBudget, Try }
}

/// How things stand: `descent status --json`
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StatusView {
    pub schema: &'static str,
    #[cfg_attr(feature = "schema", schemars(extend("enum" = crate::state::RunStatus::WORDS.map(|(word, _)| word))))]
    pub status: &'static str,
    /// Whether a loop holds the lease.
    pub live: bool,
    #[serde(flatten)]
    pub liveness: Liveness,
    pub goal: String,
    pub lineage: String,
    pub iteration: u64,
    pub serial: u64,
    pub resolved: Vec<AtomId>,
    pub unresolved: Vec<AtomId>,
    /// Parts of active fragments that their budgets left open.
    pub dropped: Vec<AtomId>,
    pub bound: BoundView,
    pub base_case: Vec<LeafView>,
    pub choices: Vec<ChoiceView>,
    pub spent: SpentView,
    /// The files that the first run started from; null before it.
    pub started_from: Option<FreeValue>,
    pub workspace: WorkspaceView,
    pub in_flight: Vec<FlightView>,
    /// The question that an agent is asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub question: Option<QuestionView>,
    /// The kind of task that the goal is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<judged::ProfileView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub passes: Option<judged::PassesView>,
    #[serde(flatten)]
    pub judged: judged::JudgedView,
    /// The standing of the run by the control law.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub law: Option<judged::LawView>,
    /// Atoms that a person should look at.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub attention: Vec<judged::AttentionView>,
    /// Questions about tasks, with what is assumed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<judged::UnclearView>,
    /// Atoms that wait until a provider takes more.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waits: Vec<WaitView>,
    /// Atoms that failed and are not solved, each with its newest failure.
    pub failed: Vec<FailedView>,
    /// Causes that several atoms share.
    pub patterns: Vec<PatternRecord>,
    /// The budgets that somebody set.
    pub budget: RunBudget,
    pub last_result: Option<FinalResultRecord>,
    /// The newest change by a person; null before the first.
    pub changed: Option<ChangedView>,
    /// Values that the newest edit overrode, one line each.
    pub gave_way: Vec<String>,
    /// The next command to type.
    pub next: String,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChangedView {
    pub at: String,
    pub by: String,
    /// Each of its corrections, from what to what.
    pub what: Vec<String>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FailedView {
    pub atom: AtomId,
    pub status: String,
    pub class: String,
    pub reason: String,
    pub at: String,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SpentView {
    pub attempts: u64,
    pub transient: u64,
    pub repairs: u64,
    pub active_ms: u64,
    #[serde(flatten)]
    pub usage: Option<UsageView>,
    /// In the order of their names; empty where no agent reports its usage.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by_agent: Vec<AgentUsageView>,
}

/// The delivered tree.
#[serde_with::skip_serializing_none]
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WorkspaceView {
    pub kind: &'static str,
    pub path: Option<String>,
    pub branch: Option<String>,
    pub commit: Option<CommitId>,
}

pub fn status(world: &World, around: &Surroundings, liveness: Liveness) -> StatusView {
    let state = &world.state;
    let run = &state.run;
    let (mut resolved, mut unresolved) = world.split();
    let place = |id: &AtomId| world.graph.ix(id).map(|x| world.graph.place(x));
    resolved.sort_by_key(place);
    unresolved.sort_by_key(place);
    let in_flight = run.in_flight.iter();
    let record = state.run.node();
    StatusView {
        schema: "descent/status/1",
        status: run.status.word(),
        live: around.live,
        goal: state.objective.goal.clone(),
        lineage: state.lineage.as_str().to_owned(),
        iteration: run.iteration,
        serial: state.serial.0,
        resolved,
        unresolved,
        dropped: dropped(world),
        bound: world.bound().into(),
        base_case: leaves(world),
        choices: choices(world),
        spent: spent(state),
        started_from: record.get("started_from").cloned(),
        workspace: WorkspaceView {
            kind: state.objective.constraints.workspace().word(),
            path: None,
            branch: None,
            commit: run.result().cloned(),
        },
        in_flight: in_flight.map(|intent| work::flight(state, intent)).collect(),
        question: work::question(state, around.live),
        profile: judged::profile(state),
        passes: judged::passes(state),
        judged: judged::judged(state),
        law: judged::law(state),
        attention: judged::marks(state),
        questions: judged::questions(state),
        waits: usage::waits(state),
        failed: failed(world),
        patterns: patterns(state),
        budget: state.objective.constraints.budget.clone(),
        last_result: run_end::last_result(world),
        changed: changed(state),
        gave_way: gave_way(state),
        next: liveness.mend.clone().unwrap_or_else(|| next(world, around)),
        liveness,
    }
}

/// The failures that several atoms share, the newest last.
pub fn patterns(state: &State) -> Vec<PatternRecord> {
    state.run.patterns.iter().filter(|one| one.told).cloned().collect()
}

fn spent(state: &State) -> SpentView {
    let spent = &state.run.spent;
    SpentView {
        attempts: spent.attempts,
        transient: spent.transient,
        repairs: spent.repairs,
        active_ms: spent.active.ms,
        usage: UsageView::of(&spent.usage),
        by_agent: usage::by_agent(&state.run.spent_by_agent),
    }
}

fn changed(state: &State) -> Option<ChangedView> {
    let newest = &state.corrections.last()?.data;
    let corrections = state.corrections.iter().map(|one| &one.data).rev();
    let of_the_newest = corrections.take_while(|one| one.timestamp == newest.timestamp);
    let mut what: Vec<String> = of_the_newest.filter_map(|one| one.description.clone()).collect();
    what.reverse();
    Some(ChangedView {
        at: newest.timestamp.clone().unwrap_or_default(),
        by: newest.by.clone().unwrap_or_default(),
        what,
    })
}

/// The overridden values of the newest edit. A confirmation, an answer about an attempt in doubt,
/// and an undo are no edits. One edit may make several corrections, shown together.
fn gave_way(state: &State) -> Vec<String> {
    let is_edit = |one: &Correction| {
        one.confirms().is_none() && one.data.attempt.is_none() && one.data.to.is_none()
    };
    let edits = state.corrections.iter().rev();
    let mut edits = edits.filter(|one| is_edit(one)).peekable();
    let at = edits.peek().map(|newest| &newest.data.timestamp);
    let of_the_newest = edits.take_while(|one| Some(&one.data.timestamp) == at);
    of_the_newest.flat_map(|one| lost_lines(&one.data.lost)).collect()
}

fn failed(world: &World) -> Vec<FailedView> {
    let has_failed = |task: &Task| {
        task.status != AtomStatus::Pending || task.tries.iter().any(|tried| tried.is_set_aside())
    };
    let atoms = world.graph.paired(&world.state.atoms);
    let failed =
        atoms.filter(|(x, atom)| !world.solved()[*x] && atom.task().is_some_and(has_failed));
    let view = |x: Ix| {
        let id = world.graph.id(x);
        let newest = world.state.newest_failure(id);
        let (entry, failure) = newest.unzip();
        let asked = world.state.atom(id).and_then(|atom| atom.task()?.open_question());
        let reason = failure.map_or("", |failure| &failure.reason);
        FailedView {
            atom: id.clone(),
            status: asked.map_or_else(|| status_word(world, x), |_| NEEDS_GUIDANCE).to_owned(),
            class: failure.map_or("", |failure| failure.class.word()).to_owned(),
            reason: asked.map_or_else(|| reason.to_owned(), TaskQuestion::text),
            at: entry.map_or("", |entry| &entry.at).to_owned(),
        }
    };
    let mut failed: Vec<Ix> = failed.map(|(x, _)| x).collect();
    failed.sort_by_key(|x| world.graph.place(*x));
    let has_reason = |one: &FailedView| one.status != "running" || !one.reason.is_empty();
    failed.into_iter().map(view).filter(has_reason).collect()
}

const NEEDS_GUIDANCE: &str = "needs guidance";

/// The status of an atom, as one word.
pub fn status_word(world: &World, x: Ix) -> &'static str {
    let id = world.graph.id(x);
    if world.solved()[x] {
        return "resolved";
    }
    if !world.active.is_live(x) {
        return match is_dropped(world, x) {
            true => "dropped",
            false if rests(world, x) => "resting",
            false => "not chosen",
        };
    }
    if world.state.run.in_flight.iter().any(|intent| intent.atom == *id) {
        return if world.state.run.status.is_active() { "running" } else { NEEDS_GUIDANCE };
    }
    let is_leaf = world.active.is_leaf(&world.graph, x);
    let task = world.state.atoms.get(id).filter(|_| is_leaf).and_then(|atom| atom.task());
    match task.map(|task| &task.status) {
        None => "open",
        Some(AtomStatus::Pending) if rests(world, x) => "resting",
        Some(AtomStatus::Pending) => "pending",
        Some(AtomStatus::Failed) => "failed",
        Some(AtomStatus::Invalid(_)) => "invalid",
        Some(AtomStatus::NeedsGuidance) => NEEDS_GUIDANCE,
        Some(AtomStatus::InDoubt(_)) => "in doubt",
    }
}

/// Whether it is set aside until nothing else is left to choose.
fn rests(world: &World, x: Ix) -> bool {
    let is_live = world.active.is_live(x);
    let in_force = world.active.context(x).filter(|_| is_live);
    let mut tries = search::tries(&world.state, world.graph.id(x)).iter();
    world.state.run.status != RunStatus::Completed
        && tries.any(|tried| tried.is_resting() && in_force.is_none_or(|now| *now == tried.context))
}

fn dropped(world: &World) -> Vec<AtomId> {
    let graph = &world.graph;
    let in_force = graph.plans().filter_map(|x| world.active.phase(graph, x));
    let parts = in_force.flat_map(|phase| &phase.dropped);
    parts.map(|part| graph.id(*part).clone()).collect()
}

/// Whether a budget left it open in an active fragment.
fn is_dropped(world: &World, x: Ix) -> bool {
    let graph = &world.graph;
    graph.phases_above(x).any(|(plan, phase, part)| {
        let in_force = world.active.phase(graph, plan);
        phase.dropped.contains(&part) && in_force.is_some_and(|one| one.first() == phase.first())
    })
}

/// Every commit that a state names, which must not be pruned.
pub fn commits(state: &State) -> BTreeSet<CommitId> {
    let parked = state.all_tries().filter_map(|(_, tried)| tried.parked()?.commit.clone());
    let bound = state.bindings.values().filter_map(|binding| binding.commit.clone());
    let run = &state.run;
    let line = run.line.iter().map(|placed| placed.commit.clone());
    let in_flight = run.in_flight.iter().filter_map(|intent| intent.base.clone());
    let start = run.started_from.iter().map(|start| &start.commit);
    let judged = run.verdicts.iter().map(|verdict| &verdict.commit);
    let ends = run.head.iter().chain(&run.delivered).chain(start).chain(judged).cloned();
    parked.chain(bound).chain(line).chain(in_flight).chain(ends).collect()
}

/// A check and its verdict, for `align` and `verify`.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct VerdictView {
    pub check: String,
    /// Nothing was measured: a person decides it.
    #[serde(skip)]
    pub by_person: bool,
    pub verdict: Verdict,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub ended: String,
    /// The sum of what `number` found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub number: Option<f64>,
    pub duration_ms: u64,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub output: String,
}
