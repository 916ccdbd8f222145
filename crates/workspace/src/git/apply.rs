//! Brings the result into the person's working tree: the only verb that changes their files. HEAD moves to the commits of
//! the result, or it is said why not.
//!
//! Invariants: a file of theirs is overwritten only if it is as in the base (or in the result
//! already). Either all paths qualify, or nothing changes. If it is killed at any point, or the
//! power fails, the next call completes it. A reported change is durable.

use std::{collections::BTreeSet, os::unix::ffi::OsStrExt, path::Path};

use descent_core::id::CommitId;

use super::{
    Git, GitError,
    call::{as_id, fields, shown},
    diff::{self, PathChange, Side},
    durable::sync_all_at,
    index::PrivateIndex,
    put_files,
    status::{StatusKind, WorkTreeStatus},
};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApplyOutcome {
    /// There is no difference, or the files have it already.
    Nothing,
    /// Files, index, and the branch (`None`: the detached HEAD) are at the result.
    FastForward { branch: Option<String>, files: Vec<String> },
    /// Only the files were written, and no commit was made.
    Files { files: Vec<String>, why: String },
    /// These files differ from the base; nothing was changed.
    Refused(Vec<String>),
}

impl Git {
    /// Applies `base`→`head` to the working tree; a dry run only returns the same answer. `scratch`
    /// is an existing directory.
    pub fn apply(
        &self,
        base: &CommitId,
        head: &CommitId,
        scratch: &Path,
        is_dry: bool,
    ) -> Result<ApplyOutcome, GitError> {
        let changes = self.changes(base, head)?;
        if changes.is_empty() {
            return Ok(ApplyOutcome::Nothing);
        }
        let seen = self.plan(base, head, &changes, scratch)?;
        if !seen.refused.is_empty() {
            return Ok(ApplyOutcome::Refused(seen.refused.into_iter().collect()));
        }
        let status = self.status(self.at_home("status"), false)?;
        let forward = self.forward(base, head, &changes, &status)?;
        if seen.pending.is_empty() && forward.is_err() {
            // An interrupted `apply` may have left it there unsynced.
            if !is_dry {
                sync_all_at(self.top())?;
            }
            return Ok(ApplyOutcome::Nothing);
        }
        if !is_dry {
            if forward.is_ok() {
                self.refuse_locked()?;
            }
            self.write(&seen, head, scratch)?;
        }
        let files = diff::names(&changes);
        let [home, to] = match forward {
            Ok(forward) => forward,
            Err(why) => return Ok(ApplyOutcome::Files { files, why }),
        };
        if !is_dry {
            self.move_head(&home, &to)?;
        }
        let branch = status.branch;
        Ok(ApplyOutcome::FastForward { branch, files })
    }

    /// Refuses while another git holds what HEAD cannot be moved without.
    fn refuse_locked(&self) -> Result<(), GitError> {
        let person = self.person();
        let branch = person.head()?.branch.into_iter();
        let branch = branch.map(|name| person.common_dir().join(format!("refs/heads/{name}.lock")));
        let locks = ["index.lock", "HEAD.lock"].map(|name| person.git_dir().join(name));
        match locks.into_iter().chain(branch).find(|lock| lock.symlink_metadata().is_ok()) {
            Some(lock) => {
                Err(GitError::Locked { verb: "read-tree", stderr_tail: lock.display().to_string() })
            }
            None => Ok(()),
        }
    }

