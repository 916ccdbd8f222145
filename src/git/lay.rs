//! Lays the change of a commit on another one, as files of a tree of ours that stands there.
//!
//! Invariant: no commit, reference or index of the tree changes: what is laid is an uncommitted change of it.

use super::{
    Git, GitError,
    diff::{self, PathChange},
    index::PrivateIndex,
    place,
};
use descent_core::id::{CommitId, TreeId, UnixMillis};
use std::path::Path;

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
    pub fn tree_with(
        &self,
        spec: &LaySpec<'_>,
        is_left_out: impl Fn(&str) -> bool,
    ) -> Result<Result<TreeId, Vec<String>>, GitError> {
        let changes = self.changes(spec.base.as_str(), spec.made.as_str())?;
        let is_left_out = |change: &&PathChange| {
            let names = diff::names(std::slice::from_ref(*change));
            change.has_gitlink() || names.iter().any(|name| is_left_out(name))
        };
        let left_out: Vec<&PathChange> = changes.iter().filter(is_left_out).collect();
        let made =
            if left_out.is_empty() { spec.made.clone() } else { self.without(spec, &left_out)? };
        self.merge_trees(spec.base.as_str(), spec.onto, made.as_str())
    }

    /// Writes the difference between `onto` and that tree into the tree at `at`, which stands at `onto`. Gives the paths
    /// that are in the way, and writes nothing then.
    pub fn lay(
        &self,
        at: &Path,
        tree: &TreeId,
        spec: &LaySpec<'_>,
    ) -> Result<Vec<String>, GitError> {
        let changes = self.changes(spec.onto.as_str(), tree.as_str())?;
        let in_the_way = place::in_the_way(at, &changes);
        if !in_the_way.is_empty() {
            let shown = in_the_way.iter().map(|path| path.display().to_string());
            return Ok(shown.collect());
        }
        let index = PrivateIndex::new(spec.scratch)?;
        let ready = tempfile::tempdir_in(spec.scratch).map_err(GitError::io(spec.scratch))?;
        let files = ready.path().canonicalize();
        let files = files.map_err(GitError::io(spec.scratch))?;
        let mut prefix = std::ffi::OsString::from("--prefix=");
        prefix.push(&files);
        prefix.push("/");
        let here = self.tree(at);
        let call = |verb| index.of(here.call(verb));
        let new = changes.iter().filter(|change| !change.new.is_absent());
        let entries: Vec<u8> =
            new.clone().flat_map(|change| entry(&change.new, &change.path)).collect();
        let fill = call("update-index").args(["-z", "--index-info"]);
        fill.stdin(entries).ok()?;
        call("checkout-index")
            .attributes_of(tree.as_str())
            .arg(prefix)
            .args(["-f", "-q", "-z", "--stdin"])
            .stdin_paths(new.map(|change| &change.path))
            .ok()?;
        place::put(at, &files, &changes.iter().collect::<Vec<_>>())?;
        Ok(Vec::new())
    }

    /// The commit without its change of these paths.
    fn without(&self, spec: &LaySpec<'_>, left_out: &[&PathChange]) -> Result<CommitId, GitError> {
        let index = PrivateIndex::new(spec.scratch)?;
        let call = |verb| index.of(self.call(verb));
        call("read-tree").id("", spec.made.as_str(), "").ok()?;
        let entries = left_out.iter();
        let entries: Vec<u8> =
            entries.flat_map(|change| entry(&change.old, &change.path)).collect();
        let fill = call("update-index").args(["--add", "--replace", "-z", "--index-info"]);
        fill.stdin(entries).ok()?;
        let tree = TreeId::new(call("write-tree").ok_id()?);
        self.commit_tree(&tree, spec.base, MESSAGE, UnixMillis(0))
    }

    fn changes(&self, from: &str, to: &str) -> Result<Vec<PathChange>, GitError> {
        diff::of_trees(self.call("diff-tree"), from, to)
    }
}

/// A line for `update-index --index-info`; that of an absent file removes it.
fn entry(side: &diff::Side, path: &[u8]) -> Vec<u8> {
    [&side.mode, &b" "[..], &side.id, b"\t", path, b"\0"].concat()
}
