//! A private index: trees are made in it, and nobody else's index changes.

use super::{
    Git, GitError,
    call::{Call, as_id, as_path, shown},
    disk,
    status::IndexUpdates,
};
use descent_core::id::{CommitId, TreeId, UnixMillis};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// The index is in a directory of its own, and is removed with it.
#[derive(Debug)]
pub(super) struct PrivateIndex {
    _dir: TempDir,
    path: PathBuf,
}

pub(super) const PREFIX: &str = "descent-";

impl PrivateIndex {
    pub(super) fn new(scratch: &Path) -> Result<Self, GitError> {
        let dir = tempfile::Builder::new().prefix(PREFIX).tempdir_in(scratch);
        let dir = dir.map_err(GitError::io(scratch))?;
        Ok(Self { path: dir.path().join("index"), _dir: dir })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// A run that uses this index. Nobody reads it later, so it needs no checksum.
    pub(super) fn of<'a>(&self, call: Call<'a>) -> Call<'a> {
        call.index(&self.path).setting("index.skipHash=true")
    }

    /// A directory for objects that go with the index.
    pub(super) fn make_objects(&self) -> Result<PathBuf, GitError> {
        let objects = self.path.with_file_name("objects");
        disk::make_dir(&objects)?;
        Ok(objects)
    }

    /// Copies git's knowledge about files from another index, if there is one.
    pub(super) fn fill_from(&self, other: &Path) -> Result<bool, GitError> {
        if !other.is_file() {
            return Ok(false);
        }
        disk::copy_index(other, &self.path).map(|()| true)
    }
}

impl Git {
    /// Updates the index that `call` uses with what was found in a working tree. Gives the paths that git refuses by name.
    pub(super) fn take<'a>(
        &self,
        taking: &IndexUpdates,
        call: impl Fn(&'static str) -> Call<'a>,
    ) -> Result<Vec<String>, GitError> {
        if !taking.remove.is_empty() {
            call("update-index")
                .args(["--force-remove", "-z", "--stdin"])
                .stdin_paths(&taking.remove)
                .ok()?;
        }
        if taking.take.is_empty() {
            return Ok(Vec::new());
        }
        let call = call("update-index");
        let tree = call.tree().to_owned();
        let taken = call
            .args(["--add", "--remove", "--replace", "-z", "--stdin"])
            .stdin_paths(&taking.take)
            .ran();
        let taken = taken.map_err(|error| {
            let paths = taking.take.iter().map(|path| as_path(path));
            disk::first_unreadable(&tree, paths).unwrap_or(error)
        })?;
        let lines = taken.stderr.split(|byte| *byte == b'\n');
        let refused = lines.filter_map(|line| line.strip_prefix(b"Ignoring path "));
        Ok(refused.map(shown).collect())
    }

    /// The same inputs give the same id: it depends neither on the clock nor on the tree around.
    pub(super) fn commit_tree(
        &self,
        tree: &TreeId,
        parent: &CommitId,
        message: &str,
        at: UnixMillis,
    ) -> Result<CommitId, GitError> {
        let id = self
            .call("commit-tree")
            .args(["--no-gpg-sign", "-F", "-"])
            .id("-p", parent.as_str(), "")
            .id("", tree.as_str(), "")
            .dated(at)
            .stdin(message.replace('\0', ""))
            .ok_id()?;
        let commit = CommitId::new(id);
        self.remember(&commit, tree);
        Ok(commit)
    }

    /// Applies the change from `base` to `made` to `onto`: gives a tree, or the paths that
    /// conflict.
    pub(super) fn merge_trees(
        &self,
        base: &str,
        onto: &CommitId,
        made: &str,
    ) -> Result<Result<TreeId, Vec<String>>, GitError> {
        const VERB: &str = "merge-tree";
        let ran = self
            .call(VERB)
            .args(["--write-tree", "-z", "--name-only", "--no-messages"])
            .id("--merge-base=", base, "")
            .id("", onto.as_str(), "")
            .id("", made, "")
            .attributes_of(onto.as_str())
            .output()?;
        let mut output = super::call::fields(&ran.stdout);
        let tree = output.next().and_then(as_id);
        match (ran.status.code(), tree) {
            (Some(0), Some(tree)) => Ok(Ok(TreeId::new(tree))),
            (Some(1), Some(_)) => {
                let mut paths: Vec<String> = output.map(super::call::shown).collect();
                paths.dedup();
                Ok(Err(paths))
            }
            _ => Err(super::call::failed(VERB, &ran)),
        }
    }
}
