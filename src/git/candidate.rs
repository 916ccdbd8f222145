//! Commits the result of an attempt's tree on its base, then applies that change to the head; no
//! reference moves.

use super::{
    Git, GitError,
    call::{Call, shown},
    diff,
    index::PrivateIndex,
    status::OWN_DIR,
    trees::SAVED_DIR,
    trees::Tree,
};
use descent_core::{
    event::{FILES_MAX, NotTaken},
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
    pub not_taken: NotTaken,
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
    /// Only the files count, whatever the attempt did to its HEAD and its settings; its index tells which ignored ones do.
    pub fn candidate(&self, c: &Candidate<'_>) -> Result<AttemptTree, GitError> {
        let tree = &self.tree(c.workspace);
        if !tree.is_whole() {
            tree.record(c.base)?;
        }
        let index = PrivateIndex::new(tree.admin())?;
        let call = |verb| index.of(tree.call(verb));
        let mut taking = self.changes_in(tree, &index, c.base, c.exclude, &call)?;
        self.heed_own_index(tree, &mut taking)?;
        self.refuse_changed_modules(tree, &index)?;
        let (mut made, mut refused) = (None, Vec::new());
        if !taking.is_empty() {
            refused = self.take(&taking, call)?;
            taking.take.retain(|path| !refused.contains(&shown(path)));
            let new = TreeId::new(call("write-tree").ok_id()?);
            if new != self.tree_of(c.base)? {
                made = Some(MadeCommit {
                    commit: self.commit_tree(&new, c.base, c.message, c.at)?,
                    files: taking.named(FILES_MAX),
                    links: taking.links(c.workspace),
                });
            }
        }
        let commit = made.as_ref().map_or(c.base, |made| &made.commit);
        let not_taken = self.not_taken(tree, c.base, commit, &taking, refused);
        Ok(AttemptTree { made, not_taken })
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
    // Nothing would tell which files are outside.
    if tree.is_sparse() {
        return Err(GitError::Odd { verb: "read-tree" });
    }
    let call = call("read-tree").id("", base.as_str(), "");
    call.ok().map(drop)
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
