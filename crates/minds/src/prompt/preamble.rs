//! The beginning of a prompt: the agreement in force, the words before it, and the day. It is the same for all attempts
//! of a day. A check in words.
//!
//! Invariant: nothing here depends on the atom. Words that were replaced since are never told as what is asked.

use alloc::{
    format,
    string::{String, ToString},
    vec::Vec,
};

use super::section::{PromptSection, cut};
use descent_core::{
    doc,
    doc::Node,
    id::UnixMillis,
    state::{Check, CheckKind, FreeValue, Objective},
};

const AGREED_SINCE: &str =
    "This is how it began. What stands above was agreed on since, and counts where the two differ.";
const WORDS_BYTES_MAX: usize = 16 << 10;
const GOAL_BYTES_MAX: usize = 4 << 10;
const CHECKS_BYTES_MAX: usize = 4 << 10;
const PROTECTED_BYTES_MAX: usize = 1 << 10;
const DAY_BYTES_MAX: usize = 64;
/// All that this file adds.
pub(super) const BYTES_MAX: usize =
    WORDS_BYTES_MAX + GOAL_BYTES_MAX + CHECKS_BYTES_MAX + PROTECTED_BYTES_MAX + DAY_BYTES_MAX;

pub(super) fn sections(objective: &Objective, now: UnixMillis) -> [PromptSection; 5] {
    [
        goal(objective),
        base_case(objective),
        protected(objective),
        words(objective),
        PromptSection::new("day", "", DAY_BYTES_MAX).with(format!("Today is {}.", now.day())),
    ]
}

/// The person's words before they agreed on the goal, or changed it; nothing where the goal has them.
fn words(objective: &Objective) -> PromptSection {
    let section = PromptSection::new("words", "First asked, word for word", WORDS_BYTES_MAX);
    let words = objective.raw_input.trim();
    if words.is_empty() || words == objective.goal.trim() {
        section
    } else {
        section.with(format!("{AGREED_SINCE}\n\n{words}")).whole_in("words.txt")
    }
}

fn goal(objective: &Objective) -> PromptSection {
    let (deliverables, done) = (&objective.deliverables, &objective.definition_of_done);
    let why = &objective.background_intent;
    let mut paragraphs = Vec::from([objective.goal.trim().to_string()]);
    for (head, text) in
        [("Why: ", why), ("It shall give: ", deliverables), ("It is done when: ", done)]
    {
        if !text.trim().is_empty() {
            paragraphs.push(format!("{head}{}", text.trim()));
        }
    }
    paragraphs.extend(scope(objective.scope.as_ref()));
    paragraphs.extend(clarifications(objective.clarifications.as_ref()));
    PromptSection::new("goal", "The goal", GOAL_BYTES_MAX)
        .with(paragraphs.join("\n\n"))
        .whole_in("goal.txt")
}

fn scope(scope: Option<&FreeValue>) -> Option<String> {
    let lines = |key, head: &str| {
        let parts = scope?.get(key)?.as_array()?.iter();
        let parts: Vec<&str> = parts.filter_map(Node::as_str).collect();
        (!parts.is_empty()).then(|| format!("{head}: {}", parts.join("; ")))
    };
    let lines = [lines("in", "Part of it"), lines("out", "No part of it")];
    let lines: Vec<String> = lines.into_iter().flatten().collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

fn clarifications(all: Option<&FreeValue>) -> Option<String> {
    let text = |one: &Node, key| Some(one.get(key)?.as_str()?.trim().to_string());
    let line = |one: &Node| {
        let (question, answer) = (text(one, "question")?, text(one, "resolution")?);
        Some(format!("- {question} {answer}\n"))
    };
    let lines: String = all?.as_array()?.iter().filter_map(line).collect();
    (!lines.is_empty()).then(|| format!("Questions that were answered:\n{lines}"))
}

fn base_case(objective: &Objective) -> PromptSection {
    let head = "The goal is reached, all parts together, when this holds";
    let section = PromptSection::new("base_case", head, CHECKS_BYTES_MAX).whole_in("base_case.txt");
    match &objective.base_case {
        Some(check) => section.with(listed(check)),
        None => section,
    }
}

fn protected(objective: &Objective) -> PromptSection {
    let head = "Leave these files as they are: an attempt that changes one fails";
    let globs = objective.constraints.protected.iter();
    let globs: String = globs.map(|glob| format!("- {}\n", cut(glob, 300))).collect();
    PromptSection::new("protected", head, PROTECTED_BYTES_MAX).with(globs).whole_in("protected.txt")
}

// A check in words: its tree, and of each leaf all that decides.

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