    fn plan<'a>(
        &self,
        base: &CommitId,
        head: &CommitId,
        changes: &'a [PathChange],
        scratch: &Path,
    ) -> Result<ApplyPlan<'a>, GitError> {
        let (mut not_base, _) = self.unlike(base, changes, |change| &change.old, scratch)?;
        let (not_head, head_index) = self.unlike(head, changes, |change| &change.new, scratch)?;
        for path in self.sparse_as_base(changes)? {
            not_base.remove(&path);
        }
        let mut refused: BTreeSet<String> = put_files::in_the_way(self.top(), changes)
            .iter()
            .map(|path| shown(path.as_os_str().as_bytes()))
            .collect();
        for change in changes {
            let fits = !not_base.contains(&change.path) || !not_head.contains(&change.path);
            if !fits || change.has_gitlink() {
                refused.insert(shown(&change.path));
            }
        }
        let pending = changes.iter().filter(|change| not_head.contains(&change.path));
        Ok(ApplyPlan { pending: pending.collect(), refused, head_index })
    }

    /// The changed paths that a sparse checkout leaves out of the tree, and whose entry in the index is that of the base.
    fn sparse_as_base(&self, changes: &[PathChange]) -> Result<Vec<Vec<u8>>, GitError> {
        let person = self.person();
        if !person.git_dir().join("info/sparse-checkout").is_file() {
            return Ok(Vec::new());
        }
        let listed = person.call("ls-files -t -s -z").ok()?;
        let entries: BTreeSet<&[u8]> = fields(&listed).collect();
        let is_left_out = |change: &&PathChange| {
            let old = &change.old;
            let entry = [b"S ", &old.mode[..], b" ", &old.id, b" 0\t", &change.path].concat();
            entries.contains(&entry[..]) && !put_files::is_there(self.top(), &change.path)
        };
        Ok(changes.iter().filter(is_left_out).map(|change| change.path.clone()).collect())
    }

    /// The paths whose file differs from this side of the change, with that side's index.
    fn unlike(
        &self,
        commit: &CommitId,
        changes: &[PathChange],
        side: impl Fn(&PathChange) -> &Side,
        scratch: &Path,
    ) -> Result<(BTreeSet<Vec<u8>>, PrivateIndex), GitError> {
        let index = PrivateIndex::new(scratch)?;
        let mut entries = Vec::new();
        let mut unlike = BTreeSet::new();
        for change in changes.iter().filter(|change| !change.has_gitlink()) {
            let side = side(change);
            if !side.is_absent() {
                entries.extend(side.index_line(&change.path));
            } else if put_files::is_there(self.top(), &change.path) {
                unlike.insert(change.path.clone());
            }
        }
        let call = |words| {
            let call = self.at_home(words).index(&index.path);
            call.attributes_of(commit).setting("core.sparseCheckout=false")
        };
        call("update-index -z --index-info").stdin(entries).ok()?;
        let differing = call("diff --name-only -z --no-renames --no-ext-diff --no-textconv")
            .args(["--no-relative", "--ignore-submodules=all", "--"]);
        unlike.extend(fields(&differing.ok()?).map(<[u8]>::to_vec));
        Ok((unlike, index))
    }

    /// Git writes the files elsewhere, with filters and modes as the person has them. From there
    /// each complete file is moved to its place.
    fn write(&self, seen: &ApplyPlan<'_>, head: &CommitId, scratch: &Path) -> Result<(), GitError> {
        let ready = tempfile::tempdir_in(scratch).map_err(GitError::io(scratch))?;
        let files = ready.path().canonicalize().map_err(GitError::io(scratch))?;
        let mut prefix = std::ffi::OsString::from("--prefix=");
        prefix.push(&files);
        prefix.push("/");
        let new = seen.pending.iter().filter(|change| !change.new.is_absent());
        let call = self.at_home("checkout-index -f -q -z --stdin").arg(prefix);
        call.index(&seen.head_index.path)
            .attributes_of(head)
            .stdin_paths(new.map(|change| &change.path))
            .ok()?;
        // Content before name, and files before the branch that refers to them. A power cut leaves
        // a file of the base or of the result, and the next call continues from there.
        sync_all_at(&files)?;
        put_files::put(self.top(), &files, &seen.pending)?;
        sync_all_at(self.top())
    }

    /// Moves the index before the branch: between the two, the next call recognises its own work
    /// and finishes it.
    fn move_head(&self, base: &CommitId, head: &CommitId) -> Result<(), GitError> {
        // Git refuses to read a truncated index.
        const SYNCED: &str = "core.fsync=objects,reference,index";
        self.bring_home(head, base)?;
        let person = self.person();
        let call = |words| person.call(words).setting(SYNCED);
        call("read-tree --reset").id(head).ok()?;
        // This only updates the index's file times: a status of 1 names files that differ.
        call("update-index -q --refresh").output()?;
        let call = person.call("update-ref").args(["-m", "descent: fast-forward", "HEAD"]);
        call.id(head).id(base).ok()?;
        person.sync_all()
    }
}

#[derive(Debug)]
struct ApplyPlan<'a> {
    /// The changes that the working tree lacks.
    pending: Vec<&'a PathChange>,
    refused: BTreeSet<String>,
    /// Holds the result's side of every changed path.
    head_index: PrivateIndex,
}

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
        let Some(home) = &status.head else { return Ok(Err(MOVED.to_owned())) };
        if self.is_amid_something() {
            return Ok(Err("a merge, a rebase or a bisect is under way".to_owned()));
        }
        if let Some(path) = uncommitted(changes, status) {
            return Ok(Err(format!("{path} has changes that are not committed")));
        }
        let no = |path: &[u8], why: &str| Ok(Err(format!("{}: {why}", shown(path))));
        let apart = self.changes(home, base)?;
        if let Some(change) = apart.iter().find(|change| !change.old.is_absent()) {
            let why = "the run started from changes of it that were not committed";
            return if self.parent_of(base)?.as_ref() == Some(home) {
                no(&change.path, why)
            } else {
                Ok(Err(MOVED.to_owned()))
            };
        }
        if let Some(change) = changes.iter().find(|one| change_of(&apart, &one.path).is_some()) {
            return no(&change.path, "the result changes it, and it was not tracked at the start");
        }
        let listed = self.call("rev-list --reverse --first-parent").id(head).but(base).ok()?;
        let commits = listed.split(|byte| *byte == b'\n').filter_map(as_id);
        // At the base itself each is its own copy.
        let copy = self.rebuild(home, &commits.map(CommitId::new).collect::<Vec<_>>())?;
        let is_whole = copy.line.iter().all(Option::is_some);
        let is_same = is_whole && self.changes(home, &copy.head)? == changes;
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
        let apart = self.changes(home, head)?;
        let mut changes = self.changes(base, head)?.into_iter();
        Ok(apart.iter().all(|change| change.old.is_absent())
            && changes.all(|change| change_of(&apart, &change.path).is_none()))
    }

    /// Whether a merge, a rebase or the like is going on: HEAD must not move then.
    pub fn is_amid_something(&self) -> bool {
        let mut marks =
            "MERGE_HEAD CHERRY_PICK_HEAD REVERT_HEAD rebase-merge rebase-apply BISECT_LOG"
                .split(' ');
        marks.any(|mark| self.person().git_dir().join(mark).exists())
    }
}

/// The change of a path among those in order.
fn change_of<'c>(changes: &'c [PathChange], path: &[u8]) -> Option<&'c PathChange> {
    Some(&changes[changes.binary_search_by(|change| change.path[..].cmp(path)).ok()?])
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
