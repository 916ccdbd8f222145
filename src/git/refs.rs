//! This program's own references, all under `refs/descent/`: they keep objects from being pruned.

use super::{Git, GitError, call::as_id, disk};
use descent_core::id::CommitId;
use std::time::Duration;

const OURS: &str = "refs/descent/";

/// Writing one reference takes milliseconds: an older lock of ours was left by a crash.
const LOCK_AGE_MAX: Duration = Duration::from_secs(10);

impl Git {
    pub fn set_ref(&self, name: &str, commit: &CommitId) -> Result<(), GitError> {
        let name = ours(name)?;
        match self.write_ref(name, commit) {
            Err(GitError::Locked { .. }) if self.drop_stale_lock(name) => {
                self.write_ref(name, commit)
            }
            written => written,
        }
    }

    fn write_ref(&self, name: &str, commit: &CommitId) -> Result<(), GitError> {
        self.call("update-ref")
            .args(["--no-deref", "--end-of-options", name])
            .id("", commit.as_str(), "")
            .ok()
            .map(drop)
    }

    /// Nobody else writes under `refs/descent/`, and a live write does not grow this old.
    fn drop_stale_lock(&self, name: &str) -> bool {
        let lock = self.common_dir().join(format!("{name}.lock"));
        disk::is_older_than(&lock, LOCK_AGE_MAX) && disk::remove_tree(&lock).is_ok()
    }

    /// Deletes all references below `prefix`; none there is no error.
    pub fn delete_refs(&self, prefix: &str) -> Result<(), GitError> {
        self.retain_refs(prefix, |_, _| false)
    }

    /// Sets the one reference in the person's repository, which keeps their HEAD of the start from
    /// gc.
    pub fn hold_start(&self, refs: &str, head: &CommitId) -> Result<(), GitError> {
        let name = format!("{refs}/start");
        if self.refs(&name)?.iter().any(|(_, commit)| commit == head) {
            return Ok(());
        }
        self.set_ref(&name, head)?;
        self.sync_ref(&name)
    }

    /// Deletes the references at or below `prefix` that `needs`, given name and commit, does not want.
    pub fn retain_refs(
        &self,
        prefix: &str,
        needs: impl Fn(&str, &CommitId) -> bool,
    ) -> Result<(), GitError> {
        let all = self.refs(prefix)?.into_iter();
        self.delete(all.filter(|(name, commit)| !needs(name, commit)))
    }

    fn delete(&self, refs: impl Iterator<Item = (String, CommitId)>) -> Result<(), GitError> {
        let mut orders = Vec::new();
        for (name, commit) in refs {
            orders.extend_from_slice(format!("delete {name}\0{commit}\0").as_bytes());
        }
        if orders.is_empty() {
            return Ok(());
        }
        let call = self.call("update-ref").args(["--no-deref", "--stdin", "-z"]);
        call.stdin(orders).ok().map(drop)
    }

    /// The references that are `prefix` or below it, sorted by name.
    pub fn refs(&self, prefix: &str) -> Result<Vec<(String, CommitId)>, GitError> {
        let prefix = ours(prefix)?.trim_end_matches('/');
        let output =
            self.call("for-each-ref").args(["--format=%(objectname) %(refname)", prefix]).ok()?;
        let lines = output.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        lines.map(as_ref).collect()
    }
}

fn as_ref(line: &[u8]) -> Result<(String, CommitId), GitError> {
    const ODD: GitError = GitError::Odd { verb: "for-each-ref" };
    let mut parts = line.splitn(2, |byte| *byte == b' ');
    let id = parts.next().and_then(as_id).ok_or(ODD)?;
    let name = parts.next().ok_or(ODD)?;
    Ok((String::from_utf8_lossy(name).into_owned(), CommitId::new(id)))
}

fn ours(name: &str) -> Result<&str, GitError> {
    let plain = name
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'-' | b'_' | b'.'));
    if plain && name.starts_with(OURS) && !name.contains("..") {
        return Ok(name);
    }
    let name = name.to_owned();
    Err(GitError::BadRef { name })
}
