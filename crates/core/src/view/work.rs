//! The present work of a loop, as data: by the state alone, and as the loop itself knows it. That is drawn by `run`, and
//! read from a file by other commands.
//!
//! Not here: how it is drawn (`render`), and the file.

use crate::doc::prelude::*;
use serde::{Deserialize, Serialize};

use super::usage::{UsageView, WaitView, waits};
use crate::{
    answer_forms,
    desired::{DesiredWork, Work},
    event::Scope,
    graph::{Ix, NodeKind},
    id::{AgentName, AtomId, AttemptId},
    measure,
    state::{Intent, Question, Role, State},
    wording,
    world::World,
};

/// Attempts that are told at most; no more run side by side.
const ATTEMPTS_MAX: usize = 256;

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct WorkView {
    pub attempts: Vec<AttemptAtWork>,
    pub other: Vec<OtherWork>,
    /// Live atoms that are solved.
    pub resolved: usize,
    /// Live atoms.
    pub all: usize,
    /// The halting bound.
    pub attempts_left: String,
    /// Active time of the run, when this process began.
    pub active_ms: u64,
    /// When this process began.
    pub began: String,
    pub time_budget_ms: Option<u64>,
    /// Spent by all runs; absent if no agent reported any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<UsageView>,
    /// Atoms that wait until a provider takes more.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waits: Vec<WaitView>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttemptAtWork {
    pub attempt: AttemptId,
    pub atom: AtomId,
    /// The groups around it, the outermost first.
    pub above: Vec<GroupAbove>,
    pub n: u32,
    pub of: u32,
    /// When it started.
    pub since: String,
    pub stage: Stage,
    /// The correcting turn that it is in; 0 before the first.
    #[serde(default)]
    pub turn: u32,
    pub check: Option<CheckAtWork>,
    /// Its output so far, a file beside the state.
    pub log: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupAbove {
    pub id: AtomId,
    /// Whether one of its members is enough.
    pub is_any: bool,
}

/// The stage of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// The agent is at work.
    Agent,
    /// Its change is merged onto the result.
    Merge,
    /// Its checks are measured.
    Checks,
    /// It waits until others have landed.
    Waits,
}

/// Work that is no attempt's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OtherWork {
    pub what: OtherKind,
    pub since: String,
    pub check: Option<CheckAtWork>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OtherKind {
    BaseCase,
    Rebuild,
    /// A judging role is asked.
    Judge,
}

/// The check that is measured now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckAtWork {
    pub title: String,
    pub since: String,
}

impl WorkView {
    /// The work of this turn; facts that `before` has about the same work stay.
    pub fn next(world: &World, desired: &DesiredWork, now: &str, before: &Self) -> Self {
        let run = &world.state.run;
        let in_flight = run.in_flight.iter().take(ATTEMPTS_MAX);
        let attempts = in_flight.map(|intent| attempt(world, desired, intent, before));
        let live: Vec<Ix> = world.graph.atoms().filter(|x| world.active.is_live(*x)).collect();
        let budget = world.state.objective.constraints.budget.time.as_ref();
        let is_first = before.began.is_empty();
        Self {
            attempts: attempts.collect(),
            other: other(desired, now, before),
            resolved: live.iter().filter(|x| world.solved()[**x]).count(),
            all: live.len(),
            attempts_left: format!("{}", world.measure().attempts),
            active_ms: if is_first { run.spent.active.ms } else { before.active_ms },
            began: if is_first { now.into() } else { before.began.clone() },
            time_budget_ms: budget.map(|budget| budget.ms),
            usage: UsageView::of(&run.spent.usage),
            waits: waits(&world.state),
        }
    }

    /// Notes that this check is measured from now on.
    pub fn measure(&mut self, scope: &Scope, title: &str, now: &str) {
        let place = match scope {
            Scope::Atom(id) => {
                let mut attempts = self.attempts.iter_mut();
                attempts.find(|one| one.attempt == *id).map(|one| &mut one.check)
            }
            Scope::BaseCase => {
                let mut other = self.other.iter_mut();
                other.find(|one| one.what == OtherKind::BaseCase).map(|one| &mut one.check)
            }
        };
        if let Some(place) = place {
            *place = Some(CheckAtWork { title: title.into(), since: now.into() });
        }
    }
}

