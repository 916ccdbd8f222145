//! This program's own references, all under `refs/descent/`: they keep objects from being pruned. A crash or a power cut
//! leaves locks and half-written references, which are removed.
//!
//! In our own repository a reference is a file, read and written without git; somebody may have packed them (`gc`). The
//! person's may have another format.
//!
//! Invariant: only our own references and their locks are touched, and what is left is removed only while no other command
//! of ours works there.

use std::{
    collections::BTreeSet,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    thread::sleep,
    time::Duration,
};

use descent_core::id::CommitId;

use super::{Git, GitError, call::as_id, git_disk};
use descent_system::files;

const OURS: &str = "refs/descent/";

/// Writing one reference takes milliseconds: an older lock of ours was left by a crash.
const LOCK_AGE_MAX: Duration = Duration::from_secs(10);

impl Git {
    pub(crate) fn set_ref(&self, name: &str, commit: &CommitId) -> Result<(), GitError> {
        let name = ours(name)?;
        if self.is_set(name, commit) {
            return Ok(());
        }
        if self.is_ours() {
            let (path, text) = (self.common_dir().join(name), format!("{commit}\n"));
            git_disk::make_dirs(path.parent().unwrap_or(&path))?;
            return files::write_synced_alone(&path, text.as_bytes()).map_err(GitError::io(&path));
        }
        match self.write_ref(name, commit) {
            Err(GitError::Locked { .. }) if self.drop_stale_lock(name) => {
                self.write_ref(name, commit)
            }
            written => written,
        }
    }

    fn is_set(&self, name: &str, commit: &CommitId) -> bool {
        names(&self.common_dir().join(name)).as_ref() == Some(commit)
    }

    fn write_ref(&self, name: &str, commit: &CommitId) -> Result<(), GitError> {
        self.call("update-ref --no-deref --end-of-options").arg(name).id(commit).ok().map(drop)
    }

    /// Nobody else writes under `refs/descent/`, and a live write does not grow this old.
    fn drop_stale_lock(&self, name: &str) -> bool {
        let lock = self.common_dir().join(format!("{name}.lock"));
        git_disk::is_older_than(&lock, LOCK_AGE_MAX) && git_disk::remove_tree(&lock).is_ok()
    }

    /// Deletes all references below `prefix`; none there is no error.
    pub(crate) fn delete_refs(&self, prefix: &str) -> Result<(), GitError> {
        self.retain_refs(prefix, |_, _| false)
    }

    /// Sets the one reference in the person's repository, which keeps their HEAD of the start from
    /// gc.
    pub(crate) fn hold_start(&self, refs: &str, head: &CommitId) -> Result<(), GitError> {
        let name = format!("{refs}/start");
        if self.is_set(&name, head) {
            return Ok(());
        }
        self.set_ref(&name, head)?;
        self.sync_ref(&name)
    }

    /// Deletes the references at or below `prefix` that `needs`, given name and commit, does not want.
    pub(crate) fn retain_refs(
        &self,
        prefix: &str,
        needs: impl Fn(&str, &CommitId) -> bool,
    ) -> Result<(), GitError> {
        self.delete(self.refs(prefix)?.into_iter().filter(|(name, commit)| !needs(name, commit)))
    }

    fn delete(&self, mut refs: impl Iterator<Item = (String, CommitId)>) -> Result<(), GitError> {
        if self.has_loose_refs_only() {
            return refs
                .try_for_each(|(name, _)| git_disk::remove_tree(&self.common_dir().join(name)));
        }
        let mut orders = Vec::new();
        for (name, commit) in refs {
            orders.extend_from_slice(format!("delete {name}\0{commit}\0").as_bytes());
        }
        if orders.is_empty() {
            return Ok(());
        }
        self.call("update-ref --no-deref --stdin -z").stdin(orders).ok().map(drop)
    }

    /// The references that are `prefix` or below it, sorted by name.
    pub fn refs(&self, prefix: &str) -> Result<Vec<(String, CommitId)>, GitError> {
        let prefix = ours(prefix)?.trim_end_matches('/');
        if self.has_loose_refs_only() {
            return Ok(self.loose_refs(prefix));
        }
        let call = self.call("for-each-ref").args(["--format=%(objectname) %(refname)", prefix]);
        let output = call.ok()?;
        let lines = output.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        lines.map(as_ref).collect()
    }

