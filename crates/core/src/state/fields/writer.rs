//! Writes an object of the lossless tree, key by key.

use super::{INTERNAL, Span};
use crate::doc::prelude::*;
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
        let before = self.enter(owner);
        write(self);
        self.leave(before);
        self
    }

    /// Begins to write keys of `owner`, until [`Writer::leave`].
    pub(crate) fn enter(&mut self, owner: Owner) -> bool {
        let before = self.is_internal;
        self.is_internal |= owner == Owner::Internal;
        before
    }

    pub(crate) fn leave(&mut self, before: bool) {
        self.is_internal = before;
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

/// The unread parts of one record, each with the key before it. They are unknown keys, and values of known keys that
/// only a newer version knows.
///
/// Nearly all records have none, and there are many records, so this takes one word.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Extra(Option<Box<UnknownKeys>>);

#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct UnknownKeys {
    pub(super) keys: Vec<UnknownKey>,
    /// Members of the half in `internal`.
    pub(super) internal: Vec<Member>,
    /// A record of unknown kind, as it is.
    whole: Option<Node>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct UnknownKey {
    pub(super) after: Option<String>,
    pub(super) key: String,
    pub(super) node: Node,
    /// Whether only its value is unknown.
    pub(super) is_known: bool,
}

impl UnknownKeys {
    pub(super) fn into_extra(self) -> Extra {
        let is_nothing = self.keys.is_empty() && self.internal.is_empty() && self.whole.is_none();
        Extra((!is_nothing).then(|| Box::new(self)))
    }
}

impl Extra {
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    fn keys(&self) -> &[UnknownKey] {
        self.0.as_ref().map_or(&[], |carried| &carried.keys)
    }

    pub(super) fn internal(&self) -> &[Member] {
        self.0.as_ref().map_or(&[], |carried| &carried.internal)
    }

    pub(super) fn as_it_stood(&self) -> Option<&Node> {
        self.0.as_ref()?.whole.as_ref()
    }

    /// The unread value of a key: of an unknown key, or of a known one with an unknown value.
    pub fn get(&self, key: &str) -> Option<&Node> {
        Some(&self.keys().iter().find(|carried| carried.key == key)?.node)
    }

    /// Puts a key that the program does not read first, unless it is there.
    pub fn put_first(&mut self, key: &str, node: Node) {
        if self.get(key).is_none() {
            let key = UnknownKey { after: None, key: key.into(), node, is_known: false };
            self.0.get_or_insert_default().keys.insert(0, key);
        }
    }

    /// Merges the unread parts of two readings of one record, in the order and the places of the second; `value`
    /// decides each. Only a person changes a record of an unknown kind, so the second's stays.
    pub fn merged(ours: &Self, theirs: &Self, mut value: impl FnMut(&str) -> Option<Node>) -> Self {
        let of_ours = ours.keys().iter().filter(|one| theirs.get(&one.key).is_none());
        let keys = theirs.keys().iter().chain(of_ours);
        let keys =
            keys.filter_map(|one| Some(UnknownKey { node: value(&one.key)?, ..one.clone() }));
        let merged = UnknownKeys {
            keys: keys.collect(),
            internal: ours.internal().to_vec(),
            whole: theirs.as_it_stood().cloned(),
        };
        merged.into_extra()
    }

    /// For a record that is written back as it is.
    pub fn whole(node: &Node, internal: Option<&Node>) -> Self {
        let internal = internal.and_then(Node::as_object).unwrap_or_default().to_vec();
        let whole = Some(node.clone());
        UnknownKeys { whole, internal, ..UnknownKeys::default() }.into_extra()
    }

    /// Puts the unknown keys and values at their old places among `pieces`.
    pub fn weave<T>(&self, pieces: &mut Vec<(String, T)>, make: impl Fn(&Node) -> T) {
        for kept in self.keys().iter().filter(|one| one.is_known) {
            let place = |key: &String| pieces.iter().position(|(known, _)| known == key);
            if let Some(index) = place(&kept.key) {
                pieces[index].1 = make(&kept.node);
            } else {
                let after = kept.after.as_ref().map(place);
                let index = after.map_or(0, |after| after.map_or(pieces.len(), |at| at + 1));
                pieces.insert(index, (kept.key.clone(), make(&kept.node)));
            }
        }
        let mut at_end = 0;
        for unknown in self.keys().iter().rev().filter(|one| !one.is_known) {
            let after =
                unknown.after.as_ref().map(|after| pieces.iter().position(|(key, _)| key == after));
            let place = match after {
                None => 0,
                Some(Some(index)) => index + 1,
                // The key before it is no longer written: it goes to the end, in order.
                Some(None) => {
                    at_end += 1;
                    pieces.len() + 1 - at_end
                }
            };
            pieces.insert(place, (unknown.key.clone(), make(&unknown.node)));
        }
    }
}
