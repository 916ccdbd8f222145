//! What a crash or a power cut left of our own in a repository's records: locks, and half-written references.
//!
//! Invariant: only what is provably ours is touched, while nobody of ours is at work: what stands under our own
//! references.

use super::{Git, GitError, call::as_id, disk};
use descent_core::id::CommitId;
use std::{collections::BTreeSet, path::Path, thread::sleep, time::Duration};

/// Another command of ours writes a reference in milliseconds; a lock that outlives this has no holder.
const LOCK_AGE_MAX: Duration = Duration::from_secs(1);
/// The lock that all share: no live git holds it for so long over the little that we delete.
const SHARED_LOCK_AGE_MAX: Duration = Duration::from_secs(10);
const LOOK_AGAIN: Duration = Duration::from_millis(50);
const REFERENCE_BYTES_MAX: u64 = 1024;
/// Files looked at below our references.
const FILES_MAX: usize = 100_000;

impl Git {
    /// The references below `prefix` are such as git can read, or gone; nothing locks them.
    pub fn mend_refs(&self, prefix: &str, gone: &BTreeSet<CommitId>) -> Result<(), GitError> {
        let dir = self.common_dir().join(prefix);
        for path in disk::files_below(&dir, FILES_MAX) {
            if path.extension().is_some_and(|end| end == "lock") {
                drop_lock(&path)?;
            } else if names(&path).is_none_or(|commit| gone.contains(&commit)) {
                tracing::warn!(path = %path.display(), "removed a reference that leads nowhere");
                disk::remove_tree(&path)?;
            }
        }
        self.drop_shared_lock()
    }

    /// Deleting references takes this lock for an instant; killed in it, git leaves it to everybody.
    fn drop_shared_lock(&self) -> Result<(), GitError> {
        let lock = self.common_dir().join("packed-refs.lock");
        if disk::is_older_than(&lock, SHARED_LOCK_AGE_MAX) && !disk::is_held_open(&lock) {
            tracing::warn!(path = %lock.display(), "removed a lock that nobody holds");
            disk::remove_tree(&lock)?;
        }
        Ok(())
    }
}

fn drop_lock(lock: &Path) -> Result<(), GitError> {
    let looks = LOCK_AGE_MAX.as_millis() / LOOK_AGAIN.as_millis() + 1;
    for _ in 0..looks {
        if !lock.exists() {
            return Ok(());
        }
        if disk::is_older_than(lock, LOCK_AGE_MAX) {
            break;
        }
        sleep(LOOK_AGAIN);
    }
    disk::remove_tree(lock)
}

/// The commit that a reference's file names.
fn names(path: &Path) -> Option<CommitId> {
    let text = disk::read_file(path, REFERENCE_BYTES_MAX).ok()?;
    as_id(text.trim_ascii_end()).map(CommitId::new)
}
