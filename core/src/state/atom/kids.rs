//! Values of an atom that have a form of their own: the members of a group, its checks, its action.

use alloc::{borrow::ToOwned, format, string::String, vec::Vec};

use crate::{
    doc::{self, Node},
    id::AtomId,
    state::{
        Check,
        fields::{Fields, Findings},
        value::FieldValue,
    },
};

pub(super) fn kids(fields: &mut Fields<'_, '_>, key: &'static str) -> Vec<AtomId> {
    let kids = Vec::take(fields, key).unwrap_or_default();
    let is_list = |node: &Node| node.as_array().is_some_and(<[_]>::is_empty);
    if kids.is_empty() && fields.node.get(key).is_none_or(is_list) {
        let node = fields.node;
        let pointer = fields.pointer.clone();
        no_kids(fields.found, node, &pointer, key);
    }
    kids
}

/// A group without parts or choices, at the list or, where there is none, at the group.
pub(super) fn no_kids(found: &mut Findings, group: &Node, pointer: &str, key: &str) {
    let (at, span) = match group.get(key) {
        Some(list) => (doc::pointer_push(pointer, key), list.span),
        None => (pointer.to_owned(), group.span),
    };
    let hint = Some("name at least one atom, or remove the group".to_owned());
    let message = format!("a group without {key}");
    found.fault("empty-group", (&at, span), message, hint);
}

/// The form of an action, for a value that is none.
pub(super) fn form_of_action(node: &Node) -> Option<String> {
    node.as_str().map(|_| "write `action: {run: …}`".to_owned())
}

/// How much a person may say to an atom.
pub const GUIDANCE_MAX: usize = 20;
pub const GUIDANCE_CHARS_MAX: usize = 4_000;

pub(super) fn guidance(fields: &mut Fields<'_, '_>, key: &'static str) -> Option<Vec<String>> {
    let words: Vec<String> = Vec::take(fields, key)?;
    let count = words.len();
    if count > GUIDANCE_MAX {
        let message = format!("{count} pieces of guidance, the limit is {GUIDANCE_MAX}");
        let hint = Some("say in one what several say".to_owned());
        fields.fault_at(key, "too-many", message, hint);
    }
    let longest = words.iter().map(|one| one.chars().count()).max();
    if let Some(longest) = longest.filter(|longest| *longest > GUIDANCE_CHARS_MAX) {
        let message =
            format!("guidance of {longest} characters, the limit is {GUIDANCE_CHARS_MAX}");
        let hint = Some("put the rest into a file of the project, and name that file".to_owned());
        fields.fault_at(key, "too-large", message, hint);
    }
    Some(words)
}

/// An atom may write `{"all": []}` to have no checks.
pub(super) fn own_checks(fields: &mut Fields<'_, '_>, key: &'static str) -> Option<Check> {
    let all = fields.take(key)?.get("all").and_then(Node::as_array);
    if all.is_some_and(<[_]>::is_empty) {
        return None;
    }
    Check::take(fields, key)
}