fn attempt(
    world: &World,
    desired: &DesiredWork,
    intent: &Intent,
    before: &WorkView,
) -> AttemptAtWork {
    let graph = &world.graph;
    let x = graph.ix(&intent.atom);
    let groups = x.into_iter().flat_map(|x| graph.above(x));
    let mut above: Vec<GroupAbove> = groups
        .map(|group| GroupAbove {
            id: graph.id(group).clone(),
            is_any: graph.vertex(group).kind == NodeKind::Any,
        })
        .collect();
    above.reverse();
    let stage = stage(desired, intent);
    let known = before.attempts.iter().find(|one| one.attempt == intent.id);
    AttemptAtWork {
        attempt: intent.id.clone(),
        atom: intent.atom.clone(),
        above,
        n: intent.n,
        of: attempts_of(&world.state, intent),
        since: intent.at.clone(),
        stage,
        turn: intent.turn_n(),
        check: known.filter(|_| stage == Stage::Checks).and_then(|one| one.check.clone()),
        log: format!("attempts/{}/output.log", intent.id),
    }
}

fn stage(desired: &DesiredWork, intent: &Intent) -> Stage {
    let found = desired.effects.iter().find_map(|(_, work)| match work {
        Work::Attempt(one) if one.id == intent.id => Some(Stage::Agent),
        Work::Merge { intent: one, .. } if one.id == intent.id => Some(Stage::Merge),
        Work::Judge { scope: Scope::Atom(id), .. } if *id == intent.id => Some(Stage::Checks),
        _ => None,
    });
    found.unwrap_or(Stage::Waits)
}

fn other(desired: &DesiredWork, now: &str, before: &WorkView) -> Vec<OtherWork> {
    let kinds = desired.effects.iter().filter_map(|(_, work)| match work {
        Work::Judge { scope: Scope::BaseCase, .. } => Some(OtherKind::BaseCase),
        Work::Rebuild { .. } => Some(OtherKind::Rebuild),
        Work::Consult(_) => Some(OtherKind::Judge),
        _ => None,
    });
    let known = |what| before.other.iter().find(move |one| one.what == what);
    let work =
        |what| known(what).cloned().unwrap_or(OtherWork { what, since: now.into(), check: None });
    kinds.map(work).collect()
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FlightView {
    pub id: AttemptId,
    pub atom: AtomId,
    /// The role of its agent; absent of a worker or an action.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<&'static str>,
    pub n: u32,
    /// Maximum of attempts in this context.
    pub of: u32,
    /// The correcting turn that it is in; 0 before the first.
    pub turn: u32,
    pub since: String,
    pub description: String,
}

/// A question that has no answer yet.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct QuestionView {
    pub role: &'static str,
    pub question: Question,
    pub agent: AgentName,
    /// Its subject.
    pub about: String,
    pub since: String,
}

pub(super) fn flight(state: &State, intent: &Intent) -> FlightView {
    let atom = state.atom(&intent.atom);
    FlightView {
        id: intent.id.clone(),
        atom: intent.atom.clone(),
        role: (intent.role != Role::Worker).then(|| intent.role.word()),
        n: intent.n,
        of: attempts_of(state, intent),
        turn: intent.turn_n(),
        since: intent.at.clone(),
        description: atom.map_or_else(String::new, |atom| atom.description.clone()),
    }
}

/// The most attempts that the context of this one may have. A probe comes once.
pub(super) fn attempts_of(state: &State, intent: &Intent) -> u32 {
    let task = state.atoms.get(&intent.atom).and_then(|atom| atom.task());
    let task = task.filter(|_| intent.role != Role::Probe);
    let most = task.map_or(intent.n, |task| measure::attempts_max(state, task));
    most.max(intent.n)
}

/// A run that has ended is asked for words as long as its loop lives, and never again.
pub(super) fn question(state: &State, is_live: bool) -> Option<QuestionView> {
    let consult = state.run.consult.as_ref()?;
    if consult.question == Question::Word && !(is_live && wording::is_of_ending(state, consult)) {
        return None;
    }
    Some(QuestionView {
        role: consult.question.row().role.word(),
        question: consult.question,
        agent: consult.agent.clone(),
        about: answer_forms::about(state, consult),
        since: consult.at.clone(),
    })
}
