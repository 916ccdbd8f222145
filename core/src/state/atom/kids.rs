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
    if let Some(flat) = flat_form(fields, key) {
        let _ = fields.take(key);
        let message = format!("atoms are nested in `{key}`, as only a plan has them");
        fields.fault_at(key, "nested-atoms", message, Some(flat));
        return Vec::new();
    }
    let kids = Vec::take(fields, key).unwrap_or_default();
    let is_list = |node: &Node| node.as_array().is_some_and(<[_]>::is_empty);
    if kids.is_empty() && fields.node.get(key).is_none_or(is_list) {
        let node = fields.node;
        let pointer = fields.pointer.clone();
        no_kids(fields.found, node, &pointer, key);
    }
    kids
}

/// The form of the file for members that are written where they are named.
fn flat_form(fields: &Fields<'_, '_>, key: &str) -> Option<String> {
    let (group, list) = (fields.pointer.rsplit('/').next()?, fields.node.get(key)?);
    let (mut names, mut nested) = (Vec::new(), Vec::new());
    let members = list.as_object().unwrap_or_default().iter();
    nested.extend(members.map(|member| member.key.clone()));
    names.extend_from_slice(&nested);
    for (n, item) in list.as_array().unwrap_or_default().iter().enumerate() {
        let own_id = item.as_str().or_else(|| item.get("id")?.as_str());
        let name = own_id.map_or_else(|| format!("{group}-{}", n + 1), ToOwned::to_owned);
        nested.extend(item.as_object().map(|_| name.clone()));
        names.push(name);
    }
    let quoted = |names: &[String], after: &str| {
        let names = names.iter().map(|name| format!("\"{name}\"{after}"));
        names.collect::<Vec<_>>().join(", ")
    };
    let (names, atoms) = (quoted(&names, ""), quoted(&nested, ": {…}"));
    let flat = || format!("write \"{key}\": [{names}], and beside `{group}`: {atoms}");
    (!nested.is_empty()).then(flat)
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
