//! The rounds of a planning step in a context, and the fragments to choose from.
//!
//! Invariant: a round ends with a fragment, or when its attempts are used up. Another begins only
//! if no selection of the existing fragments is left. Rounds are never taken back, so their number
//! is limited.

use alloc::vec::Vec;

use crate::{
    graph::{Graph, Ix, active::Selection},
    id::{AtomId, Digest},
    profile,
    state::{PlanningStep, State, atom},
};

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
