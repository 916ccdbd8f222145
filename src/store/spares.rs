//! Swapped-out states that a later commit writes over, which costs less than a new file and the removal of an old one.
//!
//! Only a process that commits often has any: else nothing lies beside the state for long. Invariant: a file is written
//! over only after its name as a spare is durable. Under its old name a power cut would make it look like a person's
//! late save. Not here: whether somebody has it open (`swap`).

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};

use crate::files::CloseStamp;

#[derive(Debug)]
struct Spare {
    path: PathBuf,
    is_durable: bool,
}

#[derive(Debug, Default)]
pub(super) struct Spares {
    /// The oldest first.
    ready: VecDeque<Spare>,
    /// Proofs that files which wait to come to rest hold what they held when they lost the name.
    proofs: BTreeMap<PathBuf, CloseStamp>,
}

/// A sweep retires as many as there were commits since the one before; one more waits to become durable.
pub(super) const SPARES_MAX: usize = 10;

impl Spares {
    /// Notes a file that lost the name, with what proves its content.
    pub(super) fn note_swapped_out(&mut self, path: &Path, proof: Option<CloseStamp>) {
        if let Some(proof) = proof {
            self.proofs.insert(path.to_owned(), proof);
        }
    }

    pub(super) fn proof_of(&self, path: &Path) -> Option<CloseStamp> {
        self.proofs.get(path).copied()
    }

    /// Forgets the proofs of all other files.
    pub(super) fn keep_proofs_of(&mut self, paths: &[PathBuf]) {
        self.proofs.retain(|path, _| paths.contains(path));
    }

    pub(super) fn has_room(&self) -> bool {
        self.ready.len() < SPARES_MAX
    }

    /// Notes a file that was given this name.
    pub(super) fn put(&mut self, path: PathBuf) {
        let is_durable = false;
        self.ready.push_back(Spare { path, is_durable });
    }

    /// Notes that the directory was synced.
    pub(super) fn synced(&mut self) {
        self.ready.iter_mut().for_each(|spare| spare.is_durable = true);
    }

    pub(super) fn take(&mut self) -> Option<PathBuf> {
        self.ready.front().filter(|spare| spare.is_durable)?;
        self.ready.pop_front().map(|spare| spare.path)
    }

    pub(super) fn holds(&self, path: &Path) -> bool {
        self.ready.iter().any(|spare| spare.path == path)
    }

    /// Forgets all of them: they are unfinished files like any other.
    pub(super) fn clear(&mut self) {
        self.ready.clear();
    }
}
