//! Our trees of files: the record that our repository keeps of each, and the repository inside the
//! tree.
//!
//! The record is `trees/<name>/` in our repository. It holds a `HEAD`, the index, and
//! `descent-index.<commit>`: the index as of the last checkout. An attempt has a repository in its
//! tree, with references, settings and an index of its own, that borrows from ours.
//!
//! Invariant: the files of a tree are read, but never its `.git`, which is made anew each time.

use super::{
    Git, GitError,
    call::{Call, as_id, as_path, name_of},
    git_disk,
    index::PREFIX,
    lineage::{SLOT_CONFIG, SLOT_REFS},
};
use descent_core::id::CommitId;
use descent_system::files;
use std::{
    fs,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    time::Duration,
};

/// The directory in the record of a tree that holds the index of each submodule as checked out.
pub(super) const SAVED_DIR: &str = "descent-modules";
const SAVED: &str = "descent-index.";
/// The file that names the tree of a record.
const NOTE: &str = "tree";
/// The identity of the repository in the tree that was given to it.
const GIVEN: &str = "given";
/// The file that names the repositories whose objects it borrows.
const ALTERNATES: &str = "objects/info/alternates";
/// Files of a record that stay between two uses; everything else (merges begun, locks) is removed.
const KEPT: &[&str] = &[NOTE, "commondir", "HEAD", SAVED_DIR, SET_UP];
/// The mark that `setup` was run in the tree.
const SET_UP: &str = "set-up";
/// The path from a record to its repository.
const COMMON: &[u8] = b"../..\n";
/// The maximum time between making a record and its note.
const MAKING_MAX: Duration = Duration::from_secs(3600);
const SMALL_BYTES_MAX: u64 = 64 << 10;

/// A tree at a place of ours, whether it exists or not.
#[derive(Debug)]
pub(super) struct Tree<'g> {
    git: &'g Git,
    pub(super) at: PathBuf,
    /// Its record.
    pub(super) admin: PathBuf,
}

impl Git {
    /// A run on files with this repository's own settings: the content of their `.git` is ignored.
    pub(super) fn call_on(&self, verb: &'static str, tree: &Path) -> Call<'_> {
        self.call_in(verb, self.common_dir(), tree).setting("core.sparseCheckout=false")
    }

    pub(super) fn tree(&self, at: &Path) -> Tree<'_> {
        let name = name_of(at.as_os_str().as_bytes());
        Tree { git: self, at: at.to_owned(), admin: self.records().join(name) }
    }

    /// Whether a tree is whole, and has the repository that was given to it at its last checkout, in working order. One that
    /// was put in its place, or copied there, is another.
    pub fn is_as_given(&self, at: &Path) -> bool {
        let (tree, git) = (self.tree(at), at.join(".git"));
        let has_text = |name: &&str| {
            files::read(&git.join(name), SMALL_BYTES_MAX).is_ok_and(|text| !text.is_empty())
        };
        tree.is_whole()
            && git_disk::identity(&git)
                .is_some_and(|id| git_disk::has_bytes(&tree.admin.join(GIVEN), &id))
            && files::plain_dir(&git.join("refs")).is_ok()
            && ["HEAD", "config", ALTERNATES].iter().all(has_text)
    }

    /// The mark that `setup` was run in a tree; empty if the tree was made anew since.
    pub(crate) fn setup_mark(&self, at: &Path) -> Vec<u8> {
        files::read(&self.tree(at).admin.join(SET_UP), SMALL_BYTES_MAX).unwrap_or_default()
    }

    pub(crate) fn mark_setup(&self, at: &Path, mark: &[u8]) -> Result<(), GitError> {
        git_disk::keep_bytes(&self.tree(at).admin.join(SET_UP), mark)
    }

    fn records(&self) -> PathBuf {
        self.common_dir().join("trees")
    }

    /// Removes the records of missing trees, and what a killed process of ours was using. Nobody
    /// may work on any of them.
    pub(crate) fn tidy_trees(&self, is_busy: impl Fn(&Path) -> bool) -> Result<(), GitError> {
        let records = fs::read_dir(self.records()).into_iter().flatten().flatten();
        for record in records.map(|entry| entry.path()) {
            let note = files::read(&record.join(NOTE), SMALL_BYTES_MAX).unwrap_or_default();
            let at = as_path(&note);
            // A record without a note is being made, or its maker was killed.
            let is_torn = note.is_empty() && git_disk::is_older_than(&record, MAKING_MAX);
            if is_torn || (!note.is_empty() && at.symlink_metadata().is_err()) {
                git_disk::remove_tree(&record)?;
            } else if !is_busy(at) {
                drop_private_indexes(&record)?;
            }
        }
        Ok(())
    }
}

impl<'g> Tree<'g> {
    pub(super) fn index(&self) -> PathBuf {
        self.admin.join("index")
    }

