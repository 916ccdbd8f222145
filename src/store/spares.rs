//! Swapped-out states that a later commit writes over, which costs less than a new file and the removal of an old one.
//!
//! Only a process that commits often has any: else nothing lies beside the state for long. Invariant: a file is written
//! over only after its name as a spare is durable. Under its old name a power cut would make it look like a person's
//! late save. Not here: whether somebody has it open (`swap`).

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

#[derive(Debug)]
struct Spare {
    path: PathBuf,
    is_durable: bool,
}

/// The oldest first.
#[derive(Debug, Default)]
pub(super) struct Spares(VecDeque<Spare>);

/// A sweep retires as many as there were commits since the one before; one more waits to become durable.
pub(super) const SPARES_MAX: usize = 10;

impl Spares {
    pub(super) fn has_room(&self) -> bool {
        self.0.len() < SPARES_MAX
    }

    /// Notes a file that was given this name.
    pub(super) fn put(&mut self, path: PathBuf) {
        let is_durable = false;
        self.0.push_back(Spare { path, is_durable });
    }

    /// Notes that the directory was synced.
    pub(super) fn synced(&mut self) {
        self.0.iter_mut().for_each(|spare| spare.is_durable = true);
    }

    pub(super) fn take(&mut self) -> Option<PathBuf> {
        self.0.front().filter(|spare| spare.is_durable)?;
        self.0.pop_front().map(|spare| spare.path)
    }

    pub(super) fn holds(&self, path: &Path) -> bool {
        self.0.iter().any(|spare| spare.path == path)
    }

    /// Forgets all of them: they are unfinished files like any other.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}
