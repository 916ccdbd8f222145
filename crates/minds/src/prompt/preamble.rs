//! The beginning of a prompt: the agreement in force, the words before it, and the day. It is the same for all attempts
//! of a day. A check in words.
//!
//! Invariant: nothing here depends on the atom. Words that were replaced since are never told as what is asked.

use super::section::cut;
use descent_core::doc::prelude::*;
use descent_core::{
    doc,
    doc::Node,
    id::UnixMillis,
    state::{Check, CheckKind, FreeValue, Objective},
};

/// The value of that name in the template `agreement`.
pub(super) fn value(objective: &Objective, now: UnixMillis, name: &str) -> Option<String> {
    Some(match name {
        "goal" => objective.goal.trim().to_string(),
        "why" => objective.background_intent.trim().to_string(),
        "deliverables" => objective.deliverables.trim().to_string(),
        "definition_of_done" => objective.definition_of_done.trim().to_string(),
        "in_scope" => scope(objective.scope.as_ref(), "in"),
        "out_of_scope" => scope(objective.scope.as_ref(), "out"),
        "clarifications" => clarifications(objective.clarifications.as_ref()),
        "base_case" => objective.base_case.as_ref().map(listed).unwrap_or_default(),
        "protected" => {
            let globs = objective.constraints.protected.iter();
            globs.map(|glob| format!("- {}\n", cut(glob, GLOB_BYTES_MAX))).collect()
        }
        "first_words" => {
            let words = objective.raw_input.trim();
            let is_old = words != objective.goal.trim();
            if is_old { words.to_string() } else { String::new() }
        }
        "day" => now.day().to_string(),
        _ => return None,
    })
}

fn scope(scope: Option<&FreeValue>, key: &str) -> String {
    let parts = scope.and_then(|scope| scope.get(key)?.as_array()).unwrap_or_default();
    let parts: Vec<&str> = parts.iter().filter_map(Node::as_str).collect();
    parts.join("; ")
}

fn clarifications(all: Option<&FreeValue>) -> String {
    let text = |one: &Node, key| Some(one.get(key)?.as_str()?.trim().to_string());
    let line = |one: &Node| {
        let (question, answer) = (text(one, "question")?, text(one, "resolution")?);
        Some(format!("- {question} {answer}\n"))
    };
    let all = all.and_then(|all| all.as_array()).unwrap_or_default();
    all.iter().filter_map(line).collect()
}

// A check in words: its tree, and of each leaf all that decides.

/// Bytes of a protected glob.
const GLOB_BYTES_MAX: usize = 300;
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
