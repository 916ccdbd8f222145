//! A check in words: its tree, and of each leaf all that decides.

use alloc::{
    format,
    string::{String, ToString},
    vec::Vec,
};

use crate::{
    doc,
    state::{Check, CheckKind},
};

/// The keys of a leaf that its title has already, and those that decide nothing.
const TOLD: [&str; 8] =
    ["name", "command", "not_command", "file", "not_file", "quality", "assertion", "timeout"];

/// A check as a list: a leaf a line, and the parts of an `any` below a line of their own.
pub(super) fn listed(check: &Check) -> String {
    let mut text = String::new();
    match &check.kind {
        CheckKind::All(parts) => parts.iter().for_each(|part| add(part, 0, &mut text)),
        CheckKind::Any(_) | CheckKind::Leaf(_) => add(check, 0, &mut text),
    }
    text
}

fn add(check: &Check, depth: usize, text: &mut String) {
    let indent = "  ".repeat(depth);
    let name = check.name.as_ref();
    let name = name.map(|name| format!("{name}: ")).unwrap_or_default();
    let (words, parts) = match &check.kind {
        CheckKind::Leaf(_) => {
            text.push_str(&format!("{indent}- {name}{}\n", leaf(check)));
            return;
        }
        CheckKind::All(parts) => ("all of these", parts),
        CheckKind::Any(parts) => ("one of these", parts),
    };
    text.push_str(&format!("{indent}- {name}{words}\n"));
    parts.iter().for_each(|part| add(part, depth + 1, text));
}

fn leaf(check: &Check) -> String {
    let mut rule = check.clone();
    rule.name = None;
    let node = rule.node();
    let members = node.as_object().unwrap_or_default().iter();
    let more = members.filter(|member| !TOLD.contains(&&*member.key));
    let more = more.map(|member| format!("{} {}", member.key, doc::write_compact(&member.node)));
    let more: Vec<String> = more.collect();
    if more.is_empty() {
        rule.title().to_string()
    } else {
        format!("{} ({})", rule.title(), more.join(", "))
    }
}
