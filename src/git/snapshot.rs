//! The person's working tree as it is, as a commit; their files and their index stay untouched.

use super::{
    Git, GitError,
    index::PrivateIndex,
    status::{OWN_DIR, Status, Taking, is_within},
};
use descent_core::id::{CommitId, TreeId, UnixMillis};
use std::path::Path;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// HEAD itself where nothing differs from it.
    pub commit: CommitId,
    pub tree: TreeId,
    pub head: CommitId,
    /// `None`: detached.
    pub branch: Option<String>,
    pub dirty: bool,
    /// Repositories inside this one that are no part of it.
    pub left_out: Vec<String>,
}

impl Git {
    /// Tracked changes, deletions and untracked files that are not ignored, as a commit on HEAD.
    /// `scratch` is an existing directory, for an index of our own.
    pub fn snapshot(
        &self,
        scratch: &Path,
        at: UnixMillis,
        message: &str,
    ) -> Result<Snapshot, GitError> {
        let index = PrivateIndex::new(scratch)?;
        self.fill_from_person(&index)?;
        let call = |verb| self.call(verb).index(index.path());
        let status = self.status(call("status"), true)?;
        let head = status.head.clone().ok_or_else(|| self.no_commits())?;
        let mut taking = Taking::of(&status.entries, self.top(), &[OWN_DIR.to_vec()]);
        taking.remove.extend(staged_own_files(&status));
        let staged = status.entries.iter().any(|entry| entry.staged != b'?');
        let head_tree = self.tree_of(&head)?;
        let tree = if taking.is_empty() && !staged {
            head_tree.clone()
        } else {
            self.take(&taking, call)?;
            TreeId::new(call("write-tree").ok_id()?)
        };
        let dirty = tree != head_tree;
        let commit = if dirty {
            self.commit_tree(&tree, &head, message, at)?
        } else {
            head.clone()
        };
        Ok(Snapshot {
            commit,
            tree,
            head,
            branch: status.branch,
            dirty,
            left_out: taking.left_out,
        })
    }

    fn fill_from_person(&self, index: &PrivateIndex) -> Result<(), GitError> {
        if index.fill_from(&self.git_dir().join("index"))? {
            return Ok(());
        }
        let head = self.resolve("HEAD")?.ok_or_else(|| self.no_commits())?;
        let call = self.call("read-tree").index(index.path());
        call.id("", head.as_str(), "").ok().map(drop)
    }

    fn no_commits(&self) -> GitError {
        let top = self.top().to_owned();
        GitError::NoCommits { top }
    }
}

/// Files of the program's own that the person staged, and that HEAD does not have.
fn staged_own_files(status: &Status) -> impl Iterator<Item = Vec<u8>> {
    let added = status.entries.iter().filter(|entry| entry.staged == b'A');
    let own = added.filter(|entry| is_within(&entry.path, OWN_DIR));
    own.map(|entry| entry.path.clone())
}
