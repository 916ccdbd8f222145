//! The commits of a result as ones that HEAD can be moved to, and why there are none.
//!
//! Not here: the files (`apply`). Nothing of the person's changes here.

use super::{
    Git, GitError,
    call::{as_id, shown},
    diff::{self, PathChange},
    status::{StatusKind, WorkTreeStatus},
};
use descent_core::id::CommitId;

/// The commit at HEAD and the one that it can be moved to, or why it does not move.
pub(super) type Forward = Result<[CommitId; 2], String>;

const MOVED: &str = "HEAD is not at the commit that the run started from";

impl Git {
    /// The result as commits on HEAD, where the index and the tracked files differ from HEAD only by the change. They are
    /// copies without the files that HEAD lacks and the result leaves alone: those that were untracked at the start.
    pub(super) fn forward(
        &self,
        base: &CommitId,
        head: &CommitId,
        changes: &[PathChange],
        status: &WorkTreeStatus,
    ) -> Result<Forward, GitError> {
        let Some(home) = &status.head else {
            return Ok(Err(MOVED.to_owned()));
        };
        if self.is_amid_something() {
            return Ok(Err("a merge, a rebase or a bisect is under way".to_owned()));
        }
        if let Some(path) = uncommitted(changes, status) {
            return Ok(Err(format!("{path} has changes that are not committed")));
        }
        let no = |path: &[u8], why: &str| Ok(Err(format!("{}: {why}", shown(path))));
        let apart = self.between(home, base)?;
        if let Some(change) = apart.iter().find(|change| !change.old.is_absent()) {
            let why = "the run started from changes of it that were not committed";
            return if self.parent_of(base)?.as_ref() == Some(home) {
                no(&change.path, why)
            } else {
                Ok(Err(MOVED.to_owned()))
            };
        }
        if let Some(change) = changes.iter().find(|one| change_of(&apart, &one.path).is_some()) {
            let why = "the result changes it, and it was not tracked at the start";
            return no(&change.path, why);
        }
        let call = self
            .call("rev-list")
            .args(["--reverse", "--first-parent"])
            .id("", head.as_str(), "")
            .id("^", base.as_str(), "");
        let listed = call.ok()?;
        let commits = listed.split(|byte| *byte == b'\n').filter_map(as_id);
        // At the base itself each is its own copy.
        let copy = self.rebuild(home, &commits.map(CommitId::new).collect::<Vec<_>>())?;
        let is_whole = copy.line.iter().all(Option::is_some);
        let is_same = is_whole && self.between(home, &copy.head)? == changes;
        let why = || "its commits change untracked files, and change them back".to_owned();
        Ok(is_same.then(|| [home.clone(), copy.head]).ok_or_else(why))
    }

    /// Whether HEAD has the files of `head`, but for some that it lacks and that are no part of `base`→`head`.
    pub fn has_copy(
        &self,
        home: &CommitId,
        base: &CommitId,
        head: &CommitId,
    ) -> Result<bool, GitError> {
        let apart = self.between(home, head)?;
        let mut changes = self.between(base, head)?.into_iter();
        Ok(apart.iter().all(|change| change.old.is_absent())
            && changes.all(|change| change_of(&apart, &change.path).is_none()))
    }

    pub(super) fn between(
        &self,
        base: &CommitId,
        head: &CommitId,
    ) -> Result<Vec<PathChange>, GitError> {
        diff::of_trees(self.call("diff-tree"), base.as_str(), head.as_str())
    }

    /// Whether a merge, a rebase or the like is going on: HEAD must not move then.
    pub fn is_amid_something(&self) -> bool {
        const MARKS: &[&str] = &[
            "MERGE_HEAD",
            "CHERRY_PICK_HEAD",
            "REVERT_HEAD",
            "rebase-merge",
            "rebase-apply",
            "BISECT_LOG",
        ];
        let mut marks = MARKS.iter();
        marks.any(|mark| self.person().git_dir().join(mark).exists())
    }
}

/// The change of a path among those in order.
fn change_of<'c>(changes: &'c [PathChange], path: &[u8]) -> Option<&'c PathChange> {
    let found = changes.binary_search_by(|change| change.path[..].cmp(path));
    Some(&changes[found.ok()?])
}

/// The first tracked path that differs from HEAD otherwise than by the change.
fn uncommitted(changes: &[PathChange], status: &WorkTreeStatus) -> Option<String> {
    let other = status.entries.iter().find(|entry| {
        entry.kind != StatusKind::Tracked
            || change_of(changes, &entry.path).is_none_or(|change| {
                let new = &change.new;
                entry.staged != b'.'
                    && (entry.index_mode != new.mode
                        || (!new.is_absent() && entry.index_id != new.id))
            })
    });
    other.map(|entry| shown(&entry.path))
}
