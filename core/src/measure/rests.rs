//! The changes of the choices that rests make (contract §9.34).
//!
//! A rest takes no attempt, so the measure does not know of it. It comes after so many attempts of its own context, once in
//! each context. It changes the choices twice at most: away from the atom, and back when it is woken.

use num_bigint::BigUint;

use super::{Measure, MeasureInput, may_turn};
use crate::state::Task;

/// The changes of the choices that are still to come for rests.
pub(super) fn turns_left(seen: MeasureInput<'_>, measure: &Measure) -> BigUint {
    let after = after(seen).filter(|_| may_turn(seen));
    let resting = BigUint::from(counted(seen, |task| {
        let resting = task.tries.iter().filter(|tried| tried.is_resting());
        resting.count() as u64
    }));
    let Some(after) = after else { return resting };
    let made = counted(seen, |task| {
        let open = task.tries.iter();
        let open = open.filter(|tried| tried.ended.is_none() && tried.rest.is_none());
        open.map(|tried| u64::from(tried.attempts)).sum()
    });
    (&measure.attempts + made) / after * 2_u32 + resting
}

/// The fewest failures after which anything may rest, known or still to be planned.
fn after(seen: MeasureInput<'_>) -> Option<u32> {
    let (graph, state) = (seen.graph, seen.state);
    let constraints = &state.objective.constraints;
    let may_come = graph.plans().next().is_some() || super::granted::changes_left(state) > 0;
    let unknown = [true, false].into_iter().filter(|_| may_come);
    let unknown = unknown.filter_map(|is_action| constraints.rests_after(is_action));
    let tasks = graph.tasks().filter_map(|x| state.atom(graph.id(x))?.task());
    let known = tasks.filter(|task| task.spec.effect.is_in_tree());
    let known = known.filter_map(|task| constraints.rests_after(task.spec.action.is_some()));
    known.chain(unknown).min()
}

fn counted(seen: MeasureInput<'_>, count: impl Fn(&Task) -> u64) -> u64 {
    let tasks = seen.graph.tasks();
    let tasks = tasks.filter_map(|x| seen.state.atom(seen.graph.id(x))?.task());
    tasks.map(count).sum()
}
