//! Changes to look at: between two commits, or of a workspace as it is now.
//!
//! Invariant: a look writes nothing that stays. The objects of a workspace's files go into a directory that is removed
//! with the change. Not here: how a change is printed (`export`).

use super::{Git, GitError, alternates::for_variable, call::Call, index::PrivateIndex};
use descent_core::id::{CommitId, TreeId};
use std::{
    ffi::OsString,
    os::unix::ffi::OsStringExt,
    path::{Path, PathBuf},
};

/// The difference of two trees.
#[derive(Debug)]
pub struct Change {
    pub(super) from: String,
    pub(super) to: String,
    /// The objects that only this change has.
    own: Option<OwnObjects>,
}

#[derive(Debug)]
struct OwnObjects {
    /// Its directory holds the objects, and is removed with it.
    _index: PrivateIndex,
    objects: PathBuf,
    borrowed: OsString,
}

impl OwnObjects {
    fn of<'a>(&self, call: Call<'a>) -> Call<'a> {
        call.env("GIT_OBJECT_DIRECTORY", &self.objects)
            .env("GIT_ALTERNATE_OBJECT_DIRECTORIES", &self.borrowed)
    }
}

impl Change {
    pub fn between(base: &CommitId, head: &CommitId) -> Self {
        Self { from: base.to_string(), to: head.to_string(), own: None }
    }

    /// A run that sees the objects of the change.
    pub(super) fn of<'a>(&self, call: Call<'a>) -> Call<'a> {
        match &self.own {
            Some(own) => own.of(call),
            None => call,
        }
    }
}

impl Git {
    /// The commit that a commit was made on; `None` if it has no parent.
    pub fn parent_of(&self, commit: &CommitId) -> Result<Option<CommitId>, GitError> {
        let stored = self.read_commits(std::slice::from_ref(commit))?;
        Ok(stored.into_iter().find_map(|stored| stored.parent))
    }

    /// The change of a workspace against `base`, as its files are now. `None` while the workspace is being made.
    /// `exclude` are paths that are no part of the work, and `scratch` is an existing directory.
    pub fn change_in(
        &self,
        workspace: &Path,
        base: &CommitId,
        exclude: &[PathBuf],
        scratch: &Path,
    ) -> Result<Option<Change>, GitError> {
        let tree = &self.tree(workspace);
        if !tree.is_whole() {
            return Ok(None);
        }
        let index = PrivateIndex::new(scratch)?;
        let at = index.path().to_owned();
        let own = OwnObjects {
            objects: index.make_objects()?,
            borrowed: OsString::from_vec(for_variable(&self.objects())),
            _index: index,
        };
        let call = |verb| own.of(tree.call(verb).index(&at));
        let taking = self.changes_in(tree, &own._index, base, exclude, &call)?;
        self.take(&taking, call)?;
        let now = TreeId::new(call("write-tree").ok_id()?);
        Ok(Some(Change { from: base.to_string(), to: now.to_string(), own: Some(own) }))
    }
}
