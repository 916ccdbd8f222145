//! Side files: long evidence that lies beside the state under its digest, while the state holds an excerpt of it.
//!
//! Invariant: a side file is evidence alone. Nothing is decided by one, so its loss costs nothing else. A reference
//! that cannot be read is ignored. Not here: their place and lifetime (the shell).

use super::{fields::Fields, rule::Form, value::FieldValue};
use crate::doc::prelude::*;
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
        Self { digest: Digest::sha256(bytes), bytes: bytes.len() as u64 }
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
        Some(Self { digest: Digest::new(digest), bytes: node.get("bytes").and_then(Node::as_u64)? })
    }

    /// The side file of which a failure or a piece of evidence shows an excerpt.
    pub fn named_in(record: &Node) -> Option<Self> {
        Self::read(record.get(KEY)?)
    }
}

impl FieldValue for SideFile {
    fn form() -> Form {
        Form::Any
    }

    fn take(fields: &mut Fields<'_, '_>, key: &'static str) -> Option<Self> {
        fields.take(key).and_then(SideFile::read)
    }

    fn node(&self) -> Node {
        SideFile::node(self)
    }
}

/// The digits of a digest, which become the name of a file: a person may have written anything.
pub fn hex_of(digest: &str) -> Option<&str> {
    let hex = digest.strip_prefix(PREFIX)?;
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    (hex.len() == HEX_CHARS && hex.bytes().all(is_digit)).then_some(hex)
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
        for digest in ["", "sha256:", "sha256:../../etc/passwd", "sha256:ab", &upper] {
            let node = Node::object(Vec::from([
                ("digest", Node::string(digest)),
                ("bytes", Node::uint(1)),
            ]));
            assert_eq!(SideFile::read(&node), None, "{digest}");
        }
    }
}
