//! The attempts that the fragments around an atom have used, as a person's change counts them anew.
//!
//! Not here: the count of an attempt that the loop saw end (`step::phase`).

use alloc::sync::Arc;

use crate::{graph::Graph, id::AtomId, state::State};

/// Changes the attempt counts of each fragment around an atom. `count` is told whether a budget limits them.
pub(crate) fn recount(
    state: &mut State,
    graph: &Graph,
    atom: &AtomId,
    count: impl Fn(bool, &mut u32),
) {
    let phases = graph.ix(atom).into_iter();
    let phases = phases.flat_map(|x| graph.phases_above(x));
    for (plan, phase, _) in phases {
        let (plan, first) = (graph.id(plan), graph.id(phase.first()));
        let Some(atom) = state.atoms.get_mut(plan) else {
            continue;
        };
        let Some(step) = Arc::make_mut(atom).plan_mut() else {
            continue;
        };
        let is_limited = step.budget.as_ref().is_some_and(|one| one.attempts.is_some());
        if let Some(fragment) = step.fragment_mut(first) {
            count(is_limited, &mut fragment.attempts);
        }
    }
}
