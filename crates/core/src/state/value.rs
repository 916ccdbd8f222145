//! How one value of the file is read, written and described, by its type.
//!
//! Not here: the objects that hold them (`table`).

use super::{
    FreeValue, Shared,
    fields::{DurationText, Fields, Findings, pairs_node},
    rule::{AGENT_NAME, ATOM_ID, DURATION, Form},
};
use crate::doc::prelude::*;
use crate::{
    doc::{self, Member, Node},
    id::{
        AgentName, AtomId, AttemptId, CommitId, ConsultId, Digest, Epoch, LessonId, Lineage,
        RequestId, RunId, Serial, TreeId,
    },
};

/// A value that stands at a key, or in a list.
pub trait FieldValue: Sized {
    fn form() -> Form;

    /// An item of a list: `None`, with a fault, where it is none.
    fn read(_node: &Node, _pointer: &str, _found: &mut Findings) -> Option<Self> {
        None
    }

    /// The value of a key: `None` where it is absent, and, with a fault, where it is wrong.
    fn take(fields: &mut Fields<'_, '_>, key: &'static str) -> Option<Self> {
        let node = fields.take(key)?;
        let at = fields.at(key);
        Self::read(node, &at, fields.found)
    }

    fn node(&self) -> Node;

    /// Whether it says nothing, so that its key may be left out.
    fn is_blank(&self) -> bool {
        false
    }
}

/// A whole number from 1 to `most`; any other is a fault of that rule.
pub(in crate::state) fn up_to(
    fields: &mut Fields<'_, '_>,
    key: &'static str,
    most: u32,
    rule: &'static str,
) -> Option<u32> {
    let number = u32::take(fields, key)?;
    let is_within = (1..=most).contains(&number);
    if !is_within {
        let message = format!("`{key}` is a whole number from 1 to {most}");
        fields.fault_at(key, rule, message, None);
    }
    is_within.then_some(number)
}

impl FieldValue for String {
    fn form() -> Form {
        Form::Text
    }

    fn read(node: &Node, pointer: &str, found: &mut Findings) -> Option<Self> {
        let text = node.as_str().map(ToOwned::to_owned);
        if text.is_none() {
            found.wrong_type(pointer, node, "a string");
        }
        text
    }

    fn node(&self) -> Node {
        Node::string(self.as_str())
    }

    fn is_blank(&self) -> bool {
        self.is_empty()
    }
}

/// A value that is read by a method of [`Fields`].
macro_rules! scalar {
    ($($ty:ty: $form:expr, $take:expr, |$value:ident| $node:expr, $blank:expr;)*) => {$(
        impl FieldValue for $ty {
            fn form() -> Form {
                $form
            }

            fn take(fields: &mut Fields<'_, '_>, key: &'static str) -> Option<Self> {
                $take(fields, key)
            }

            fn node(&self) -> Node {
                let $value = self;
                $node
            }

            fn is_blank(&self) -> bool {
                let $value = self;
                $blank
            }
        }
    )*};
}

scalar! {
    bool: Form::Flag, Fields::flag, |flag| Node::bool(*flag), !*flag;
    u64: Form::Count, Fields::count, |count| Node::uint(*count), *count == 0;
    u32: Form::Count, Fields::small, |count| Node::uint(u64::from(*count)), *count == 0;
    i32: Form::Integer, Fields::integer, |code| Node::integer(*code), *code == 0;
    Serial: Form::Count, |fields: &mut Fields<'_, '_>, key| fields.count(key).map(Serial), |serial| Node::uint(serial.0), serial.0 == 0;
    Epoch: Form::Count, |fields: &mut Fields<'_, '_>, key| fields.count(key).map(Epoch), |epoch| Node::uint(epoch.0), epoch.0 == 0;
    AgentName: AGENT_NAME, Fields::agent, |name| Node::string(name.as_str()), name.as_str().is_empty();
    DurationText: DURATION, Fields::length, |length| Node::string(length.as_str()), length.as_str().is_empty();
}

impl FieldValue for FreeValue {
    fn form() -> Form {
        Form::Any
    }

    fn read(node: &Node, _pointer: &str, _found: &mut Findings) -> Option<Self> {
        Some(node.clone())
    }

    fn node(&self) -> Node {
        self.clone()
    }
}

