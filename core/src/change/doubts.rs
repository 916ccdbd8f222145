//! Doubts that outlive a change: a person is asked about them as long as their atom may come back.

use alloc::{collections::BTreeSet, sync::Arc, vec::Vec};

use crate::{
    id::{AtomId, AttemptId},
    state::{Atom, AtomStatus, Entry, State},
    world::doubts::{doubt_of, doubts},
};

/// The trail entries of the doubts that there are, and of those whose atom may come back.
pub(super) fn entries(state: &State) -> Vec<Arc<Entry>> {
    let there = doubts(state).into_iter().map(|doubt| doubt.attempt);
    let absent = of_the_absent(state).into_iter().map(|(_, attempt)| attempt);
    let doubted: BTreeSet<AttemptId> = there.chain(absent).collect();
    let is_of =
        |entry: &&Arc<Entry>| doubt_of(entry).is_some_and(|doubt| doubted.contains(&doubt.attempt));
    state.trail.iter().filter(is_of).cloned().collect()
}

fn is_resolved(state: &State, attempt: &AttemptId) -> bool {
    let mut corrections = state.corrections.iter();
    corrections.any(|one| one.data.attempt.as_ref() == Some(attempt))
}

/// Unanswered doubts of atoms that were taken out while their effect was under way.
pub(super) fn of_the_absent(state: &State) -> Vec<(AtomId, AttemptId)> {
    let all = state.all_atoms();
    let is_open = |(atom, attempt): &(AtomId, AttemptId)| {
        !all.contains_key(atom) && !is_resolved(state, attempt)
    };
    let doubts = state.trail.iter().filter_map(|entry| doubt_of(entry));
    let doubts = doubts.map(|doubt| (doubt.atom.clone(), doubt.attempt.clone()));
    doubts.filter(is_open).collect()
}

/// Asks about these doubts if their atoms are back, and open.
pub(super) fn ask(state: &mut State, doubts: Vec<(AtomId, AttemptId)>) {
    for (id, attempt) in doubts {
        let is_open =
            |atom: &Arc<Atom>| atom.task().is_some_and(|task| task.status == AtomStatus::Pending);
        let Some(atom) = state.atoms.get_mut(&id).filter(|atom| is_open(atom)) else {
            continue;
        };
        if let Some(task) = Arc::make_mut(atom).task_mut() {
            task.status = AtomStatus::InDoubt(attempt);
        }
    }
}
