//! Marks that ask a person to look at an atom (contract §9.29).
//!
//! Invariant: a mark ranks and tells. It solves nothing, ends nothing, and takes no choice away.

use alloc::{string::String, vec::Vec};

use super::transaction::Transaction;
use crate::{
    event::Event,
    id::AtomId,
    state::{Task, atom::AttentionMark},
};

/// Marks atoms, solved or not.
pub(super) fn mark(transaction: &mut Transaction, marks: Vec<(AtomId, AttentionMark)>) {
    let is_task = |id: &AtomId| transaction.state.atom(id).is_some_and(|one| one.task().is_some());
    let marks: Vec<_> = marks.into_iter().filter(|(id, _)| is_task(id)).collect();
    for (id, mark) in marks {
        let set = |task: &mut Task| task.attention = Some(mark.clone());
        if transaction.state.bindings.contains_key(&id) {
            transaction.change_binding(&id, |binding| {
                alloc::sync::Arc::make_mut(&mut binding.of).task_mut().map(set);
            });
        } else {
            transaction.task(&id).map(set);
        }
        transaction.announce(Event::Attention {
            atom: id,
            cause: mark.because,
            because: mark.text,
        });
    }
}

/// Tells that tasks wait for a person's answer.
pub(super) fn tell(transaction: &mut Transaction, asked: &[AtomId]) {
    for id in asked {
        let task = transaction.task_of(id);
        let newest = task.and_then(|task| task.questions.last());
        let question = newest.map_or_else(String::new, |one| one.question.clone());
        transaction.announce(Event::NeedsGuidance { atom: id.clone(), question });
    }
}