/// Ids are text.
macro_rules! text_ids {
    ($($id:ident: $form:expr),* $(,)?) => {$(
        impl FieldValue for $id {
            fn form() -> Form {
                $form
            }

            fn read(node: &Node, pointer: &str, found: &mut Findings) -> Option<Self> {
                <String as FieldValue>::read(node, pointer, found).map($id::new)
            }

            fn node(&self) -> Node {
                Node::string(self.as_str())
            }

            fn is_blank(&self) -> bool {
                self.as_str().is_empty()
            }
        }
    )*};
}

text_ids! {
    AtomId: ATOM_ID, AttemptId: Form::Text, CommitId: Form::Text, TreeId: Form::Text, Digest: Form::Text,
    RunId: Form::Text, LessonId: Form::Text, ConsultId: Form::Text, RequestId: Form::Text, Lineage: Form::Text,
}

/// Types that serde reads and writes, and that hold no number with a fraction, as values of records.
macro_rules! by_serde {
    ($($ty:ty),* $(,)?) => {$(
        impl $crate::state::value::FieldValue for $ty {
            fn form() -> $crate::state::rule::Form {
                $crate::state::rule::Form::Any
            }

            fn read(
                node: &$crate::doc::Node,
                pointer: &str,
                found: &mut $crate::state::fields::Findings,
            ) -> Option<Self> {
                let read = serde_json::from_str(&$crate::doc::write_compact(node)).ok();
                if read.is_none() {
                    found.wrong_type(pointer, node, "a value of another form");
                }
                read
            }

            fn node(&self) -> $crate::doc::Node {
                $crate::state::value::node_of(self)
            }
        }
    )*};
}

pub(crate) use by_serde;

/// A value as serde writes it.
pub(crate) fn node_of(value: &impl serde::Serialize) -> Node {
    let text = serde_json::to_string(value).unwrap_or_default();
    doc::parse(&text, &doc::Limits::default()).node.unwrap_or_else(Node::null)
}

impl<T: FieldValue> FieldValue for Vec<T> {
    fn form() -> Form {
        Form::List(Box::new(T::form()))
    }

    fn take(fields: &mut Fields<'_, '_>, key: &'static str) -> Option<Self> {
        let items = fields.list(key).into_iter();
        let mut list: Self =
            items.filter_map(|(at, node)| T::read(node, &at, fields.found)).collect();
        list.shrink_to_fit();
        Some(list)
    }

    fn node(&self) -> Node {
        Node::array(self.iter().map(T::node).collect())
    }

    fn is_blank(&self) -> bool {
        self.is_empty()
    }
}

impl FieldValue for BTreeMap<AtomId, AtomId> {
    fn form() -> Form {
        Form::Choices
    }

    fn take(fields: &mut Fields<'_, '_>, key: &'static str) -> Option<Self> {
        let (mut pairs, at) = (Self::new(), fields.at(key));
        let node = fields.take(key);
        let members = node.and_then(Node::as_object);
        if let (Some(node), None) = (node, members) {
            fields.found.wrong_type(&at, node, "an object");
        }
        for Member { key, node, .. } in members.unwrap_or_default() {
            if let Some(choice) = AtomId::read(node, &doc::pointer_push(&at, key), fields.found) {
                pairs.insert(AtomId::new(key.as_str()), choice);
            }
        }
        Some(pairs)
    }

    fn node(&self) -> Node {
        pairs_node(self)
    }

    fn is_blank(&self) -> bool {
        self.is_empty()
    }
}

/// A value behind a pointer is read and written as the value.
macro_rules! pointers {
    ($($pointer:ident),*) => {$(
        impl<T: FieldValue> FieldValue for $pointer<T> {
            fn form() -> Form {
                T::form()
            }

            fn read(node: &Node, pointer: &str, found: &mut Findings) -> Option<Self> {
                T::read(node, pointer, found).map($pointer::from)
            }

            fn take(fields: &mut Fields<'_, '_>, key: &'static str) -> Option<Self> {
                T::take(fields, key).map($pointer::from)
            }

            fn node(&self) -> Node {
                T::node(self)
            }

            fn is_blank(&self) -> bool {
                T::is_blank(self)
            }
        }
    )*};
}

pointers! { Arc, Box, Shared }
