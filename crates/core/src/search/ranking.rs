//! The order of untried choices by lessons of earlier runs, by the control law, and by what probes found. The rounds of
//! planning steps.
//!
//! Invariant: it only orders: what is last is tried too, when nothing else is left.

use crate::doc::prelude::*;
use core::cmp::Reverse;

use crate::{
    graph::{Graph, Ix, NodeKind, active::Selection},
    id::{AtomId, Digest},
    law::blocks::{LawOrder, LawRank},
    profile,
    state::{Lesson, LessonKind, PlanningStep, State, atom, atom::ProbeRecord},
};

/// The lesson about a choice as an order: the smaller is tried first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LessonRank {
    /// It stands in a result; its place among such lessons, the newest first.
    Preferred(usize),
    Unknown,
    /// It failed for good.
    Avoided,
}

/// The order of a choice: what stands in a result, then the law, then the other lessons, then probes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ChoiceRank {
    /// Its place if it stands in a result.
    preferred: LessonRank,
    law: LawRank,
    lesson: LessonRank,
    probe: ProbeRank,
}

/// The lessons of earlier runs about the choices of a graph, and what the control law says of them.
#[derive(Debug, Default)]
pub struct RememberedChoices {
    lessons: BTreeMap<Ix, LessonRank>,
    law: BTreeMap<Ix, LawRank>,
}

impl RememberedChoices {
    pub fn of(graph: &Graph, state: &State) -> Self {
        Self { lessons: remembered(graph, state), law: lawful(graph, state) }
    }

    /// The order of a choice among its untried siblings.
    pub fn rank(&self, graph: &Graph, state: &State, choice: Ix) -> ChoiceRank {
        let lesson = self.lessons.get(&choice).copied().unwrap_or(LessonRank::Unknown);
        ChoiceRank {
            preferred: lesson.min(LessonRank::Unknown),
            law: self.law_rank(choice),
            lesson,
            probe: probe_rank(state, graph.id(choice)),
        }
    }

    /// The same beside a choice in force, which is not left for the law.
    pub fn rank_beside(
        &self,
        graph: &Graph,
        state: &State,
        choice: Ix,
        in_force: Ix,
    ) -> ChoiceRank {
        let rank = self.rank(graph, state, choice);
        let law = rank.law.max(self.law_rank(in_force));
        ChoiceRank { law, ..rank }
    }

    fn law_rank(&self, choice: Ix) -> LawRank {
        self.law.get(&choice).copied().unwrap_or(LawRank::Free)
    }
}

fn remembered(graph: &Graph, state: &State) -> BTreeMap<Ix, LessonRank> {
    let ranks = ranks(state.lessons());
    if ranks.is_empty() {
        return BTreeMap::new();
    }
    let choices = graph.groups().flat_map(|group| &graph.vertex(group).kids);
    let rank = |choice: &Ix| Some((*choice, *ranks.get(&graph.choice_digest(*choice))?));
    choices.filter_map(rank).collect()
}

/// The choices around open tasks of which the law says something; what is blocked in one counts more.
fn lawful(graph: &Graph, state: &State) -> BTreeMap<Ix, LawRank> {
    let mut ranks = BTreeMap::new();
    let is_for_choices = graph.groups().next().is_some();
    let Some(order) = LawOrder::of(state).filter(|_| is_for_choices) else { return ranks };
    for (x, atom) in graph.paired(&state.atoms) {
        let rank = order.rank(atom);
        if rank == LawRank::Free {
            continue;
        }
        let choices = graph.choices_above(x);
        for (_, choice) in choices.filter(|(group, _)| graph.vertex(*group).kind == NodeKind::Any) {
            let known: &mut LawRank = ranks.entry(choice).or_insert(rank);
            *known = rank.max(*known);
        }
    }
    ranks
}

fn ranks(lessons: &[Lesson]) -> BTreeMap<&Digest, LessonRank> {
    let of_kind = |kind: LessonKind| lessons.iter().filter(move |one| one.kind == kind);
    let mut preferred: Vec<&Lesson> = of_kind(LessonKind::Prefer).collect();
    preferred.sort_by_key(|one| Reverse(&one.last));
    let preferred = preferred.into_iter().enumerate();
    let preferred = preferred.map(|(place, one)| (one, LessonRank::Preferred(place)));
    let avoided = of_kind(LessonKind::MustNot).map(|one| (one, LessonRank::Avoided));
    let mut ranks = BTreeMap::new();
    for (lesson, rank) in preferred.chain(avoided) {
        if let Some(choice) = &lesson.choice {
            ranks.entry(choice).or_insert(rank);
        }
    }
    ranks
}

