//! Commits the result of an attempt's tree on its base, without what `setup` did there, then applies that change to the
//! head; no reference moves. The change can also be laid on another tree of ours, as an uncommitted change of it.
//!
//! The changes by `setup` are an index in the record of the tree, which the next checkout removes. Invariant: a file that
//! `setup` changed, and nothing changed since, is no part of the attempt's change.

use std::{
    collections::BTreeSet,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use descent_core::{
    event::{FILES_MAX, Merge, NotTaken},
    id::{CommitId, TreeId, UnixMillis},
};

use super::{
    Git, GitError,
    call::{Call, as_path, shown},
    diff::{self, PathChange},
    git_disk,
    index::PrivateIndex,
    not_taken::is_in,
    put_files,
    status::{IndexUpdates, OWN_DIR, is_within},
    trees::{SAVED_DIR, Tree},
};
use descent_system::files;

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
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct AttemptTree {
    /// The commit on its base; `None` if nothing differs from that.
    pub commit: Option<CommitId>,
    pub not_taken: NotTaken,
    /// The files that differ from the base; as many as are named at most.
    pub files: Vec<String>,
    /// The symbolic links among them, each with what it says.
    pub links: Vec<(PathBuf, PathBuf)>,
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
        let index = PrivateIndex::new(&tree.admin)?;
        let call = |verb| index.of(tree.call(verb));
        let mut taking = self.changes_in(tree, &index, c.base, c.exclude, &call)?;
        self.take_forced(tree, &mut taking)?;
        // No commit of this repository can hold them.
        let saved = tree.admin.join(SAVED_DIR);
        let paths = self.changed_in_modules(&tree.at, &index.path, &saved)?;
        if !paths.is_empty() {
            return Err(GitError::ModuleChanged { paths });
        }
        let (mut made, mut refused) = (AttemptTree::default(), Vec::new());
        if !taking.is_empty() {
            refused = self.take(&taking, call)?;
            taking.take.retain(|path| !refused.contains(&shown(path)));
            let new = TreeId::new(call("write-tree").ok_id()?);
            if new != self.tree_of(c.base)? {
                made.commit = Some(self.commit_tree(&new, c.base, c.message, c.at)?);
                made.files = taking.named(FILES_MAX);
                made.links = taking.links(c.workspace);
            }
        }
        let commit = made.commit.as_ref().unwrap_or(c.base);
        made.not_taken = self.not_taken(tree, c.base, commit, &taking, refused);
        Ok(made)
    }

    /// The change of a commit against its base, as a commit on `onto`; the commit itself if `onto`
    /// is its base. Which files are protected is not known here.
    pub fn land(&self, made: &CommitId, l: &LandingSpec<'_>) -> Result<Merge, GitError> {
        let changes = self.changes(l.base, made)?;
        let (commit, tree) = if l.onto == l.base {
            (made.clone(), self.tree_of(made)?)
        } else {
            match self.merge_trees(l.base, l.onto, made)? {
                Ok(tree) => (self.commit_tree(&tree, l.onto, l.message, l.at)?, tree),
                Err(paths) => return Ok(Merge::Conflict(paths)),
            }
        };
        let (change, files) = (diff::digest(&changes), diff::names(&changes));
        Ok(Merge::Clean { commit, tree, change, files, protected: Vec::new() })
    }
}

/// Starts from git's index of the checkout, if there is one, else from an empty one.
pub(super) fn fill_from_base<'a>(
    index: &PrivateIndex,
    tree: &Tree<'_>,
    base: &CommitId,
    call: &impl Fn(&'static str) -> Call<'a>,
) -> Result<(), GitError> {
    if index.fill_from(&tree.saved_index(base))? {
        return Ok(());
    }
    call("read-tree").id(base).ok().map(drop)
}

