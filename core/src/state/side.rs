//! Side files: long evidence that lies beside the state under its digest, while the state holds an excerpt of it.
//!
//! Invariant: a side file is evidence alone. Nothing is decided by one, so its loss costs nothing else. A reference
//! that cannot be read is ignored. Not here: their place and lifetime (the shell).

use alloc::{collections::BTreeSet, string::String, vec::Vec};

use super::{FreeValue, State, Task, TryEnd};
use crate::{doc::Node, id::Digest};

/// The key of a reference, beside the excerpt.
pub const KEY: &str = "whole";
const PREFIX: &str = "sha256:";
const HEX_CHARS: usize = 64;

/// The name of a side file, and its length.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct SideFile {
    pub digest: Digest,
    pub bytes: u64,
}

/// The path of a side file, if it exists.
pub type LiesAt<'a> = &'a dyn Fn(&SideFile) -> Option<String>;

impl SideFile {
    pub fn of(bytes: &[u8]) -> Self {
        Self {
            digest: Digest::of(bytes),
            bytes: bytes.len() as u64,
        }
    }

    pub fn node(&self) -> Node {
        Node::object(Vec::from([
            ("digest", Node::string(self.digest.as_str())),
            ("bytes", Node::uint(self.bytes)),
        ]))
    }

    pub fn read(node: &Node) -> Option<Self> {
        let digest = node.get("digest").and_then(Node::as_str)?;
        hex_of(digest)?;
        Some(Self {
            digest: Digest::new(digest),
            bytes: node.get("bytes").and_then(Node::as_u64)?,
        })
    }

    /// The side file of which a failure or a piece of evidence shows an excerpt.
    pub fn beside(record: &Node) -> Option<Self> {
        Self::read(record.get(KEY)?)
    }
}

/// The digits of a digest, which become the name of a file: a person may have written anything.
pub fn hex_of(digest: &str) -> Option<&str> {
    let hex = digest.strip_prefix(PREFIX)?;
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    (hex.len() == HEX_CHARS && hex.bytes().all(is_digit)).then_some(hex)
}

/// All side files that a state names.
pub fn named_by(state: &State) -> BTreeSet<Digest> {
    let mut named = BTreeSet::new();
    for entry in state.trail.iter() {
        in_record(&entry.node, &mut named);
    }
    for binding in state.bindings.values() {
        in_list(&binding.evidence, &mut named);
    }
    let tasks = state
        .all_atoms()
        .into_values()
        .filter_map(|atom| atom.task());
    for result in tasks.flat_map(parked) {
        in_list(&result.evidence, &mut named);
    }
    if let Some(last) = &state.run.last_result {
        in_record(last, &mut named);
        let failed = last.get("failed").and_then(Node::as_array);
        failed
            .unwrap_or_default()
            .iter()
            .for_each(|one| in_record(one, &mut named));
    }
    named
}

fn parked(task: &Task) -> impl Iterator<Item = &super::Binding> {
    task.tries.iter().filter_map(|tried| match &tried.ended {
        Some(TryEnd::Parked(result)) => Some(&**result),
        Some(TryEnd::Failed(_)) | None => None,
    })
}

/// Adds the side files of a record and of its evidence.
fn in_record(record: &Node, named: &mut BTreeSet<Digest>) {
    named.extend(SideFile::beside(record).map(|one| one.digest));
    let evidence = record.get("evidence").and_then(Node::as_array);
    in_list(evidence.unwrap_or_default(), named);
}

fn in_list(evidence: &[FreeValue], named: &mut BTreeSet<Digest>) {
    let all = evidence.iter().filter_map(SideFile::beside);
    named.extend(all.map(|one| one.digest));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_comes_back_as_it_was_written() {
        let one = SideFile::of(b"what was printed");
        assert_eq!(SideFile::read(&one.node()), Some(one));
    }

    #[test]
    fn what_is_no_digest_names_no_file() {
        let whole = SideFile::of(b"x").digest;
        let upper = whole.as_str().to_uppercase();
        for digest in [
            "",
            "sha256:",
            "sha256:../../etc/passwd",
            "sha256:ab",
            &upper,
        ] {
            let node = Node::object(Vec::from([
                ("digest", Node::string(digest)),
                ("bytes", Node::uint(1)),
            ]));
            assert_eq!(SideFile::read(&node), None, "{digest}");
        }
    }
}
