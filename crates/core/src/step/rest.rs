//! Rests: an atom that fails alike, or in a tree with build state of an earlier one, is set aside in its context while other choices are left (contract §9.34).
//!
//! Invariant: a rest closes no context and takes no attempt, and there is one in each context at most. So the search stays
//! complete, and the measure is as it was.

use super::transaction::Transaction;
use crate::doc::prelude::*;
use crate::{
    event::Event,
    id::{AtomId, Digest},
    measure, search,
    state::{
        Intent, State,
        atom::{AlikeFailures, Rest},
        record::Choices,
    },
};

/// Failures after which an action rests whose only attempt left confirms them.
const ONLY_COLD: u32 = 1;

/// Counts a failure with those before it that are alike. Sets the atom aside where they are enough, and another selection is
/// left.
pub(super) fn note(transaction: &mut Transaction, intent: &Intent, mark: Digest) {
    let after = rests_after(transaction, intent);
    let Some(tried) = transaction.tried(&intent.atom, &intent.context, &intent.choices) else {
        return;
    };
    let before = tried.alike.take().filter(|before| before.mark == mark);
    // A failure before a retry of a person counts no more.
    let before = before.filter(|_| tried.attempts > 1);
    let (Some(after), None, None) = (after, &tried.ended, tried.rest) else {
        return;
    };
    let times = before.map_or(0, |before| before.times) + 1;
    tried.alike = Some(AlikeFailures { mark, times, extra: Default::default() });
    let n = tried.attempts;
    let is_in_doubt = after == ONLY_COLD;
    if times >= after
        // It was tried under the selection in force, and not on speculation.
        && (is_in_doubt || transaction.is_in_force(&intent.atom, &intent.context))
        // Another selection could cut off what may happen once only.
        && !transaction.state.run.in_flight.iter().any(|one| one.effect.is_once_only())
        // Another selection of what is planned is left, without what rests already.
        && is_selection_left(transaction, intent, search::conflicts(transaction), false)
    {
        if let Some(tried) = transaction.tried(&intent.atom, &intent.context, &intent.choices) {
            tried.rest = Some(Rest::Resting);
        }
        transaction.announce(Event::Rested { atom: intent.atom.clone(), n, alike: times });
    }
}

/// The failures in a row after which this atom rests: never a step that plans, and nothing that reaches outside.
fn rests_after(transaction: &Transaction, intent: &Intent) -> Option<u32> {
    let task = transaction.task_of(&intent.atom)?;
    let is_plan = transaction.plan_of(&intent.atom).is_some();
    let may_rest = !is_plan && task.spec.effect.is_in_tree();
    let (state, constraints) = (&transaction.state, &transaction.state.objective.constraints);
    let tried = task.tried(&intent.context).map_or(0, |tried| tried.attempts);
    let is_only_cold_left =
        measure::has_cold_try(state, task) && tried + 1 == measure::attempts_max(state, task);
    if is_only_cold_left && constraints.rest != Some(false) {
        return Some(ONLY_COLD).filter(|_| may_rest);
    }
    constraints.rests_after(task.spec.action.is_some()).filter(|_| may_rest)
}

/// Whether there is a selection without these conflicts and without that of this attempt.
pub(super) fn is_selection_left(
    transaction: &Transaction,
    intent: &Intent,
    mut conflicts: Vec<Choices>,
    plans_again: bool,
) -> bool {
    let graph = &transaction.graph;
    let Some(x) = graph.ix(&intent.atom) else {
        return true;
    };
    conflicts.push(search::conflict(graph, x, &intent.choices));
    let space = transaction.space(&conflicts, plans_again);
    search::choose(space, &transaction.selection()).is_some()
}

/// Whether anything rests.
pub(super) fn is_any(transaction: &Transaction) -> bool {
    !resting(&transaction.state).is_empty()
}

/// Has everything go on that rests.
pub(super) fn wake(transaction: &mut Transaction) {
    let atoms = resting(&transaction.state);
    for id in &atoms {
        transaction.change_work(id, |task| {
            for tried in task.tries.iter_mut().filter(|tried| tried.is_resting()) {
                (tried.rest, tried.alike) = (Some(Rest::Woken), None);
            }
        });
    }
    transaction.announce(Event::Woken { atoms });
}

fn resting(state: &State) -> Vec<AtomId> {
    let all = state.all_atoms().into_iter();
    let resting = all.filter(|(_, atom)| {
        let tries = atom.task().map_or(&[][..], |task| &task.tries);
        tries.iter().any(|tried| tried.is_resting())
    });
    let mut ids: Vec<AtomId> = resting.map(|(id, _)| id.clone()).collect();
    ids.sort_by(AtomId::cmp_naturally);
    ids
}
