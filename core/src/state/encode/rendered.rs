//! One record as text, with the digest that the seal is taken over.

use alloc::string::String;

use crate::{
    doc::{self, Node},
    id::{AtomId, Digest},
};

/// Brackets that may follow a record on its last line.
const CLOSING: usize = 3;

#[derive(Debug, Clone)]
pub(super) struct RenderedRecord {
    /// The text, with its key and the blanks before it if it is one of many.
    pub text: String,
    /// Stored inline: the seal is taken over the digests of all records.
    pub digest: [u8; Digest::BYTES],
    /// The values that it holds.
    pub values: usize,
}

impl RenderedRecord {
    /// A record at a key of the top level.
    pub(super) fn of_top(key: &str, node: &Node) -> Self {
        let mut text = String::new();
        doc::write_key(key, &mut text);
        let start = text.len();
        doc::write_filled(node, 0, 1, &mut text);
        Self::of_text(text.split_off(start), node)
    }

    /// A record in a list, or under its id.
    pub(super) fn of_many(id: Option<&AtomId>, node: &Node) -> Self {
        let mut text = String::from("  ");
        if let Some(id) = id {
            doc::write_key(id.as_str(), &mut text);
        }
        doc::write_filled(node, doc::INDENT, CLOSING, &mut text);
        Self::of_text(text, node)
    }

    /// A record of `internal`, on one line.
    pub(super) fn of_internal(key: Option<&str>, node: &Node) -> Self {
        let mut text = String::new();
        if let Some(key) = key {
            text.push_str("  ");
            doc::write_key(key, &mut text);
        }
        doc::write_side_by_side(node, &mut text);
        Self::of_text(text, node)
    }

    fn of_text(text: String, node: &Node) -> Self {
        let digest = Digest::text_of(text.as_bytes());
        let values = node.count();
        Self { text, digest, values }
    }
}
