//! Trees of our own, outside the project, each with exactly the files of a commit and of its submodules.
//!
//! Invariants: the person's copies of submodules are only read, without network. A submodule in a tree is a repository of
//! its own that borrows the person's objects, so that changes in it never reach them. One that the person did not check out
//! stays empty.

use std::{
    ffi::{OsStr, OsString},
    os::unix::ffi::{OsStrExt, OsStringExt},
    path::Path,
};

use descent_core::id::CommitId;

use super::{
    Git, GitError,
    call::{as_path, name_of, shown},
    git_disk,
    index::PrivateIndex,
    not_taken,
    source_times::SourceTimes,
    status::{GITLINK, Link, OWN_DIR, is_within},
    trees::{SAVED_DIR, Tree},
};
use descent_system::failure::quoted;

/// The treatment of files that are not in the commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leftovers {
    /// Untracked files are removed, ignored ones (build caches) stay.
    KeepIgnored,
    RemoveAll,
}

impl Leftovers {
    /// The run of git that removes them.
    fn clean(self) -> &'static str {
        match self {
            Self::KeepIgnored => "clean -ffdq",
            Self::RemoveAll => "clean -ffdq -x",
        }
    }
}

impl Git {
    /// Makes or repairs the tree at `at`, an absolute path that we may wipe, so that its files are
    /// the commit's, with the recorded times.
    pub fn checkout(
        &self,
        at: &Path,
        commit: &CommitId,
        leftovers: Leftovers,
        times: Option<&SourceTimes>,
    ) -> Result<(), GitError> {
        self.check_place(at)?;
        let tree = self.tree(at);
        let settle = || {
            let saved = tree.admin.join(SAVED_DIR);
            self.fill_modules(&tree.at, &tree.index(), &saved, leftovers, DEPTH_MAX)?;
            times.map_or(Ok(()), |times| self.settle_times(&tree, commit, times))?;
            tree.record_commit(commit)
        };
        if tree.is_whole() {
            match self.bring_to(&tree, commit, leftovers).and_then(|()| settle()) {
                Err(error) if error.is_local() => {}
                done => return done,
            }
        }
        // Nothing may be wiped for a missing commit.
        if at.symlink_metadata().is_ok() {
            self.require(commit)?;
        }
        tree.make(commit)?;
        self.write_files(&tree, commit).or_else(|error| self.require(commit).and(Err(error)))?;
        settle()
    }

    /// # Errors
    /// Where the commit is missing.
    fn require(&self, commit: &CommitId) -> Result<(), GitError> {
        if self.exists(commit)? {
            return Ok(());
        }
        Err(GitError::NoSuchCommit { id: commit.to_string() })
    }

    /// Removes the tree and its record; a missing tree is no error.
    pub(crate) fn remove_worktree(&self, at: &Path) -> Result<(), GitError> {
        self.check_place(at)?;
        self.tree(at).remove()
    }

    /// Removes a whole directory of trees.
    pub(crate) fn remove_worktrees(&self, dir: &Path) -> Result<(), GitError> {
        self.check_place(dir)?;
        git_disk::remove_tree(dir)
    }

    fn check_place(&self, at: &Path) -> Result<(), GitError> {
        let person = self.person();
        let held = [self.top(), self.common_dir(), person.common_dir(), person.git_dir()];
        // A link in its place is removed, and not followed.
        let above = at.parent().and_then(|above| above.canonicalize().ok());
        let real =
            above.zip(at.file_name()).map_or_else(|| at.to_owned(), |(a, name)| a.join(name));
        let is_bad = |at: &Path| {
            !at.is_absolute()
                || held.iter().any(|held| held.starts_with(at))
                || at.starts_with(self.common_dir())
                || at.starts_with(person.common_dir())
        };
        if is_bad(at) || is_bad(&real) {
            return Err(GitError::BadPlace { at: at.to_owned() });
        }
        Ok(())
    }

    fn bring_to(
        &self,
        tree: &Tree<'_>,
        commit: &CommitId,
        leftovers: Leftovers,
    ) -> Result<(), GitError> {
        tree.tidy()?;
        self.write_files(tree, commit)?;
        tree.call(leftovers.clean()).ok()?;
        match leftovers {
            Leftovers::RemoveAll => not_taken::remove_below(&tree.at),
            Leftovers::KeepIgnored => Ok(()),
        }
    }

