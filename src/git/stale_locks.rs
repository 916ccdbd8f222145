//! What a crash or a power cut left of our own in a repository's records: locks, and half-written references.
//!
//! Invariant: only what is provably ours is touched, while nobody of ours is at work: what stands under our own
//! references.

use super::{Git, GitError, call::as_id, disk};
use descent_core::id::CommitId;
use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    thread::sleep,
    time::Duration,
};

/// Another command of ours writes a reference in milliseconds; a lock that outlives this has no holder.
const LOCK_AGE_MAX: Duration = Duration::from_secs(1);
/// The person's lock that all share: no live git holds it for so long over the little that we delete.
const SHARED_LOCK_AGE_MAX: Duration = Duration::from_secs(10);
const LOOK_AGAIN: Duration = Duration::from_millis(50);
const REFERENCE_BYTES_MAX: u64 = 1024;
/// Files looked at below our references.
const FILES_MAX: usize = 100_000;

impl Git {
    /// The references below `prefix` of a repository of ours are such as git can read, or gone; nothing locks them.
    pub fn mend_refs(&self, prefix: &str, gone: &BTreeSet<CommitId>) -> Result<(), GitError> {
        self.mend_below(prefix, gone)?;
        let lock = self.shared_lock();
        wait_for_end(&lock);
        drop_unheld(&lock)
    }

    /// The same of the person's repository, where others are at work too.
    pub fn mend_refs_of_person(&self, prefix: &str) -> Result<(), GitError> {
        self.mend_below(prefix, &BTreeSet::new())?;
        let lock = self.shared_lock();
        match disk::is_older_than(&lock, SHARED_LOCK_AGE_MAX) {
            true => drop_unheld(&lock),
            false => Ok(()),
        }
    }

    fn mend_below(&self, prefix: &str, gone: &BTreeSet<CommitId>) -> Result<(), GitError> {
        let dir = self.common_dir().join(prefix);
        for path in disk::files_below(&dir, FILES_MAX) {
            if path.extension().is_some_and(|end| end == "lock") {
                wait_for_end(&path);
                disk::remove_tree(&path)?;
            } else if names(&path).is_none_or(|commit| gone.contains(&commit)) {
                tracing::warn!(path = %path.display(), "removed a reference that leads nowhere");
                disk::remove_tree(&path)?;
            }
        }
        Ok(())
    }

    /// Deleting references takes this lock for an instant; killed in it, git leaves it to everybody.
    fn shared_lock(&self) -> PathBuf {
        self.common_dir().join("packed-refs.lock")
    }
}

/// Waits while a lock of ours may have a holder.
fn wait_for_end(lock: &Path) {
    let looks = LOCK_AGE_MAX.as_millis() / LOOK_AGAIN.as_millis() + 1;
    for _ in 0..looks {
        if !lock.exists() || disk::is_older_than(lock, LOCK_AGE_MAX) {
            return;
        }
        sleep(LOOK_AGAIN);
    }
}

fn drop_unheld(lock: &Path) -> Result<(), GitError> {
    if !lock.exists() || disk::is_held_open(lock) {
        return Ok(());
    }
    tracing::warn!(path = %lock.display(), "removed a lock that nobody holds");
    disk::remove_tree(lock)
}

/// The commit that a reference's file names.
fn names(path: &Path) -> Option<CommitId> {
    let text = disk::read_file(path, REFERENCE_BYTES_MAX).ok()?;
    as_id(text.trim_ascii_end()).map(CommitId::new)
}
