//! Removes what a crash or a power cut left in our part of a repository: locks, and half-written
//! references.
//!
//! Invariant: only our own references and their locks are touched, and only while no other command
//! of ours works there.

use super::{Git, GitError, call::as_id, disk};
use crate::files;
use descent_core::id::CommitId;
use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    thread::sleep,
    time::Duration,
};

/// Another command of ours writes a reference in milliseconds; a lock that outlives this has no
/// holder.
const LOCK_AGE_MAX: Duration = Duration::from_secs(1);
/// For the person's shared lock: no live git holds it so long for the little that we delete.
const SHARED_LOCK_AGE_MAX: Duration = Duration::from_secs(10);
const LOOK_AGAIN: Duration = Duration::from_millis(50);
const REFERENCE_BYTES_MAX: u64 = 1024;
/// Maximum of files visited below our references.
const FILES_MAX: usize = 100_000;

impl Git {
    /// Makes every reference below `prefix` of our repository readable or removes it, and removes
    /// its locks.
    pub fn mend_refs(&self, prefix: &str, gone: &BTreeSet<CommitId>) -> Result<(), GitError> {
        self.mend_below(prefix, gone)?;
        let lock = self.shared_lock();
        wait_for_end(&lock);
        drop_unheld(&lock)
    }

    /// Like [`Git::mend_refs`] for the person's repository, where others work too.
    pub fn mend_refs_of_person(&self, prefix: &str) -> Result<(), GitError> {
        self.mend_below(prefix, &BTreeSet::new())?;
        let lock = self.shared_lock();
        if disk::is_older_than(&lock, SHARED_LOCK_AGE_MAX) { drop_unheld(&lock) } else { Ok(()) }
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

    /// Deleting references takes this lock for an instant. If git is killed then, the lock stays.
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

/// The commit in a reference's file.
fn names(path: &Path) -> Option<CommitId> {
    let text = files::read(path, REFERENCE_BYTES_MAX).ok()?;
    as_id(text.trim_ascii_end()).map(CommitId::new)
}
