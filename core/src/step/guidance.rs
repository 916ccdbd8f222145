//! Asks a person for guidance, where further attempts would fail alike.
//!
//! Invariant: no atom is given up before its attempts as long as another choice could be made: outputs may be equal by
//! chance, and the search promises every attempt.

use alloc::string::String;

use super::{replan, rest, transaction::Transaction};
use crate::{
    event::Event,
    search,
    state::{AtomStatus, Intent, OnStuck},
};

/// Has the atom wait for guidance, if its last two failures in this context are alike, nothing else can be chosen, and no
/// planner may change the plan.
/// Its attempts stay.
pub(super) fn ask_if_alike(transaction: &mut Transaction, intent: &Intent) {
    let asks = transaction.state.objective.constraints.on_stuck() == OnStuck::Ask;
    let is_plan = transaction.plan_of(&intent.atom).is_some();
    let may_change = replan::may_change(transaction);
    if !asks || is_plan || may_change || !failed_alike(transaction, intent) {
        return;
    }
    if has_choice(transaction, intent) {
        return;
    }
    if let Some(task) = transaction.task(&intent.atom) {
        task.status = AtomStatus::NeedsGuidance;
        transaction
            .announce(Event::NeedsGuidance { atom: intent.atom.clone(), question: String::new() });
    }
}

/// Failures that count no more, after a retry, are no second ones.
fn failed_alike(transaction: &Transaction, intent: &Intent) -> bool {
    let tried = transaction.task_of(&intent.atom);
    let tried = tried.and_then(|task| task.tried(&intent.context));
    if tried.is_none_or(|tried| tried.attempts < 2) {
        return false;
    }
    let failures = transaction.state.failures().map(|(_, failure)| failure);
    let mut of_atom = failures.filter(|failure| {
        failure.atom == intent.atom && failure.context.as_ref() == Some(&intent.context)
    });
    match (of_atom.next(), of_atom.next()) {
        (Some(last), Some(before)) => {
            last.fingerprint.is_some() && last.fingerprint == before.fingerprint
        }
        _ => false,
    }
}

/// Whether something else could be chosen, if the atom failed for good. A rest can be ended for that.
fn has_choice(transaction: &Transaction, intent: &Intent) -> bool {
    let conflicts = search::lasting_conflicts(
        &transaction.graph,
        &transaction.state,
        &transaction.valid_contexts,
        &transaction.refuted,
    );
    rest::is_selection_left(transaction, intent, conflicts, true)
}