/// The paths in a workspace that are never committed.
pub(super) fn spared(workspace: &Path, exclude: &[PathBuf]) -> Vec<Vec<u8>> {
    let relative = |path: &PathBuf| {
        path.strip_prefix(workspace).unwrap_or(path).as_os_str().as_bytes().to_vec()
    };
    let mut spared: Vec<Vec<u8>> = exclude.iter().map(relative).collect();
    spared.retain(|path| !path.is_empty());
    spared.push(OWN_DIR.to_vec());
    spared
}

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
        let index = PrivateIndex::new(&tree.admin)?;
        let call = |verb| index.of(tree.call(verb));
        let changed = self.changes_in(tree, &index, base, exclude, &call)?;
        if !changed.ignored.is_empty() {
            git_disk::keep_bytes(&tree.admin.join(IGNORED), &changed.ignored.join(&0))?;
        }
        if changed.is_empty() {
            return Ok(());
        }
        self.take(&changed, call)?;
        git_disk::rename(&index.path, &tree.admin.join(AFTER_SETUP))
    }

    /// The paths that differ from the commit that a tree of ours stands at.
    pub(crate) fn files_changed(
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
        let is_set_up = index.fill_from(&tree.admin.join(AFTER_SETUP))?;
        if !is_set_up {
            fill_from_base(index, tree, base, call)?;
        }
        let mut changed = self.changed_since(tree, exclude, call)?;
        let before = files::read(&tree.admin.join(IGNORED), IGNORED_BYTES_MAX);
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
        let status = self.status_of_left(&tree.at, || call("status"), true)?;
        let spared = spared(&tree.at, exclude);
        let mut changed = IndexUpdates::of(&status.entries, &tree.at, &spared);
        let mut paths = status.entries.iter().map(|entry| &entry.path);
        changed.has_own = paths.any(|path| is_within(path, OWN_DIR));
        changed.has_own |= status.ignored.iter().any(|path| is_in(path, OWN_DIR));
        let is_linked = |path: &&Vec<u8>| {
            let mut spared = spared.iter();
            spared.any(|spared| is_in(path, spared) || is_in(spared, path))
        };
        changed.ignored = status.ignored.iter().filter(|path| !is_linked(path)).cloned().collect();
        changed.closed = status.closed;
        Ok(changed)
    }
}

/// The change of a commit against its parent, and the place for it.
#[derive(Debug, Clone, Copy)]
pub struct LaySpec<'a> {
    pub made: &'a CommitId,
    /// Its parent.
    pub base: &'a CommitId,
    pub onto: &'a CommitId,
    /// An existing directory.
    pub scratch: &'a Path,
}

const MESSAGE: &str = "descent: a change without protected paths\n";

impl Git {
    /// The tree of `onto` with the change, but for the paths that are left out; or the paths that conflict.
    pub(crate) fn tree_with(
        &self,
        spec: &LaySpec<'_>,
        is_left_out: impl Fn(&str) -> bool,
    ) -> Result<Result<TreeId, Vec<String>>, GitError> {
        let changes = self.changes(spec.base, spec.made)?;
        let is_left_out = |change: &&PathChange| {
            let names = diff::names(std::slice::from_ref(*change));
            change.has_gitlink() || names.iter().any(|name| is_left_out(name))
        };
        let left_out: Vec<&PathChange> = changes.iter().filter(is_left_out).collect();
        let made =
            if left_out.is_empty() { spec.made.clone() } else { self.without(spec, &left_out)? };
        self.merge_trees(spec.base, spec.onto, &made)
    }

    /// Writes the difference between `onto` and that tree into the tree at `at`, which stands at `onto`. Gives the paths
    /// that are in the way, and writes nothing then.
    pub fn lay(
        &self,
        at: &Path,
        tree: &TreeId,
        spec: &LaySpec<'_>,
    ) -> Result<Vec<String>, GitError> {
        let in_the_way = put_files::in_the_way(at, &self.changes(spec.onto, tree)?);
        if !in_the_way.is_empty() {
            return Ok(in_the_way.iter().map(|path| path.display().to_string()).collect());
        }
        let (here, index) = (self.tree(at), PrivateIndex::new(spec.scratch)?);
        index.fill_from(&here.index())?;
        index.of(here.call("read-tree --reset -u")).attributes_of(tree).id(tree).ok()?;
        Ok(Vec::new())
    }

    /// The commit without its change of these paths.
    fn without(&self, spec: &LaySpec<'_>, left_out: &[&PathChange]) -> Result<CommitId, GitError> {
        let index = PrivateIndex::new(spec.scratch)?;
        let call = |words| index.of(self.call(words));
        call("read-tree").id(spec.made).ok()?;
        let entries = left_out.iter().flat_map(|change| change.old.index_line(&change.path));
        let fill = call("update-index --add --replace -z --index-info");
        fill.stdin(entries.collect::<Vec<u8>>()).ok()?;
        let tree = TreeId::new(call("write-tree").ok_id()?);
        self.commit_tree(&tree, spec.base, MESSAGE, UnixMillis(0))
    }
}
