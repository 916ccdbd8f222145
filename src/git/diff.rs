//! The difference of two trees, as data: modes, ids and paths, byte for byte.

use super::{
    Git, GitError,
    call::{Call, as_id, fields, shown},
    status::GITLINK,
};
use descent_core::id::{CommitId, Digest, TreeId};
use std::{
    collections::{HashSet, VecDeque},
    sync::{Arc, Mutex},
};

/// The mode of a directory.
const TREE: &[u8] = b"040000";

/// One path that differs. A mode of zeros means that the path does not exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PathChange {
    pub(super) old: Side,
    pub(super) new: Side,
    pub(super) path: Vec<u8>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Side {
    pub(super) mode: Vec<u8>,
    pub(super) id: Vec<u8>,
}

impl Side {
    pub(super) fn is_absent(&self) -> bool {
        self.mode == b"000000"
    }
}

impl PathChange {
    fn is_of_directory(&self) -> bool {
        self.old.mode == TREE || self.new.mode == TREE
    }

    pub(super) fn has_gitlink(&self) -> bool {
        self.old.mode == GITLINK || self.new.mode == GITLINK
    }
}

/// `call` is a `diff-tree` or `diff-index` without its trees.
pub(super) fn raw(call: Call<'_>) -> Call<'_> {
    call.args(["-r", "-z", "--raw", "--no-abbrev", "--no-renames", "--no-ext-diff"])
        .args(["--no-textconv", "--ignore-submodules=none"])
}

pub(super) fn parse(verb: &'static str, output: &[u8]) -> Result<Vec<PathChange>, GitError> {
    let odd = || GitError::Odd { verb };
    let mut output = fields(output);
    let mut changes = Vec::new();
    while let Some(columns) = output.next() {
        let columns = columns.strip_prefix(b":").ok_or_else(odd)?;
        let columns: Vec<&[u8]> = columns.split(|byte| *byte == b' ').collect();
        let [old_mode, new_mode, old_id, new_id, _] = columns[..] else {
            return Err(odd());
        };
        let side = |mode: &[u8], id: &[u8]| Side { mode: mode.to_vec(), id: id.to_vec() };
        changes.push(PathChange {
            old: side(old_mode, old_id),
            new: side(new_mode, new_id),
            path: output.next().ok_or_else(odd)?.to_vec(),
        });
    }
    changes.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(changes)
}

/// From one commit or tree to another; `call` is a `diff-tree`.
pub(super) fn of_trees(call: Call<'_>, from: &str, to: &str) -> Result<Vec<PathChange>, GitError> {
    let call = raw(call).id("", from, "^{tree}").id("", to, "^{tree}");
    parse("diff-tree", &call.arg("--").ok()?)
}

/// The digest of a change, whatever it starts from: mode, path and new id of each path.
pub(super) fn digest(changes: &[PathChange]) -> Digest {
    let mut bytes = Vec::new();
    for change in changes {
        for (part, end) in [(&change.new.mode, b' '), (&change.new.id, b' '), (&change.path, 0)] {
            bytes.extend_from_slice(part);
            bytes.push(end);
        }
    }
    Digest::of(&bytes)
}

impl Git {
    /// The paths in which two trees differ, in order.
    pub fn paths_between(&self, old: &TreeId, new: &TreeId) -> Result<Vec<String>, GitError> {
        let changes = of_trees(self.call("diff-tree"), old.as_str(), new.as_str())?;
        Ok(names(&changes))
    }
}

/// The change from one commit to another.
#[derive(Debug)]
pub(super) struct CommitChange {
    /// The paths of files, in order.
    pub(super) files: Vec<PathChange>,
    directories: Vec<PathChange>,
}

impl CommitChange {
    /// The objects that only the new side has.
    pub(super) fn objects(&self) -> Vec<String> {
        let all = || self.files.iter().chain(&self.directories);
        let old: HashSet<&[u8]> = all().map(|change| &*change.old.id).collect();
        let new = all().map(|change| &change.new);
        new.filter(|new| !new.is_absent() && new.mode != GITLINK && !old.contains(&*new.id))
            .filter_map(|new| as_id(&new.id))
            .collect()
    }
}

/// Changes between commits, which never change. An attempt's is asked for when it is kept and when it is landed.
#[derive(Debug, Default)]
pub(super) struct KnownChanges(Mutex<VecDeque<(CommitId, CommitId, Arc<CommitChange>)>>);

/// How many are known at most: those of attempts that are about to land.
const KNOWN_MAX: usize = 16;

impl KnownChanges {
    fn get(&self, from: &CommitId, to: &CommitId) -> Option<Arc<CommitChange>> {
        let known = self.0.lock().ok()?;
        let found = known.iter().find(|(old, new, _)| (old, new) == (from, to));
        found.map(|(_, _, change)| Arc::clone(change))
    }

    fn put(&self, from: &CommitId, to: &CommitId, change: &Arc<CommitChange>) {
        if let Ok(mut known) = self.0.lock() {
            known.truncate(KNOWN_MAX - 1);
            known.push_front((from.clone(), to.clone(), Arc::clone(change)));
        }
    }
}

impl Git {
    /// The change from the tree of one commit to that of another.
    pub(super) fn change(
        &self,
        from: &CommitId,
        to: &CommitId,
    ) -> Result<Arc<CommitChange>, GitError> {
        if let Some(known) = self.known_changes().get(from, to) {
            return Ok(known);
        }
        let call = raw(self.call("diff-tree").args(["--no-commit-id", "-t"]));
        let call = call.id("", from.as_str(), "^{tree}");
        let output = call.id("", to.as_str(), "^{tree}").arg("--").ok()?;
        let (directories, files) =
            parse("diff-tree", &output)?.into_iter().partition(PathChange::is_of_directory);
        let change = Arc::new(CommitChange { files, directories });
        self.known_changes().put(from, to, &change);
        Ok(change)
    }
}

pub(super) fn names(changes: &[PathChange]) -> Vec<String> {
    changes.iter().map(|change| shown(&change.path)).collect()
}
