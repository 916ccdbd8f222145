//! A quality leaf that must be rated before the base case is decided, and whether a judge may be asked about it.
//!
//! Not here: asking (`rate`).

use super::{transaction::Transaction, usage};
use crate::{
    state::{Check, Question, RunStatus, UsageLimit},
    verdict::{Basis, CheckProgress},
};

/// A quality leaf without a rating, and the tree to rate.
pub(super) struct UnratedLeaf {
    pub(super) check: Check,
    pub(super) basis: Basis,
}

/// The leaf that nothing but a rating is missing of, on the basis that decides.
pub(super) fn wanted(transaction: &Transaction) -> Option<UnratedLeaf> {
    let state = &transaction.state;
    if state.run.status != RunStatus::Running || state.control.stop_requested {
        return None;
    }
    let target = transaction.session.base_target.clone();
    let basis = target.filter(Basis::decides)?;
    let check = leaf_to_rate(transaction, &basis)?;
    Some(UnratedLeaf { check, basis })
}

/// Whether a judge can be asked about this basis: nothing but a rating is missing there, and there is a judge.
pub(super) fn may_ask(transaction: &Transaction, basis: &Basis) -> bool {
    let agent = transaction.session.agents.in_role(Question::Rate);
    let can_pay = |agent| usage::lacking_for(transaction, Question::Rate, agent).is_none();
    basis.decides() && agent.is_some_and(can_pay) && leaf_to_rate(transaction, basis).is_some()
}

/// The limit of usage that leaves too little for a question without which nothing goes on.
pub(super) fn lacks(transaction: &Transaction) -> Option<UsageLimit> {
    wanted(transaction)?;
    let agent = transaction.session.agents.in_role(Question::Rate)?;
    usage::lacking_for(transaction, Question::Rate, agent)
}

fn leaf_to_rate(transaction: &Transaction, basis: &Basis) -> Option<Check> {
    let check = transaction.state.objective.base_case.as_ref()?;
    match transaction.evaluator(basis).judge(check) {
        CheckProgress::Rate(leaf) => Some(leaf.clone()),
        _ => None,
    }
}
