//! The changes by `setup` in an attempt's tree, apart from those by the attempt.
//!
//! They are an index in the record of the tree, which the next checkout removes. Invariant: a file that `setup` changed, and
//! nothing changed since, is no part of the attempt's change.

use super::{
    Git, GitError,
    call::{Call, as_path},
    candidate::{fill_from_base, spared},
    disk,
    index::PrivateIndex,
    not_taken::is_in,
    status::{IndexUpdates, OWN_DIR, is_within},
    trees::Tree,
};
use crate::files;
use descent_core::id::CommitId;
use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

/// The index as `setup` left the tree; it is missing if `setup` changed nothing that counts.
const AFTER_SETUP: &str = "descent-after-setup";
/// The ignored paths that `setup` left, each with a NUL.
const IGNORED: &str = "descent-ignored-after-setup";
const IGNORED_BYTES_MAX: u64 = 64 << 20;

impl Git {
    /// Notes what `setup` changed in a workspace at `base`. Paths in `exclude` count as the attempt's.
    pub fn note_setup(
        &self,
        workspace: &Path,
        base: &CommitId,
        exclude: &[PathBuf],
    ) -> Result<(), GitError> {
        let tree = &self.tree(workspace);
        let index = PrivateIndex::new(tree.admin())?;
        let call = |verb| index.of(tree.call(verb));
        let changed = self.changes_in(tree, &index, base, exclude, &call)?;
        if !changed.ignored.is_empty() {
            disk::keep_bytes(&tree.admin().join(IGNORED), &changed.ignored.join(&0))?;
        }
        if changed.is_empty() {
            return Ok(());
        }
        self.take(&changed, call)?;
        disk::rename(index.path(), &tree.admin().join(AFTER_SETUP))
    }

    /// The paths that differ from the commit that a tree of ours stands at.
    pub fn files_changed(
        &self,
        workspace: &Path,
        exclude: &[PathBuf],
    ) -> Result<Vec<PathBuf>, GitError> {
        let tree = &self.tree(workspace);
        let changed = self.changed_since(tree, exclude, &|verb| tree.call(verb))?;
        let paths = changed.take.iter().chain(&changed.remove);
        let paths: BTreeSet<PathBuf> = paths.map(|path| as_path(path).to_owned()).collect();
        Ok(paths.into_iter().collect())
    }

    /// Fills the index from `base`, and gives what an attempt changed: all that differs from `base`, but for what `setup`
    /// did.
    pub(super) fn changes_in<'a>(
        &self,
        tree: &Tree<'_>,
        index: &PrivateIndex,
        base: &CommitId,
        exclude: &[PathBuf],
        call: &impl Fn(&'static str) -> Call<'a>,
    ) -> Result<IndexUpdates, GitError> {
        let is_set_up = index.fill_from(&tree.admin().join(AFTER_SETUP))?;
        if !is_set_up {
            fill_from_base(index, tree, base, call)?;
        }
        let mut changed = self.changed_since(tree, exclude, call)?;
        let before = files::read(&tree.admin().join(IGNORED), IGNORED_BYTES_MAX);
        let before = before.unwrap_or_default();
        let before: BTreeSet<&[u8]> = before.split(|byte| *byte == 0).collect();
        changed.ignored.retain(|path| !before.contains(&path[..]));
        if is_set_up {
            fill_from_base(index, tree, base, call)?;
        }
        Ok(changed)
    }

    fn changed_since<'a>(
        &self,
        tree: &Tree<'_>,
        exclude: &[PathBuf],
        call: &impl Fn(&'static str) -> Call<'a>,
    ) -> Result<IndexUpdates, GitError> {
        let status = self.status_of_left(tree.at(), || call("status"), true)?;
        let spared = spared(tree.at(), exclude);
        let mut changed = IndexUpdates::of(&status.entries, tree.at(), &spared);
        let mut paths = status.entries.iter().map(|entry| &entry.path);
        changed.has_own = paths.any(|path| is_within(path, OWN_DIR));
        changed.has_own |= status.ignored.iter().any(|path| is_in(path, OWN_DIR));
        let is_linked = |path: &&Vec<u8>| {
            let mut spared = spared.iter();
            spared.any(|spared| is_in(path, spared) || is_in(spared, path))
        };
        let ignored = status.ignored.iter().filter(|path| !is_linked(path));
        changed.ignored = ignored.cloned().collect();
        changed.closed = status.closed;
        changed.passed_over = status.ignored.into_iter().chain(spared).collect();
        Ok(changed)
    }
}
