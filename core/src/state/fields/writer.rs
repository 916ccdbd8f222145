//! Writes an object of the lossless tree, key by key.

use alloc::{
    borrow::ToOwned,
    collections::BTreeMap,
    string::{String, ToString},
    vec::Vec,
};

use super::{Extra, INTERNAL, Span};
use crate::{
    doc::{Member, Node, Value},
    state::rule::Owner,
};

/// One object under writing: keys in the order in which they are put.
#[derive(Debug, Default)]
pub struct Writer {
    members: Vec<Member>,
    /// The half in `internal`; none while all of the record is written as one object.
    internal: Option<Vec<Member>>,
    is_internal: bool,
}

/// A record in the file: the half for people, and the one in `internal`, if it has any.
#[derive(Debug)]
pub struct Halves {
    pub shown: Node,
    pub internal: Option<Node>,
}

impl Writer {
    pub(crate) fn of_halves() -> Self {
        Self { internal: Some(Vec::new()), ..Self::default() }
    }

    pub(crate) fn is_in_halves(&self) -> bool {
        self.internal.is_some()
    }

    /// Writes keys of `owner`.
    pub(crate) fn owned(&mut self, owner: Owner, write: impl FnOnce(&mut Self)) -> &mut Self {
        let before = self.is_internal;
        self.is_internal |= owner == Owner::Internal;
        write(self);
        self.is_internal = before;
        self
    }

    pub fn put(&mut self, key: &str, node: Node) -> &mut Self {
        let half = self.internal.as_mut().filter(|_| self.is_internal);
        let member = Member { key: key.to_owned(), key_span: Span::default(), node };
        half.unwrap_or(&mut self.members).push(member);
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
        let mut pieces: Vec<(String, Node)> = core::mem::take(&mut self.members)
            .into_iter()
            .map(|member| (member.key, member.node))
            .collect();
        extra.weave(&mut pieces, Node::clone);
        if !self.is_in_halves() && !extra.internal().is_empty() {
            pieces.push((INTERNAL.to_owned(), Value::Object(extra.internal().to_vec()).into()));
        }
        Node::object(pieces)
    }

    /// Both halves; unknown keys of the first are the person's.
    pub fn finish_halves(&mut self, extra: &Extra) -> Halves {
        let shown = self.finish(extra);
        let mut members = self.internal.take().unwrap_or_default();
        members.retain(|own| extra.internal().iter().all(|other| other.key != own.key));
        members.extend(extra.internal().iter().cloned());
        let internal = (!members.is_empty()).then(|| Value::Object(members).into());
        Halves { shown, internal }
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
