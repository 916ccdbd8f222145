//! A value in short, by its schema: required keys first, long texts and lists by their beginning.
//!
//! Invariant: what is left out is told in its place.

use alloc::{
    format,
    string::{String, ToString},
    vec::Vec,
};

use crate::doc::{Member, Node, Value};

/// Characters of a text, items of a list, and containers inside one another.
const TEXT_CHARS_MAX: usize = 200;
const ITEMS_MAX: usize = 3;
const DEPTH_MAX: usize = 3;

/// A text of at most 200 characters.
pub(super) fn short(text: &str) -> String {
    match text.char_indices().nth(TEXT_CHARS_MAX) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_string(),
    }
}

pub(super) fn shortened(value: &Node, schema: Option<&Node>) -> Node {
    inside(value, schema, 1)
}

fn inside(value: &Node, schema: Option<&Node>, depth: usize) -> Node {
    match &value.value {
        Value::String(text) => Node::string(short(text)),
        Value::Array(items) if depth > DEPTH_MAX => left_out(items.len(), "items"),
        Value::Object(members) if depth > DEPTH_MAX => left_out(members.len(), "keys"),
        Value::Array(items) => {
            let of_items = schema.and_then(|schema| schema.get("items"));
            let shown = items.iter().take(ITEMS_MAX);
            let mut shown: Vec<Node> =
                shown.map(|item| inside(item, of_items, depth + 1)).collect();
            if items.len() > ITEMS_MAX {
                shown.push(Node::string(format!("… {} in all", items.len())));
            }
            Node::array(shown)
        }
        Value::Object(members) => {
            let of_key = |key: &str| schema?.get("properties")?.get(key);
            let one = |member: &Member| {
                let node = inside(&member.node, of_key(&member.key), depth + 1);
                (member.key.clone(), node)
            };
            Node::object(required_first(members, schema).into_iter().map(one).collect())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

fn left_out(count: usize, what: &str) -> Node {
    Node::string(format!("… {count} {what}"))
}

fn required_first<'v>(members: &'v [Member], schema: Option<&Node>) -> Vec<&'v Member> {
    let required = schema.and_then(|schema| schema.get("required")?.as_array());
    let required = required.unwrap_or_default();
    let is_required = |member: &&Member| {
        let mut keys = required.iter().filter_map(Node::as_str);
        keys.any(|key| key == member.key)
    };
    let (first, rest): (Vec<&Member>, Vec<&Member>) = members.iter().partition(is_required);
    first.into_iter().chain(rest).collect()
}
