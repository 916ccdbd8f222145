//! The lessons of earlier runs that a run is given at its start.
//!
//! Invariant: they stand in its first commit, and a run that goes on has what it was given then, whatever the file of
//! lessons says meanwhile. Not here: which lessons (`memory`).

use super::transaction::Transaction;
use crate::memory;

/// Writes down the lessons that the host found. Without memory nothing stays of an earlier start.
pub(super) fn give(transaction: &mut Transaction) {
    let lessons = transaction.session.remembered.take();
    let used = match lessons {
        None => None,
        Some(lessons) if memory::begins(transaction.state.run.status) => memory::used(lessons),
        Some(_) => return,
    };
    if used != transaction.state.run.memory_used {
        transaction.run().memory_used = used;
    }
}