/// How much a probe speaks against a task. Feasible ones come first, the smaller estimate before the larger and before
/// none; then those of which nothing was found out; last the infeasible ones.
fn probe_rank(state: &State, id: &AtomId) -> ProbeRank {
    let task = state.atom(id).and_then(|atom| atom.task());
    let mut newest = task.into_iter().flat_map(|task| task.tries.iter().rev());
    let probe = newest.find_map(|tried| tried.probe.as_ref());
    let found = probe.and_then(|probe| Some((probe, probe.feasible?)));
    let Some((probe, is_feasible)) = found else { return ProbeRank::Unknown };
    let estimate = estimate(probe).map(|part| part.unwrap_or(u64::MAX));
    if is_feasible { ProbeRank::Feasible(estimate) } else { ProbeRank::Infeasible(estimate) }
}

/// The estimate of a probe: its cost, time and attempts.
pub fn estimate(probe: &ProbeRecord) -> [Option<u64>; 3] {
    let told = &probe.estimate;
    [
        told.cost_usd.map(|cost| cost.0),
        told.time.as_ref().map(|time| time.ms),
        told.attempts.map(u64::from),
    ]
}

/// The finding of a probe as an order: the smaller is tried first. An estimate is its cost, time and attempts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProbeRank {
    Feasible([u64; 3]),
    Unknown,
    Infeasible([u64; 3]),
}

// The rounds of a planning step in a context, and the fragments to choose from.
//
// Invariant: a round ends with a fragment, or when its attempts are used up. Another begins only if no selection of
// the existing fragments is left. Rounds are never taken back, so their number is limited.

/// The progress of a planning step in a context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Round {
    /// A fragment is to be planned.
    Open,
    /// Every round so far has its fragment.
    Made { may_plan_again: bool },
    /// No attempt is left to plan.
    Failed,
}

pub fn round(state: &State, plan: &PlanningStep, context: &Digest) -> Round {
    let tried = plan.task.tried(context);
    let rounds = tried.map_or(0, |tried| tried.rounds);
    let made = plan.made_in(context).count();
    if made > rounds as usize {
        let may_plan_again = has_round_left(state, plan, context) && profile::may_begin_pass(state);
        return Round::Made { may_plan_again };
    }
    if tried.is_some_and(|tried| tried.has_failed()) { Round::Failed } else { Round::Open }
}

/// Whether a step may be planned once more in this context, whatever the passes of the run.
pub fn has_round_left(state: &State, plan: &PlanningStep, context: &Digest) -> bool {
    let rounds = plan.task.tried(context).map_or(0, |tried| tried.rounds);
    let most = plan.grant(&state.objective.constraints).rounds;
    rounds.saturating_add(1) < most && atom::replans_left(state) > 0
}

/// Whether a live planning step has fragments to choose from and none is active.
pub fn is_undecided(state: &State, id: &AtomId, context: &Digest) -> bool {
    let plan = state.atoms.get(id).and_then(|atom| atom.plan());
    plan.is_some_and(|plan| matches!(round(state, plan, context), Round::Made { .. }))
}

/// The options of a planning step in this context, the next one last: fragments, identified by
/// their first parts, and `None` for one that is still to be planned.
pub(super) fn options(
    graph: &Graph,
    state: &State,
    x: Ix,
    context: &Digest,
    prefer: &Selection,
) -> Vec<Option<Ix>> {
    let Some(plan) = state.atoms.get(graph.id(x)).and_then(|atom| atom.plan()) else {
        // A person resolved it: nothing is planned.
        return Vec::from([None]);
    };
    let round = round(state, plan, context);
    let phases = graph.vertex(x).phases.iter();
    let made = phases.filter(|phase| phase.context == *context && !phase.is_out);
    let made: Vec<Ix> = made.map(|phase| phase.first()).collect();
    let preferred = prefer.get(&x).filter(|first| made.contains(first));
    let again = matches!(round, Round::Made { may_plan_again: true }).then_some(None);
    let others = made.iter().filter(|first| Some(*first) != preferred);
    again
        .into_iter()
        .chain(others.map(|first| Some(*first)))
        .chain((round == Round::Open).then_some(None))
        .chain(preferred.map(|first| Some(*first)))
        .collect()
}
