//! Commits the result of an attempt's tree on its base, then applies that change to the head; no
//! reference moves.

use super::{
    Git, GitError, call::Call, diff, index::PrivateIndex, status::OWN_DIR, trees::SAVED_DIR,
    trees::Tree,
};
use descent_core::{
    event::FILES_MAX,
    id::{CommitId, Digest, TreeId, UnixMillis},
};
use std::{
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

#[derive(Debug, Clone, Copy)]
pub struct Candidate<'a> {
    /// The tree that `checkout` made at `base`.
    pub workspace: &'a Path,
    pub base: &'a CommitId,
    pub message: &'a str,
    /// The date of the commit.
    pub at: UnixMillis,
    /// Paths in the workspace, absolute or relative to it, that are never committed.
    pub exclude: &'a [PathBuf],
}

/// The content of an attempt's tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttemptTree {
    /// `None` if nothing differs from the base.
    pub made: Option<MadeCommit>,
    /// Repositories in it, which no commit can hold.
    pub nested: Vec<String>,
}

/// The output of an attempt: a commit on its base.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MadeCommit {
    pub commit: CommitId,
    /// The files that differ from the base; as many as are named at most.
    pub files: Vec<String>,
    /// The symbolic links among them, each with what it says.
    pub links: Vec<(PathBuf, PathBuf)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Merge {
    Clean {
        commit: CommitId,
        tree: TreeId,
        /// The digest of the change against `base`, whatever it was applied to.
        change: Digest,
        /// The files of the change against `base`.
        files: Vec<String>,
    },
    /// The paths that do not merge.
    Conflict(Vec<String>),
}

/// The base of an attempt's change, its target, and its commit there.
#[derive(Debug, Clone, Copy)]
pub struct LandingSpec<'a> {
    pub base: &'a CommitId,
    pub onto: &'a CommitId,
    pub message: &'a str,
    /// The date of the commit.
    pub at: UnixMillis,
}

impl Git {
    /// The commit on `base` with the files of the workspace.
    ///
    /// Only the files count, whatever the attempt did to its index, its HEAD or its `.git`.
    pub fn candidate(&self, c: &Candidate<'_>) -> Result<AttemptTree, GitError> {
        let tree = &self.tree(c.workspace);
        if !tree.is_whole() {
            tree.record(c.base)?;
        }
        let index = PrivateIndex::new(tree.admin())?;
        let call = |verb| index.of(tree.call(verb));
        let taking = self.changes_in(tree, &index, c.base, c.exclude, &call)?;
        self.refuse_changed_modules(tree, &index)?;
        let nested = taking.left_out.clone();
        if taking.is_empty() {
            return Ok(AttemptTree { made: None, nested });
        }
        self.take(&taking, call)?;
        let tree = TreeId::new(call("write-tree").ok_id()?);
        if tree == self.tree_of(c.base)? {
            return Ok(AttemptTree { made: None, nested });
        }
        let made = MadeCommit {
            commit: self.commit_tree(&tree, c.base, c.message, c.at)?,
            files: taking.named(FILES_MAX),
            links: taking.links(c.workspace),
        };
        Ok(AttemptTree {
            made: Some(made),
            nested,
        })
    }

    /// The change of a commit against its base, as a commit on `onto`; the commit itself if `onto`
    /// is its base.
    pub fn land(&self, made: &CommitId, l: &LandingSpec<'_>) -> Result<Merge, GitError> {
        let change = self.change(l.base, made)?;
        let (commit, tree) = if l.onto == l.base {
            (made.clone(), self.tree_of(made)?)
        } else {
            match self.merge_trees(l.base.as_str(), l.onto, made.as_str())? {
                Ok(tree) => (self.commit_tree(&tree, l.onto, l.message, l.at)?, tree),
                Err(paths) => return Ok(Merge::Conflict(paths)),
            }
        };
        Ok(Merge::Clean {
            commit,
            tree,
            change: diff::digest(&change.files),
            files: diff::names(&change.files),
        })
    }

    /// Refuses changes in a submodule, which no commit of this repository can hold: they are named,
    /// not lost.
    fn refuse_changed_modules(
        &self,
        tree: &Tree<'_>,
        index: &PrivateIndex,
    ) -> Result<(), GitError> {
        let saved = tree.admin().join(SAVED_DIR);
        let paths = self.changed_in_modules(tree.at(), index.path(), &saved)?;
        if paths.is_empty() {
            return Ok(());
        }
        Err(GitError::ModuleChanged { paths })
    }
}

/// Starts from git's index of the checkout, if there is one, else from an empty one.
pub(super) fn fill_from_base<'a>(
    index: &PrivateIndex,
    tree: &Tree<'_>,
    base: &CommitId,
    call: &impl Fn(&'static str) -> Call<'a>,
) -> Result<(), GitError> {
    let known = tree.saved_index(base);
    if let Some(known) = known
        && index.fill_from(&known)?
    {
        return Ok(());
    }
    let call = call("read-tree").id("", base.as_str(), "");
    call.ok().map(drop)
}
    // Nothing would tell which files are outside.
    if tree.is_sparse() {
        return Err(GitError::Odd { verb: "read-tree" });
    }

/// The paths in a workspace that are never committed.
pub(super) fn spared(workspace: &Path, exclude: &[PathBuf]) -> Vec<Vec<u8>> {
    let relative = |path: &PathBuf| {
        let path = path.strip_prefix(workspace).unwrap_or(path);
        path.as_os_str().as_bytes().to_vec()
    };
    let mut spared: Vec<Vec<u8>> = exclude.iter().map(relative).collect();
    spared.retain(|path| !path.is_empty());
    spared.push(OWN_DIR.to_vec());
    spared
}
