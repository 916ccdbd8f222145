//! What an attempt made in its worktree, as one commit on the head; no reference moves.

use super::{
    Git, GitError, diff,
    index::PrivateIndex,
    linked::Linked,
    modules::SAVED_DIR,
    status::{OWN_DIR, Taking},
};
use descent_core::id::{CommitId, Digest, TreeId, UnixMillis};
use std::{
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

#[derive(Debug, Clone, Copy)]
pub struct Candidate<'a> {
    /// The worktree that `checkout` made at `base`.
    pub workspace: &'a Path,
    pub base: &'a CommitId,
    /// The commit that the change is brought to.
    pub onto: &'a CommitId,
    pub message: &'a str,
    /// The date of the commit.
    pub at: UnixMillis,
    /// Paths in the workspace, absolute or relative to it, that are never committed.
    pub exclude: &'a [PathBuf],
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Merge {
    /// The workspace is what `base` was.
    Unchanged,
    Clean {
        commit: CommitId,
        tree: TreeId,
        /// Of the change against `base`, whatever it was brought to.
        change: Digest,
        /// The files of the change against `base`.
        files: Vec<String>,
    },
    /// The paths that do not merge.
    Conflict(Vec<String>),
}

impl Git {
    /// Whatever the attempt did to its index, its HEAD or its `.git`, only the files count.
    pub fn candidate(&self, c: &Candidate<'_>) -> Result<Merge, GitError> {
        let index = self.index_of_base(c)?;
        let call = |verb| self.call_on(verb, c.workspace).index(index.path());
        let entries = self.status(call("status"), true)?.entries;
        self.refuse_changed_modules(c, &index)?;
        let taking = Taking::of(&entries, c.workspace, &spared(c));
        if taking.is_empty() {
            return Ok(Merge::Unchanged);
        }
        self.take(&taking, call)?;
        // Both only read the index, so they need not wait for one another.
        let (changes, tree) = std::thread::scope(|scope| {
            let changes = scope.spawn(|| {
                let call = diff::raw(call("diff-index").arg("--cached"));
                let said = call.id("", c.base.as_str(), "").arg("--").ok()?;
                diff::parse("diff-index", &said)
            });
            let tree = call("write-tree").ok_id().map(TreeId::new);
            (changes.join().expect("BUG: no panic in a diff"), tree)
        });
        let (changes, tree) = (changes?, tree?);
        if changes.is_empty() {
            return Ok(Merge::Unchanged);
        }
        let tree = match self.brought_onto(c, tree)? {
            Ok(tree) => tree,
            Err(paths) => return Ok(Merge::Conflict(paths)),
        };
        Ok(Merge::Clean {
            commit: self.commit_tree(&tree, c.onto, c.message, c.at)?,
            tree,
            change: diff::digest(&changes),
            files: diff::names(&changes),
        })
    }

    /// Work in a submodule has no place in a commit of this repository: it is named, not lost.
    fn refuse_changed_modules(
        &self,
        c: &Candidate<'_>,
        index: &PrivateIndex,
    ) -> Result<(), GitError> {
        let Some(linked) = Linked::find(self, c.workspace) else {
            return Ok(());
        };
        let saved = linked.admin().join(SAVED_DIR);
        let paths = self.changed_in_modules(c.workspace, index.path(), &saved)?;
        if paths.is_empty() {
            return Ok(());
        }
        Err(GitError::ModuleChanged { paths })
    }

    fn brought_onto(
        &self,
        c: &Candidate<'_>,
        made: TreeId,
    ) -> Result<Result<TreeId, Vec<String>>, GitError> {
        if c.onto == c.base {
            return Ok(Ok(made));
        }
        if self.host().merges_trees {
            return self.merge_trees(c.base.as_str(), c.onto, made.as_str());
        }
        let made = self.commit_tree(&made, c.base, c.message, c.at)?;
        self.merge_trees(c.base.as_str(), c.onto, made.as_str())
    }

    /// Starts from what git knew when the worktree was checked out, else from nothing.
    fn index_of_base(&self, c: &Candidate<'_>) -> Result<PrivateIndex, GitError> {
        let linked = Linked::find(self, c.workspace);
        let scratch = linked.as_ref().map(Linked::admin);
        let index = PrivateIndex::new(scratch.unwrap_or(&std::env::temp_dir()))?;
        let known = linked.and_then(|linked| linked.saved_index(c.base));
        if let Some(known) = known
            && index.fill_from(&known)?
        {
            return Ok(index);
        }
        let call = self.call_on("read-tree", c.workspace).index(index.path());
        call.id("", c.base.as_str(), "").ok()?;
        Ok(index)
    }
}

fn spared(c: &Candidate<'_>) -> Vec<Vec<u8>> {
    let relative = |path: &PathBuf| {
        let path = path.strip_prefix(c.workspace).unwrap_or(path);
        path.as_os_str().as_bytes().to_vec()
    };
    let mut spared: Vec<Vec<u8>> = c.exclude.iter().map(relative).collect();
    spared.retain(|path| !path.is_empty());
    spared.push(OWN_DIR.to_vec());
    spared
}
