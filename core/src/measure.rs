//! The measure: what can still be tried, as the pair (attempts, verdicts), compared in this order.
//!
//! *attempts* is the sum over tasks and the contexts that they can see, not closed, of the attempts left there. A
//! task's contexts are the choices that can be in force upstream; independent groups add up, they don't multiply.
//! *verdicts* counts the whole selections that the base case has not refuted.
//!
//! **Why the loop halts.** Both are whole numbers. The contexts of a task and the number of whole selections depend
//! on the graph alone, which only a correction changes. Within one graph:
//! - an attempt that ends takes one from its context, or closes it (solved, parked, failed): *attempts* falls;
//! - a closed context is never opened by the loop: a backtrack parks and revives, and a repair leaves it closed;
//! - a refuted selection takes one from *verdicts*, and conflicts keep it from being selected again;
//! - everything else (starting, interrupting, acknowledging) touches neither.
//!
//! So the measure never rises, falls at each end of an attempt and each refuted base case, and is bounded below by
//! (0, 0). Transient retries, interruptions and repairs leave it as it is: each has a cap of its own.

use num_bigint::BigUint;

use crate::{
    graph::{Graph, Ix},
    search::{self, Fits},
    state::{State, Task, run},
};

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Measure {
    pub attempts: BigUint,
    pub verdicts: BigUint,
}

impl Measure {
    pub fn of(graph: &Graph, state: &State, fits: &Fits) -> Self {
        let attempts = graph.tasks().map(|x| attempts_left(graph, x, state, fits)).sum();
        let refuted = BigUint::from(search::refuted(graph, state).count());
        let selections = graph.selections();
        let verdicts = if refuted < selections { selections - refuted } else { BigUint::ZERO };
        Self { attempts, verdicts }
    }

    pub fn record(&self) -> run::Measure {
        run::Measure { attempts: alloc::format!("{}", self.attempts), verdicts: alloc::format!("{}", self.verdicts) }
    }
}

/// Attempts at most of one task in one context.
pub fn attempts_max(state: &State, task: &Task) -> u32 {
    state.objective.constraints.max_attempts(task.spec.action.is_some())
}

fn attempts_left(graph: &Graph, x: Ix, state: &State, fits: &Fits) -> BigUint {
    let id = graph.id(x);
    let Some(task) = state.atom(id).and_then(|atom| atom.task()) else { return BigUint::ZERO };
    let binding = state.bindings.get(id);
    if binding.is_some_and(|binding| binding.is_by_person()) {
        return BigUint::ZERO;
    }
    let most = attempts_max(state, task);
    let bound_in = binding.and_then(|binding| binding.context.as_ref());
    let used: u64 = task
        .tries
        .iter()
        .filter(|tried| fits.contains(&(x, tried.context.clone())))
        .map(|tried| {
            let is_closed = tried.ended.is_some() || tried.repairs > 0 || bound_in == Some(&tried.context);
            u64::from(if is_closed { most } else { tried.attempts.min(most) })
        })
        .sum();
    let all = &graph.vertex(x).contexts * BigUint::from(most);
    let used = BigUint::from(used);
    if used < all { all - used } else { BigUint::ZERO }
}
