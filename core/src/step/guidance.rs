//! Asks a person for guidance, where further attempts would fail alike.
//!
//! Invariant: no atom is given up before its attempts as long as another choice could be made: outputs may be equal by
//! chance, and the search promises every attempt.

use alloc::{collections::BTreeMap, string::String, sync::Arc};

use super::{replan, transaction::Transaction};
use crate::{
    event::Event,
    search::{self, SearchSpace},
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
        transaction.announce(Event::NeedsGuidance {
            atom: intent.atom.clone(),
            question: String::new(),
        });
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

/// Whether something else could be chosen, if the atom failed for good.
fn has_choice(transaction: &Transaction, intent: &Intent) -> bool {
    let graph = Arc::clone(&transaction.graph);
    let Some(x) = graph.ix(&intent.atom) else {
        return true;
    };
    let mut conflicts = search::conflicts(
        &graph,
        &transaction.state,
        &transaction.valid_contexts,
        &transaction.refuted,
    );
    conflicts.push(search::conflict(&graph, x, &intent.choices));
    let space = SearchSpace {
        graph: &graph,
        state: &transaction.state,
        conflicts: &conflicts,
        plans_again: true,
    };
    search::choose(space, &transaction.selection(), &BTreeMap::new()).is_some()
}
