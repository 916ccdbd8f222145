//! The difference of two trees, as data: modes, ids and paths, byte for byte.

use super::{
    Git, GitError,
    call::{Call, fields, shown},
    status::GITLINK,
};
use descent_core::id::{Digest, TreeId};

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
    pub(super) fn has_gitlink(&self) -> bool {
        self.old.mode == GITLINK || self.new.mode == GITLINK
    }
}

/// `call` is a `diff-tree` or `diff-index` without its trees.
pub(super) fn raw(call: Call<'_>) -> Call<'_> {
    call.args([
        "-r",
        "-z",
        "--raw",
        "--no-abbrev",
        "--no-renames",
        "--no-ext-diff",
    ])
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
        let side = |mode: &[u8], id: &[u8]| Side {
            mode: mode.to_vec(),
            id: id.to_vec(),
        };
        changes.push(PathChange {
            old: side(old_mode, old_id),
            new: side(new_mode, new_id),
            path: output.next().ok_or_else(odd)?.to_vec(),
        });
    }
    changes.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(changes)
}

/// The digest of a change, whatever it starts from: mode, path and new id of each path.
pub(super) fn digest(changes: &[PathChange]) -> Digest {
    let mut bytes = Vec::new();
    for change in changes {
        for (part, end) in [
            (&change.new.mode, b' '),
            (&change.new.id, b' '),
            (&change.path, 0),
        ] {
            bytes.extend_from_slice(part);
            bytes.push(end);
        }
    }
    Digest::of(&bytes)
}

impl Git {
    /// The paths in which two trees differ, in order.
    pub fn paths_between(&self, old: &TreeId, new: &TreeId) -> Result<Vec<String>, GitError> {
        let call = raw(self.call("diff-tree"));
        let call = call.id("", old.as_str(), "").id("", new.as_str(), "");
        Ok(names(&parse("diff-tree", &call.arg("--").ok()?)?))
    }
}

pub(super) fn names(changes: &[PathChange]) -> Vec<String> {
    changes.iter().map(|change| shown(&change.path)).collect()
}