    fn write_files(&self, tree: &Tree<'_>, commit: &CommitId) -> Result<(), GitError> {
        let call = tree.call("read-tree --reset -u").id(commit).attributes_of(commit);
        call.ok().map(drop).map_err(|error| match error {
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

/// Maximum depth of nested submodules.
pub(super) const DEPTH_MAX: usize = 16;
/// Maximum of dirty paths named for one submodule.
const NAMED_MAX: usize = 3;

impl Git {
    /// The person's own copy of a submodule, if they checked it out.
    fn own_copy(&self, path: &[u8]) -> Result<Option<Git>, GitError> {
        let dir = self.top().join(as_path(path));
        let is_there = dir.join(".git").symlink_metadata().is_ok();
        if !is_there || git_disk::is_beyond_symlink(self.top(), as_path(path)) || dir.is_symlink() {
            return Ok(None);
        }
        let Some(own) = Git::open_with(self.host().programs(), &dir, &self.0.theirs)? else {
            return Ok(None);
        };
        Ok(dir.canonicalize().is_ok_and(|dir| dir == own.top()).then_some(own))
    }

    /// Whether links of this working tree are submodules; without the file they are nested
    /// repositories.
    pub(super) fn has_modules(&self, tree: &Path) -> bool {
        tree.join(".gitmodules").is_file()
    }

    /// The submodules whose commit in the person's tree differs from `links`; dirty ones are
    /// refused.
    pub(super) fn moved_modules(&self, links: &[Link]) -> Result<Vec<Link>, GitError> {
        let mut moved = Vec::new();
        for link in links {
            if let Some(own) = self.own_copy(&link.path)?
                && let Some(commit) = own.clean_head(DEPTH_MAX)?
                && commit != link.commit
            {
                moved.push(Link { path: link.path.clone(), commit });
            }
        }
        Ok(moved)
    }

    /// HEAD of a submodule without uncommitted changes, at any depth.
    fn clean_head(&self, depth: usize) -> Result<Option<CommitId>, GitError> {
        let status = self.status(self.call("status"), true)?;
        let entries = status.entries.iter();
        let mut names: Vec<String> = entries
            .filter(|entry| !is_within(&entry.path, OWN_DIR))
            .map(|entry| shown(&entry.path))
            .collect();
        if depth > 0 && self.has_modules(self.top()) {
            for link in self.listing(self.call("ls-files"))?.links {
                let own = self.own_copy(&link.path)?;
                let head = own.map(|own| own.clean_head(depth - 1)).transpose()?;
                if head.flatten().is_some_and(|head| head != link.commit) {
                    names.push(shown(&link.path));
                }
            }
        }
        if names.is_empty() {
            return Ok(status.head);
        }
        let more = if names.len() > NAMED_MAX { ", …" } else { "" };
        names.truncate(NAMED_MAX);
        let what = format!("{}{more}", names.join(", "));
        Err(GitError::ModuleDirty { path: self.top().to_owned(), what })
    }

    /// Records the commits of the submodules in the index that `call` uses.
    pub(super) fn take_links<'a>(
        &self,
        links: &[Link],
        call: impl Fn(&'static str) -> super::call::Call<'a>,
    ) -> Result<(), GitError> {
        if links.is_empty() {
            return Ok(());
        }
        let mut orders = Vec::new();
        for link in links {
            let id = link.commit.as_str().as_bytes();
            orders.extend([GITLINK, b" ", id, b"\t", &link.path, b"\0"].concat());
        }
        call("update-index -z --index-info").stdin(orders).ok().map(drop)
    }

    /// Fills the submodules of the tree at `at`, which `index` describes. `saved` is a directory of
    /// ours.
    pub(super) fn fill_modules(
        &self,
        at: &Path,
        index: &Path,
        saved: &Path,
        leftovers: Leftovers,
        depth: usize,
    ) -> Result<(), GitError> {
        if depth == 0 || !self.has_modules(at) {
            return Ok(());
        }
        for link in self.listing(self.call_on("ls-files", at).index(index))?.links {
            let Some(own) = self.person().own_copy(&link.path)? else { continue };
            let dir = at.join(as_path(&link.path));
            if git_disk::is_beyond_symlink(at, as_path(&link.path)) {
                continue;
            }
            if !own.exists(&link.commit)? {
                let (path, commit) = (own.top().to_owned(), link.commit.to_string());
                return Err(GitError::ModuleCommit { path, commit });
            }
            if !dir.is_dir() || dir.is_symlink() {
                git_disk::remove_tree(&dir)?;
            }
            let saved = saved.join(name_of(&link.path));
            own.fill_module(&dir, &link.commit, &saved.join("index"), leftovers)?;
            own.fill_modules(&dir, &dir.join(".git/index"), &saved, leftovers, depth - 1)?;
        }
        Ok(())
    }

    /// Brings `dir` to `commit` of this repository, with a `.git` that borrows its objects.
    fn fill_module(
        &self,
        dir: &Path,
        commit: &CommitId,
        saved: &Path,
        leftovers: Leftovers,
    ) -> Result<(), GitError> {
        let git_dir = dir.join(".git");
        let index = git_dir.join("index");
        git_disk::borrow_repository(&git_dir, &self.common_dir().join("objects"), commit.as_str())?;
        if saved.is_file() {
            git_disk::copy_index(saved, &index)?;
        }
        let call = |words| self.call_on(words, dir).index(&index);
        call("read-tree --reset -u").id(commit).attributes_of(commit).ok()?;
        call(leftovers.clean()).ok()?;
        git_disk::make_dirs(saved.parent().unwrap_or(saved))?;
        git_disk::copy_index(&index, saved)
    }

    /// The tracked files of submodules that an attempt changed.
    pub(super) fn changed_in_modules(
        &self,
        at: &Path,
        index: &Path,
        saved: &Path,
    ) -> Result<Vec<String>, GitError> {
        let mut changed = Vec::new();
        if !saved.is_dir() {
            return Ok(changed);
        }
        for link in self.listing(self.call_on("ls-files", at).index(index))?.links {
            let saved = saved.join(name_of(&link.path));
            if !saved.join("index").is_file() {
                continue;
            }
            let Some(own) = self.person().own_copy(&link.path)? else { continue };
            let dir = at.join(as_path(&link.path));
            if !dir.is_dir() || git_disk::is_beyond_symlink(at, as_path(&link.path)) {
                changed.push(shown(&link.path));
                continue;
            }
            let private = PrivateIndex::new(&saved)?;
            private.fill_from(&saved.join("index"))?;
            let call = || own.call_on("status", &dir).index(&private.path);
            let status = own.status_of_left(&dir, call, false)?;
            let worked = status.entries.iter().filter(|entry| entry.worked != b'.');
            let below = own.changed_in_modules(&dir, &private.path, &saved)?;
            let names = worked.map(|entry| shown(&entry.path)).chain(below);
            changed.extend(names.map(|name| format!("{}/{name}", shown(&link.path))));
        }
        Ok(changed)
    }
}
