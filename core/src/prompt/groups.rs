//! The part of a prompt about the groups around an atom: their words, their other members, and how
//! earlier choices ended.
//!
//! Invariant: every text and every list here has a limit.

use alloc::{
    format,
    string::{String, ToString},
    vec::Vec,
};

use super::title;
use crate::{
    graph::{Ix, NodeKind},
    id::AtomId,
    search,
    world::World,
};

/// Maximum of groups described, the nearest.
const GROUPS_MAX: usize = 10;
/// Maximum of other members described of one group.
const MEMBERS_MAX: usize = 20;
/// Maximum of characters of a group's purpose.
const WORDS_CHARS_MAX: usize = 2_000;
/// Maximum of characters of a member's title, and of how it ended.
const LINE_CHARS_MAX: usize = 300;

/// The part of the prompt; empty for an atom without a group.
pub(super) fn section(world: &World, id: &AtomId) -> String {
    let Some(x) = world.graph.ix(id) else {
        return String::new();
    };
    let mut levels = Vec::new();
    let mut below = x;
    for group in world.graph.above(x).take(GROUPS_MAX) {
        levels.push(level(world, group, below));
        below = group;
    }
    match levels.is_empty() {
        true => String::new(),
        false => format!("\n# What your part belongs to\n{}", levels.concat()),
    }
}

/// One group, of which `below` is a member.
fn level(world: &World, group: Ix, below: Ix) -> String {
    let id = world.graph.id(group);
    let others = others(world, group, below);
    let member = world.graph.id(below);
    let n = others.len() + 1;
    let head = match world.graph.vertex(group).kind {
        NodeKind::Any => {
            format!("{member} is one of {n} ways to do {id}, and one of them is enough")
        }
        NodeKind::All | NodeKind::Plan | NodeKind::Task => {
            format!("{member} is one of {n} parts of {id}, and all of them are needed")
        }
    };
    let words = cut(title(world, id), WORDS_CHARS_MAX);
    let words = match words == id.as_str() {
        true => String::new(),
        false => format!(":\n{}", indented(&words)),
    };
    let mut text = format!("\n{head}{words}\n");
    if !others.is_empty() {
        text.push_str("The others are not yours to do:\n");
    }
    for other in others.iter().take(MEMBERS_MAX) {
        text.push_str(&line(world, group, *other));
    }
    if let Some(more) = others.len().checked_sub(MEMBERS_MAX).filter(|n| *n > 0) {
        text.push_str(&format!("- and {more} more\n"));
    }
    text
}

/// The other members beside `below`; for a planning step, those of the same fragment.
fn others(world: &World, group: Ix, below: Ix) -> Vec<Ix> {
    let of_phase = world.graph.phase_of(group, below);
    let members = match of_phase {
        Some(phase) => phase.remaining(),
        None => world.graph.vertex(group).kids.clone(),
    };
    members.into_iter().filter(|x| *x != below).collect()
}

fn line(world: &World, group: Ix, other: Ix) -> String {
    let id = world.graph.id(other);
    let title = title(world, id);
    let title = match title == id.as_str() {
        true => String::new(),
        false => format!(" ({})", in_a_line(title)),
    };
    let end = match world.graph.vertex(group).kind {
        NodeKind::Any => {
            choice_end(world, group, other).map(|end| format!(": {}", in_a_line(&end)))
        }
        NodeKind::All | NodeKind::Plan | NodeKind::Task => None,
    };
    format!("- {id}{title}{}\n", end.unwrap_or_default())
}

/// How an earlier choice ended.
fn choice_end(world: &World, group: Ix, choice: Ix) -> Option<String> {
    let inside = world.graph.subtree(choice);
    let has_failed = |x: &Ix| {
        let tries = search::tries(&world.state, world.graph.id(*x));
        tries.iter().any(|tried| tried.has_failed())
    };
    if inside.iter().any(has_failed) {
        let failed: Vec<&AtomId> = inside.iter().map(|x| world.graph.id(*x)).collect();
        let reason = newest_failure(world, &failed);
        return Some(reason.map_or("failed".to_string(), |reason| format!("failed: {reason}")));
    }
    if is_refuted(world, group, choice) {
        return Some("was made, and the goal was not reached with it".to_string());
    }
    None
}

fn newest_failure<'w>(world: &'w World, among: &[&AtomId]) -> Option<&'w str> {
    let mut failures = world.state.failures();
    let newest = failures.find(|(_, failure)| among.contains(&&failure.atom));
    newest.map(|(_, failure)| failure.reason.as_str())
}

fn is_refuted(world: &World, group: Ix, choice: Ix) -> bool {
    let (group, choice) = (world.graph.id(group), world.graph.id(choice));
    let mut refuted = world.state.trail.iter().filter_map(|entry| entry.refuted());
    refuted.any(|one| one.conflict.get(group) == Some(choice))
}

fn indented(text: &str) -> String {
    let lines = text.lines().map(|line| format!("    {line}"));
    lines.collect::<Vec<_>>().join("\n")
}

fn in_a_line(text: &str) -> String {
    cut(&text.lines().collect::<Vec<_>>().join(" "), LINE_CHARS_MAX)
}

fn cut(text: &str, chars_max: usize) -> String {
    match text.char_indices().nth(chars_max) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_string(),
    }
}
