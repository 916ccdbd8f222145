//! Worktrees of ours: linked, detached, outside the project, exactly a commit.

use super::{Git, GitError, disk, linked::Linked, modules::SAVED_DIR};
use descent_core::id::CommitId;
use std::{
    ffi::{OsStr, OsString},
    os::unix::ffi::{OsStrExt, OsStringExt},
    path::{Path, PathBuf},
};

/// What happens to files that the commit does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leftovers {
    /// Untracked files go, ignored ones (build caches) stay.
    KeepIgnored,
    RemoveAll,
}

impl Git {
    /// Makes or mends the worktree at `at`, an absolute path that is ours to wipe, so that its
    /// files are the commit's. `keep`: paths in it, absolute or relative, that stay as they are;
    /// a worktree that has to be made anew loses them too.
    pub fn checkout(
        &self,
        at: &Path,
        commit: &CommitId,
        leftovers: Leftovers,
        keep: &[PathBuf],
    ) -> Result<(), GitError> {
        self.check_place(at)?;
        let linked = Linked::find(self, at).filter(|linked| linked.is_whole(self, at));
        if let Some(linked) = linked {
            match self.bring_to(at, &linked, commit, leftovers, keep) {
                Err(error) if error.is_local() => {}
                done => return done,
            }
        }
        // Before anything is wiped for a commit that is not there.
        if !self.exists(commit)? {
            let id = commit.to_string();
            return Err(GitError::NoSuchCommit { id });
        }
        let linked = self.make_worktree(at, commit)?;
        self.bring_to(at, &linked, commit, leftovers, keep)
    }

    /// The worktree and its records; one that is gone already is no error.
    pub fn remove_worktree(&self, at: &Path) -> Result<(), GitError> {
        let _records = disk::hold(self.common_dir())?;
        self.forget_worktree(at)
    }

    fn forget_worktree(&self, at: &Path) -> Result<(), GitError> {
        self.check_place(at)?;
        disk::remove_tree(at)?;
        // Not `worktree prune`: it would forget worktrees of the person's on a disk that is away.
        let records = Linked::all(self, at);
        records.iter().try_for_each(Linked::remove)
    }

    /// All worktrees below `dir`, with the directory itself.
    pub fn remove_worktrees(&self, dir: &Path) -> Result<(), GitError> {
        self.check_place(dir)?;
        let _records = disk::hold(self.common_dir())?;
        let records = Linked::below(self, dir);
        disk::remove_tree(dir)?;
        records.iter().try_for_each(Linked::remove)
    }

    fn check_place(&self, at: &Path) -> Result<(), GitError> {
        let held = [self.top(), self.common_dir(), self.git_dir()];
        let real = at.canonicalize().unwrap_or_else(|_| at.to_owned());
        let is_bad = |at: &Path| {
            !at.is_absolute()
                || held.iter().any(|held| held.starts_with(at))
                || at.starts_with(self.common_dir())
        };
        if is_bad(at) || is_bad(&real) {
            let at = at.to_owned();
            return Err(GitError::BadPlace { at });
        }
        Ok(())
    }

    fn make_worktree(&self, at: &Path, commit: &CommitId) -> Result<Linked, GitError> {
        // Making one, git reads the records of all: one that another hand has half made or half removed fails it.
        let _records = disk::hold(self.common_dir())?;
        self.forget_worktree(at)?;
        if let Some(parent) = at.parent() {
            disk::make_dirs(parent)?;
        }
        self.call("worktree")
            .args(["add", "--detach", "--no-checkout", "-f", "-f", "--"])
            .arg(at)
            .id("", commit.as_str(), "")
            .ok()?;
        let linked = Linked::find(self, at);
        linked.ok_or(GitError::Odd { verb: "worktree" })
    }

    fn bring_to(
        &self,
        at: &Path,
        linked: &Linked,
        commit: &CommitId,
        leftovers: Leftovers,
        keep: &[PathBuf],
    ) -> Result<(), GitError> {
        linked.tidy()?;
        let call = |verb| self.call_on(verb, at).index(&linked.admin().join("index"));
        call("read-tree")
            .args(["--reset", "-u"])
            .id("", commit.as_str(), "")
            .attributes_of(commit.as_str())
            .ok()?;
        let mut clean = call("clean").arg("-ffdq");
        if leftovers == Leftovers::RemoveAll {
            clean = clean.arg("-x");
        }
        for path in keep {
            let path = path.strip_prefix(at).unwrap_or(path);
            clean = clean.arg("-e").arg(as_pattern(path));
        }
        clean.ok()?;
        let saved = linked.admin().join(SAVED_DIR);
        self.fill_modules(at, &linked.admin().join("index"), &saved, leftovers)?;
        if !linked.is_detached_at(commit) {
            self.call_in("update-ref", linked.admin(), at)
                .setting("core.logAllRefUpdates=false")
                .args(["--no-deref", "HEAD"])
                .id("", commit.as_str(), "")
                .ok()?;
        }
        linked.save_index(commit)
    }
}

/// An ignore pattern that means this one path.
pub(super) fn as_pattern(path: &Path) -> OsString {
    let mut pattern = vec![b'/'];
    for byte in OsStr::as_bytes(path.as_os_str()) {
        if b"\\*?[ ".contains(byte) {
            pattern.push(b'\\');
        }
        pattern.push(*byte);
    }
    OsString::from_vec(pattern)
}
