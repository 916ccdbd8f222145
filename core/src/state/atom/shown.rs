//! The status of an atom as the file shows it to people: one word, made from the binding and the tries.
//!
//! Not here: the status by which the program decides (`AtomStatus`).

use super::{Atom, AtomStatus, Task, Try};
use crate::state::table::words;

words! {
    /// The status of an atom for people
    pub enum ShownStatus {
        Pending = "pending",
        /// It has a binding, or all that it needs of its members has
        Resolved = "resolved",
        /// No attempt is left
        Failed = "failed",
        /// An attempt said that it cannot be done
        Invalid = "invalid",
        NeedsGuidance = "needs_guidance",
        /// An external effect that may or may not have happened
        InDoubt = "in_doubt",
    }
}

impl ShownStatus {
    /// The status of an atom that is open.
    pub fn of_open(atom: &Atom) -> Self {
        let Some(task) = atom.task() else {
            return Self::Pending;
        };
        match &task.status {
            AtomStatus::Pending if has_failed(task) => Self::Failed,
            AtomStatus::Pending => Self::Pending,
            AtomStatus::Failed => Self::Failed,
            AtomStatus::Invalid(_) => Self::Invalid,
            AtomStatus::NeedsGuidance => Self::NeedsGuidance,
            AtomStatus::InDoubt(_) => Self::InDoubt,
        }
    }
}

/// Whether its newest context is used up.
fn has_failed(task: &Task) -> bool {
    task.tries.last().is_some_and(Try::has_failed)
}