    fn loose_refs(&self, prefix: &str) -> Vec<(String, CommitId)> {
        let at = self.common_dir().join(prefix);
        let paths = if at.is_file() { vec![at] } else { git_disk::files_below(&at, FILES_MAX) };
        let named = paths.into_iter().filter(|path| !is_half(path)).filter_map(|path| {
            Some((path.strip_prefix(self.common_dir()).ok()?.to_str()?.to_owned(), names(&path)?))
        });
        let mut named: Vec<_> = named.collect();
        named.sort();
        named
    }

    fn has_loose_refs_only(&self) -> bool {
        self.is_ours() && !self.common_dir().join("packed-refs").exists()
    }
}

fn as_ref(line: &[u8]) -> Result<(String, CommitId), GitError> {
    const ODD: GitError = GitError::Odd { verb: "for-each-ref" };
    let mut parts = line.splitn(2, |byte| *byte == b' ');
    let id = parts.next().and_then(as_id).ok_or(ODD)?;
    Ok((String::from_utf8_lossy(parts.next().ok_or(ODD)?).into_owned(), CommitId::new(id)))
}

fn ours(name: &str) -> Result<&str, GitError> {
    let plain = name
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'-' | b'_' | b'.'));
    if plain && name.starts_with(OURS) && !name.contains("..") {
        return Ok(name);
    }
    Err(GitError::BadRef { name: name.to_owned() })
}

/// Another command of ours writes a reference in milliseconds; a lock that outlives this has no
/// holder.
const OWN_LOCK_AGE_MAX: Duration = Duration::from_secs(1);
/// For the person's shared lock: no live git holds it so long for the little that we delete.
const SHARED_LOCK_AGE_MAX: Duration = Duration::from_secs(10);
const LOOK_AGAIN: Duration = Duration::from_millis(50);
const REFERENCE_BYTES_MAX: u64 = 1024;
/// Maximum of files visited below our references.
const FILES_MAX: usize = 100_000;

impl Git {
    /// Makes every reference below `prefix` of our repository readable or removes it, and removes
    /// its locks.
    pub(crate) fn mend_refs(
        &self,
        prefix: &str,
        gone: &BTreeSet<CommitId>,
    ) -> Result<(), GitError> {
        self.mend_below(prefix, gone)?;
        let lock = self.shared_lock();
        wait_for_end(&lock);
        drop_unheld(&lock)
    }

    /// Like [`Git::mend_refs`] for the person's repository, where others work too.
    pub(crate) fn mend_refs_of_person(&self, prefix: &str) -> Result<(), GitError> {
        self.mend_below(prefix, &BTreeSet::new())?;
        let lock = self.shared_lock();
        if git_disk::is_older_than(&lock, SHARED_LOCK_AGE_MAX) {
            drop_unheld(&lock)
        } else {
            Ok(())
        }
    }

    fn mend_below(&self, prefix: &str, gone: &BTreeSet<CommitId>) -> Result<(), GitError> {
        for path in git_disk::files_below(&self.common_dir().join(prefix), FILES_MAX) {
            if is_half(&path) {
                wait_for_end(&path);
                git_disk::remove_tree(&path)?;
            } else if names(&path).is_none_or(|commit| gone.contains(&commit)) {
                tracing::warn!(path = %path.display(), "removed a reference that leads nowhere");
                git_disk::remove_tree(&path)?;
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
    let looks = OWN_LOCK_AGE_MAX.as_millis() / LOOK_AGAIN.as_millis() + 1;
    for _ in 0..looks {
        if !lock.exists() || git_disk::is_older_than(lock, OWN_LOCK_AGE_MAX) {
            return;
        }
        sleep(LOOK_AGAIN);
    }
}

fn drop_unheld(lock: &Path) -> Result<(), GitError> {
    if !lock.exists() || git_disk::is_held_open(lock) {
        return Ok(());
    }
    tracing::warn!(path = %lock.display(), "removed a lock that nobody holds");
    git_disk::remove_tree(lock)
}

/// Whether a write of a reference began with this file: ours, or one by git.
fn is_half(path: &Path) -> bool {
    let is_ours = path.file_name().is_some_and(|name| name.as_bytes().starts_with(b"."));
    is_ours || path.extension().is_some_and(|end| end == "lock")
}

/// The commit in a reference's file.
fn names(path: &Path) -> Option<CommitId> {
    as_id(files::read(path, REFERENCE_BYTES_MAX).ok()?.trim_ascii_end()).map(CommitId::new)
}