    /// A run on its files, with the index in our record.
    pub(super) fn call(&self, verb: &'static str) -> Call<'g> {
        self.git.call_in(verb, &self.admin, &self.at).index(&self.index())
    }

    /// Whether it is a directory with a readable record. A power cut leaves files without their
    /// bytes.
    pub(super) fn is_whole(&self) -> bool {
        let is_dir = |path| files::plain_dir(path).is_ok();
        let read = |name: &str| files::read(&self.admin.join(name), SMALL_BYTES_MAX);
        is_dir(&self.at)
            && is_dir(&self.admin)
            && read("commondir").is_ok_and(|text| text == COMMON)
            && read("HEAD").is_ok_and(|text| as_id(text.trim_ascii_end()).is_some())
    }

    /// Makes an empty tree at a place that we may wipe.
    pub(super) fn make(&self, commit: &CommitId) -> Result<(), GitError> {
        self.remove()?;
        git_disk::make_dirs(&self.at)?;
        self.record(commit)
    }

    /// Begins to keep a record of it.
    pub(super) fn record(&self, commit: &CommitId) -> Result<(), GitError> {
        // This does not make the repository: a missing one must not be replaced behind the loop's
        // back.
        git_disk::make_dir(&self.git.records())?;
        git_disk::make_dir(&self.admin)?;
        git_disk::keep_bytes(&self.admin.join(NOTE), self.at.as_os_str().as_bytes())?;
        git_disk::keep_bytes(&self.admin.join("commondir"), COMMON)?;
        self.stand_at(commit)
    }

    pub(super) fn remove(&self) -> Result<(), GitError> {
        git_disk::remove_tree(&self.at)?;
        git_disk::remove_tree(&self.admin)
    }

    /// The index as of its last checkout, if that was of this commit.
    pub(super) fn saved_index(&self, commit: &CommitId) -> PathBuf {
        self.admin.join(format!("{SAVED}{commit}"))
    }

    /// Whether an attempt wrote the index that was given to it.
    pub(super) fn has_other_index(&self) -> bool {
        let changed = |path: &Path| fs::metadata(path).and_then(|meta| meta.modified()).ok();
        changed(&self.at.join(".git/index")) != changed(&self.index())
    }

    /// Discards every change to its `.git`; our index becomes the one last saved, or none.
    pub(super) fn tidy(&self) -> Result<(), GitError> {
        git_disk::remove_tree(&self.at.join(".git"))?;
        let mut saved = None;
        for entry in fs::read_dir(&self.admin).map_err(GitError::io(&self.admin))? {
            let entry = entry.map_err(GitError::io(&self.admin))?;
            let name = entry.file_name();
            if name.as_bytes().starts_with(SAVED.as_bytes()) && entry.path().is_file() {
                saved = Some(entry.path());
            } else if !KEPT.iter().any(|kept| name == *kept) {
                git_disk::remove_tree(&entry.path())?;
            }
        }
        match saved {
            Some(saved) => git_disk::copy_index(&saved, &self.index()),
            None => Ok(()),
        }
    }

    /// Records that the tree is at `commit`, and gives it a repository that says so.
    pub(super) fn record_commit(&self, commit: &CommitId) -> Result<(), GitError> {
        let half_made = self.admin.join(format!("{PREFIX}new"));
        git_disk::copy_index(&self.index(), &half_made)?;
        for entry in fs::read_dir(&self.admin).into_iter().flatten().flatten() {
            if entry.file_name().as_bytes().starts_with(SAVED.as_bytes()) {
                git_disk::remove_tree(&entry.path())?;
            }
        }
        git_disk::rename(&half_made, &self.saved_index(commit))?;
        self.stand_at(commit)?;
        self.give_repository(commit)
    }

    fn stand_at(&self, commit: &CommitId) -> Result<(), GitError> {
        git_disk::keep_bytes(&self.admin.join("HEAD"), format!("{commit}\n").as_bytes())
    }

    /// Gives it a complete repository of its own, with our objects and the person's.
    fn give_repository(&self, commit: &CommitId) -> Result<(), GitError> {
        let (to, ours) = (self.at.join(".git"), self.git.common_dir());
        // Git makes the others when it needs them.
        for dir in ["objects/info", "refs", "info"] {
            git_disk::make_dirs(&to.join(dir))?;
        }
        self.git.put_back()?;
        git_disk::write_new(&to.join("HEAD"), &format!("{commit}\n").into_bytes())?;
        git_disk::write_new(&to.join(ALTERNATES), &self.git.borrowing_line()?)?;
        for (from, name) in [
            (SLOT_CONFIG, "config"),
            (SLOT_REFS, "packed-refs"),
            ("info/attributes", "info/attributes"),
            ("info/exclude", "info/exclude"),
            ("shallow", "shallow"),
        ] {
            git_disk::copy_if_there(&ours.join(from), &to.join(name))?;
        }
        git_disk::copy_index(&self.index(), &to.join("index"))?;
        git_disk::hold_bytes(&self.admin.join(GIVEN), &git_disk::identity(&to).unwrap_or_default())
    }
}

/// Removes indexes that a killed process was using.
fn drop_private_indexes(record: &Path) -> Result<(), GitError> {
    let ours = fs::read_dir(record).into_iter().flatten().flatten().filter(|entry| {
        let is_dir = entry.file_type().is_ok_and(|kind| kind.is_dir());
        let name = entry.file_name();
        is_dir && name.as_bytes().starts_with(PREFIX.as_bytes()) && name != SAVED_DIR
    });
    ours.map(|entry| entry.path()).try_for_each(|path| git_disk::remove_tree(&path))
}
