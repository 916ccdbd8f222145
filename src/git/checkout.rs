//! Trees of our own, outside the project, each with exactly the files of a commit.

use super::{
    Git, GitError,
    call::{fields, shown},
    disk, odd_files,
    trees::{SAVED_DIR, Tree},
};
use crate::failure::quoted;
use descent_core::id::CommitId;
use std::{
    collections::BTreeSet,
    ffi::{OsStr, OsString},
    os::unix::ffi::{OsStrExt, OsStringExt},
    path::{Path, PathBuf},
};

/// The treatment of files that are not in the commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leftovers {
    /// Untracked files are removed, ignored ones (build caches) stay.
    KeepIgnored,
    RemoveAll,
}

impl Git {
    /// Makes or repairs the tree at `at`, an absolute path that we may wipe, so that its files are
    /// the commit's. `keep` are paths in it, absolute or relative, that stay as they are. A tree
    /// that has to be made anew loses them too.
    pub fn checkout(
        &self,
        at: &Path,
        commit: &CommitId,
        leftovers: Leftovers,
        keep: &[PathBuf],
    ) -> Result<(), GitError> {
        self.check_place(at)?;
        let tree = self.tree(at);
        if tree.is_whole() {
            match self.bring_to(&tree, commit, leftovers, keep) {
                Err(error) if error.is_local() => {}
                done => return done,
            }
        }
        // Nothing may be wiped for a missing commit.
        if !self.exists(commit)? {
            let id = commit.to_string();
            return Err(GitError::NoSuchCommit { id });
        }
        tree.make(commit)?;
        self.fill(&tree, commit, leftovers)
    }

    /// Writes those of the paths that a sparse tree leaves out: a result has changed them since `start`.
    pub fn show_changed(
        &self,
        at: &Path,
        start: &CommitId,
        commit: &CommitId,
    ) -> Result<(), GitError> {
        let tree = self.tree(at);
        if !tree.is_sparse() || start == commit {
            return Ok(());
        }
        let changed = self.paths_between(&self.tree_of(start)?, &self.tree_of(commit)?)?;
        let changed: BTreeSet<String> = changed.into_iter().collect();
        let listed = tree.call("ls-files").args(["-t", "-z"]).ok()?;
        let hidden = fields(&listed).filter_map(|entry| entry.strip_prefix(b"S "));
        let mut hidden: Vec<Vec<u8>> = hidden.map(<[u8]>::to_vec).collect();
        hidden.retain(|path| changed.contains(&shown(path)));
        if hidden.is_empty() {
            return Ok(());
        }
        let unhide = tree.call("update-index").args(["--no-skip-worktree", "-z", "--stdin"]);
        unhide.stdin_paths(&hidden).ok()?;
        let write = tree.call("checkout-index").args(["-f", "-q", "-z", "--stdin"]);
        write.stdin_paths(&hidden).ok()?;
        Ok(())
    }

    /// Removes the tree and its record; a missing tree is no error.
    pub fn remove_worktree(&self, at: &Path) -> Result<(), GitError> {
        self.check_place(at)?;
        self.tree(at).remove()
    }

    /// Removes a whole directory of trees.
    pub fn remove_worktrees(&self, dir: &Path) -> Result<(), GitError> {
        self.check_place(dir)?;
        disk::remove_tree(dir)
    }

    fn check_place(&self, at: &Path) -> Result<(), GitError> {
        let person = self.person();
        let held = [self.top(), self.common_dir(), person.common_dir(), person.git_dir()];
        let real = at.canonicalize().unwrap_or_else(|_| at.to_owned());
        let is_bad = |at: &Path| {
            !at.is_absolute()
                || held.iter().any(|held| held.starts_with(at))
                || at.starts_with(self.common_dir())
                || at.starts_with(person.common_dir())
        };
        if is_bad(at) || is_bad(&real) {
            let at = at.to_owned();
            return Err(GitError::BadPlace { at });
        }
        Ok(())
    }

    fn bring_to(
        &self,
        tree: &Tree<'_>,
        commit: &CommitId,
        leftovers: Leftovers,
        keep: &[PathBuf],
    ) -> Result<(), GitError> {
        tree.tidy()?;
        self.write_files(tree, commit)?;
        let mut clean = tree.call("clean").arg("-ffdq");
        if leftovers == Leftovers::RemoveAll {
            clean = clean.arg("-x");
        }
        for path in keep {
            let path = path.strip_prefix(tree.at()).unwrap_or(path);
            clean = clean.arg("-e").arg(as_pattern(path));
        }
        clean.ok()?;
        if leftovers == Leftovers::RemoveAll {
            odd_files::remove_below(tree.at(), keep)?;
        }
        self.end_checkout(tree, commit, leftovers)
    }

    /// Checks out into an empty tree.
    fn fill(
        &self,
        tree: &Tree<'_>,
        commit: &CommitId,
        leftovers: Leftovers,
    ) -> Result<(), GitError> {
        self.write_files(tree, commit)?;
        self.end_checkout(tree, commit, leftovers)
    }

    fn write_files(&self, tree: &Tree<'_>, commit: &CommitId) -> Result<(), GitError> {
        tree.call("read-tree")
            .args(["--reset", "-u"])
            .id("", commit.as_str(), "")
            .attributes_of(commit.as_str())
            .ok()
            .map(drop)
            .map_err(|error| match error {
                GitError::NotHere { what, .. } => self.not_here(commit, what),
                error => error,
            })
    }

    /// With the command that reads each file of the commit, so that git fetches it.
    fn not_here(&self, commit: &CommitId, what: String) -> GitError {
        let person = self.person();
        let theirs = person.exists(commit).unwrap_or(false);
        let name = if theirs { commit.as_str() } else { "HEAD" };
        let top = quoted(person.top());
        let bring = format!("git -C {top} archive --format=tar -o /dev/null {name}");
        GitError::NotHere { what, bring }
    }

    fn end_checkout(
        &self,
        tree: &Tree<'_>,
        commit: &CommitId,
        leftovers: Leftovers,
    ) -> Result<(), GitError> {
        let saved = tree.admin().join(SAVED_DIR);
        self.fill_modules(tree.at(), &tree.index(), &saved, leftovers)?;
        tree.record_commit(commit)
    }
}

/// An ignore pattern that matches only this path.
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
