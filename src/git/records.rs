//! Moves or removes what versions before 2.1 kept in the person's repository: references to
//! results, and records of linked worktrees.
//!
//! Invariant: only what is provably ours is touched: our own references, and worktrees in our
//! cache.

use super::{Git, GitError, disk, durable::sync_all_at};
use crate::files;
use descent_core::id::CommitId;
use std::{
    ffi::OsStr,
    fs,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

const SMALL_BYTES_MAX: u64 = 64 << 10;

impl Git {
    /// Whether the person's repository holds results of this lineage, as before 2.1.
    pub fn has_old_layout(&self, refs: &str) -> Result<bool, GitError> {
        let Some(person) = &self.0.person else {
            return Ok(false);
        };
        let start = start_of(refs);
        Ok(person.refs(refs)?.iter().any(|(name, _)| *name != start))
    }

    /// Moves all of it into our own repository. The person's keeps one reference, to `head`, which
    /// was their HEAD at the start. Nobody else may work on this lineage meanwhile.
    pub fn move_in(&self, refs: &str, head: &CommitId, places: &Path) -> Result<(), GitError> {
        let person = self.person();
        person.mend_refs_of_person(refs)?;
        let all = person.refs(refs)?;
        let known = person.exists(head)?.then_some(head);
        self.own_all(all.iter().map(|(_, commit)| commit), known)?;
        for (name, commit) in &all {
            self.set_ref(name, commit)?;
        }
        sync_all_at(&self.objects())?;
        // Only from here on is the old content useless.
        let start = start_of(refs);
        person.hold_start(refs, head)?;
        let others = |name: &str| name != start;
        person.delete_refs_where(refs, others)?;
        person.forget_worktrees(places)
    }

    /// Sets the one reference in the person's repository, which keeps their HEAD of the start from
    /// gc.
    pub fn hold_start(&self, refs: &str, head: &CommitId) -> Result<(), GitError> {
        let name = start_of(refs);
        if self.refs(&name)?.iter().any(|(_, commit)| commit == head) {
            return Ok(());
        }
        self.set_ref(&name, head)?;
        self.sync_ref(&name)
    }

    /// Removes the records of worktrees below `dir`, torn ones too, which can keep git from any
    /// work in the repository.
    pub fn forget_worktrees(&self, dir: &Path) -> Result<(), GitError> {
        let below = real_path(dir);
        let records = fs::read_dir(self.common_dir().join("worktrees"));
        for record in records.into_iter().flatten().flatten() {
            let named = pointed(&record.path().join("gitdir"));
            let is_below = named.is_some_and(|tree| real_path(&tree).starts_with(&below));
            if is_below || (has_our_index(&record.path()) && !leads_somewhere(&record.path())) {
                disk::remove_tree(&record.path())?;
            }
        }
        Ok(())
    }

    /// Whether everything named by references below `prefix` is also in branches, tags or HEAD.
    pub fn are_merged(&self, prefix: &str) -> Result<bool, GitError> {
        let mut orders = String::new();
        for (_, commit) in self.refs(prefix)? {
            orders.push_str(&format!("{commit}\n"));
        }
        orders.push_str("--not\nHEAD\n");
        let call = self.call("rev-list").args(["--max-count=1", "--stdin"]);
        let call = call.args(["--not", "--branches", "--tags", "--remotes"]);
        Ok(call.stdin(orders).ok()?.is_empty())
    }

    /// Records of our worktrees in the person's repository, each with the path of its worktree, if
    /// known.
    pub fn old_worktrees(&self) -> Vec<(PathBuf, Option<PathBuf>)> {
        let records = fs::read_dir(self.common_dir().join("worktrees"));
        let records = records.into_iter().flatten().flatten();
        let ours = records.filter(|record| has_our_index(&record.path()));
        let tree = |record: &Path| pointed(&record.join("gitdir"))?.parent().map(Path::to_owned);
        ours.map(|record| (record.path(), tree(&record.path()))).collect()
    }
}

fn start_of(refs: &str) -> String {
    format!("{refs}/start")
}

fn has_our_index(record: &Path) -> bool {
    let entries = fs::read_dir(record).into_iter().flatten().flatten();
    let mut names = entries.map(|entry| entry.file_name());
    names.any(|name| name.as_bytes().starts_with(b"descent-index."))
}

fn leads_somewhere(record: &Path) -> bool {
    pointed(&record.join("gitdir")).is_some_and(|tree| tree.symlink_metadata().is_ok())
}

/// The path that a one-line file names.
fn pointed(file: &Path) -> Option<PathBuf> {
    let text = files::read(file, SMALL_BYTES_MAX).ok()?;
    let path = text.trim_ascii();
    let is_path = !path.is_empty() && !path.contains(&0);
    is_path.then(|| PathBuf::from(OsStr::from_bytes(path)))
}

/// With symlinks resolved as far as the path exists.
fn real_path(path: &Path) -> PathBuf {
    if let Ok(real) = path.canonicalize() {
        return real;
    }
    match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) => real_path(parent).join(name),
        _ => path.to_owned(),
    }
}
