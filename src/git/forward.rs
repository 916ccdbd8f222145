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
        if home == base {
            let call = self.call("merge-base").arg("--is-ancestor");
            let call = call.id("", base.as_str(), "").id("", head.as_str(), "");
            let is_above = call.output()?.status.success();
            let both = [base.clone(), head.clone()];
            return Ok(is_above.then_some(both).ok_or(MOVED.to_owned()));
        }
        let missing = match self.missing(home, base)? {
            Ok(missing) => missing,
            Err(path) if self.parent_of(base)?.as_ref() == Some(home) => {
                let why = "the run started from changes of it that were not committed";
                return Ok(Err(format!("{path}: {why}")));
            }
            Err(_) => return Ok(Err(MOVED.to_owned())),
        };
        let is_missing = |change: &&PathChange| missing.binary_search(&change.path).is_ok();
        if let Some(change) = changes.iter().find(is_missing) {
            let path = shown(&change.path);
            let why = "the result changes it, and it was not tracked at the start";
            return Ok(Err(format!("{path}: {why}")));
        }
        let copied = self.copied(home, base, head, changes)?;
        let copied = copied.map(|copy| [home.clone(), copy]);
        Ok(copied.ok_or_else(|| "its commits change untracked files, and change them back".into()))
    }

    /// Whether HEAD has the files of `head`, but for some that it lacks and that are no part of `base`→`head`.
    pub fn has_copy(
        &self,
        home: &CommitId,
        base: &CommitId,
        head: &CommitId,
    ) -> Result<bool, GitError> {
        let Ok(missing) = self.missing(home, head)? else {
            return Ok(false);
        };
        let mut changes = self.between(base, head)?.into_iter();
        Ok(changes.all(|change| missing.binary_search(&change.path).is_err()))
    }

    /// The paths of `base` that HEAD lacks, in order; `Err` with the first in which they differ otherwise.
    fn missing(
        &self,
        home: &CommitId,
        base: &CommitId,
    ) -> Result<Result<Vec<Vec<u8>>, String>, GitError> {
        let changes = self.between(home, base)?;
        let other = changes.iter().find(|change| !change.old.is_absent());
        Ok(match other {
            Some(change) => Err(shown(&change.path)),
            None => Ok(changes.into_iter().map(|change| change.path).collect()),
        })
    }

    /// The commits of `base`→`head` on HEAD. `None` where they do not make the same change there: one of them changes
    /// what HEAD lacks, and a later one changes it back.
    fn copied(
        &self,
        home: &CommitId,
        base: &CommitId,
        head: &CommitId,
        changes: &[PathChange],
    ) -> Result<Option<CommitId>, GitError> {
        let call = self
            .call("rev-list")
            .args(["--reverse", "--first-parent"])
            .id("", head.as_str(), "")
            .id("^", base.as_str(), "");
        let listed = call.ok()?;
        let keep: Vec<CommitId> = listed
            .split(|byte| *byte == b'\n')
            .filter_map(as_id)
            .map(CommitId::new)
            .collect();
        let copy = self.rebuild(home, &keep)?;
        let is_whole = copy.line.iter().all(Option::is_some);
        let is_same = is_whole && self.between(home, &copy.head)? == changes;
        Ok(is_same.then_some(copy.head))
    }

    pub(super) fn between(
        &self,
        base: &CommitId,
        head: &CommitId,
    ) -> Result<Vec<PathChange>, GitError> {
        let call = diff::raw(self.call("diff-tree"));
        let call = call
            .id("", base.as_str(), "^{tree}")
            .id("", head.as_str(), "^{tree}");
        diff::parse("diff-tree", &call.arg("--").ok()?)
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

/// The first tracked path that differs from HEAD otherwise than by the change.
fn uncommitted(changes: &[PathChange], status: &WorkTreeStatus) -> Option<String> {
    let is_ours = |path: &[u8]| {
        let found = changes.binary_search_by(|change| change.path[..].cmp(path));
        found.ok().map(|at| &changes[at])
    };
    let other = status.entries.iter().find(|entry| {
        entry.kind != StatusKind::Tracked
            || is_ours(&entry.path).is_none_or(|change| {
                let new = &change.new;
                entry.staged != b'.'
                    && (entry.index_mode != new.mode
                        || (!new.is_absent() && entry.index_id != new.id))
            })
    });
    other.map(|entry| shown(&entry.path))
}
