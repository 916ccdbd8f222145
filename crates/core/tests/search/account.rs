//! The account of every ending: it is whole, and only a completed run is at no distance.

use descent_core::{
    state::{
        RunStatus,
        account::{Accountable, LastDirective},
    },
    step::run_end,
};

use super::sim::Sim;

/// Every ending has its account, and only one with the base case holding is at no distance.
pub(crate) fn assert_account(sim: &Sim<'_>) {
    let state = &sim.world.state;
    let Some(last) = run_end::last_result(&sim.world) else {
        return;
    };
    let is_completed = last.result == Some(RunStatus::Completed);
    let accepts = last.directive == Some(LastDirective::Accept);
    assert_eq!(accepts, is_completed, "{}", sim.story);
    let role = last.accountable.expect("a role");
    assert_eq!(role == Accountable::Nobody, is_completed, "{}", sim.story);
    let distance = last.loss.as_ref().map(|loss| loss.d.0);
    if state.objective.base_case.is_some() {
        assert_eq!(distance == Some(0), is_completed, "{}", sim.story);
    }
    assert!(last.metrics.is_some() && last.grad_l.is_some() == distance.is_some());
}
