//! Writes an object of the lossless tree, key by key.

use alloc::{
    borrow::ToOwned,
    collections::BTreeMap,
    string::{String, ToString},
    vec::Vec,
};

use super::{Extra, Span};
use crate::doc::{Member, Node};

/// One object under writing: keys in the order in which they are put.
#[derive(Debug, Default)]
pub struct Writer(Vec<Member>);

impl Writer {
    pub fn put(&mut self, key: &str, node: Node) -> &mut Self {
        self.0.push(Member { key: key.to_owned(), key_span: Span::default(), node });
        self
    }

    pub fn text(&mut self, key: &str, text: &str) -> &mut Self {
        self.put(key, Node::string(text))
    }

    pub fn text_unless_empty(&mut self, key: &str, text: &str) -> &mut Self {
        if text.is_empty() { self } else { self.text(key, text) }
    }

    pub fn flag_if(&mut self, key: &str, flag: bool) -> &mut Self {
        if flag { self.put(key, Node::bool(true)) } else { self }
    }

    pub fn some(&mut self, key: &str, node: Option<Node>) -> &mut Self {
        match node {
            Some(node) => self.put(key, node),
            None => self,
        }
    }

    pub fn texts_unless_empty<T: AsRef<str>>(&mut self, key: &str, texts: &[T]) -> &mut Self {
        if texts.is_empty() { self } else { self.put(key, texts_node(texts)) }
    }

    /// The object, with the unknown keys at their old places.
    pub fn finish(&mut self, extra: &Extra) -> Node {
        if let Some(whole) = extra.as_it_stood() {
            return whole.clone();
        }
        let mut pieces: Vec<(String, Node)> = core::mem::take(&mut self.0)
            .into_iter()
            .map(|member| (member.key, member.node))
            .collect();
        extra.weave(&mut pieces, Node::clone);
        Node::object(pieces)
    }
}

pub fn texts_node<T: AsRef<str>>(texts: &[T]) -> Node {
    Node::array(texts.iter().map(|text| Node::string(text.as_ref())).collect())
}

pub fn pairs_node<K: ToString, V: ToString>(pairs: &BTreeMap<K, V>) -> Node {
    Node::object(
        pairs
            .iter()
            .map(|(key, value)| (key.to_string(), Node::string(value.to_string())))
            .collect(),
    )
}
