//! The part of a prompt about the groups around an atom: their words, their other members, and how
//! earlier choices ended.
//!
//! Invariant: every text and every list here has a limit. The nearest groups have room first.

use alloc::{
    format,
    string::{String, ToString},
    vec::Vec,
};

use super::{
    refuted,
    section::PromptSection,
    subject::PromptSubject,
    text::{cut, in_a_line, indented, named, title},
};
use crate::{
    graph::{Ix, NodeKind},
    id::AtomId,
    search,
    world::World,
};

/// All that this file adds.
pub(super) const BYTES_MAX: usize = 4 << 10;
/// Maximum of groups described, the nearest.
const GROUPS_MAX: usize = 10;
/// Maximum of other members described of one group.
const MEMBERS_MAX: usize = 20;
/// Maximum of bytes of a group's words.
const WORDS_BYTES_MAX: usize = 1_000;
/// Maximum of bytes of a member's title.
const TITLE_BYTES_MAX: usize = 100;
/// Maximum of bytes of how a choice ended.
const END_BYTES_MAX: usize = 300;
/// Bytes of why the goal was not reached with a choice.
const REASONS_BYTES_MAX: usize = 250;

pub(super) fn section(subject: &PromptSubject<'_>) -> PromptSection {
    let section = PromptSection::new("groups", "What your part belongs to", BYTES_MAX);
    let Some(x) = subject.x else {
        return section;
    };
    let mut levels = Vec::new();
    let mut below = x;
    for group in subject.world.graph.above(x).take(GROUPS_MAX) {
        levels.push(level(subject, group, below));
        below = group;
    }
    section.with(levels.join("\n"))
}

/// One group, of which `below` is a member.
fn level(subject: &PromptSubject<'_>, group: Ix, below: Ix) -> String {
    let world = subject.world;
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
    let words = title(world, id);
    let words = if words == id.as_str() {
        String::new()
    } else {
        format!(":\n{}", indented(&cut(words, WORDS_BYTES_MAX)).trim_end())
    };
    let mut text = format!("{head}{words}\n");
    if !others.is_empty() {
        text.push_str("The others are not yours to do:\n");
    }
    for other in others.iter().take(MEMBERS_MAX) {
        text.push_str(&line(subject, group, *other));
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

fn line(subject: &PromptSubject<'_>, group: Ix, other: Ix) -> String {
    let world = subject.world;
    let name = named(world, world.graph.id(other), TITLE_BYTES_MAX);
    let end = match world.graph.vertex(group).kind {
        NodeKind::Any => choice_end(world, group, other),
        NodeKind::All | NodeKind::Plan | NodeKind::Task => part_end(subject, other),
    };
    let end = end.map(|end| format!(": {}", in_a_line(&end, END_BYTES_MAX)));
    format!("- {name}{}\n", end.unwrap_or_default())
}

/// How a part stands.
fn part_end(subject: &PromptSubject<'_>, part: Ix) -> Option<String> {
    let world = subject.world;
    let inside = world.graph.subtree(part);
    let is_at_work = |x: &Ix| {
        let mut in_flight = world.state.run.in_flight.iter();
        in_flight.any(|intent| intent.atom == *world.graph.id(*x))
    };
    if world.solved()[part] || subject.result(part).is_some() {
        return Some("done".to_string());
    }
    let is_at_work = inside.iter().any(is_at_work);
    is_at_work.then(|| "at work now".to_string())
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
    let (group, choice) = (world.graph.id(group), world.graph.id(choice));
    let refuted = refuted::newest_with(world, group, choice)?;
    let what = "was made, and the goal was not reached with it";
    let why = refuted::reasons(refuted, REASONS_BYTES_MAX);
    if why.is_empty() { Some(what.to_string()) } else { Some(format!("{what}: {why}")) }
}

fn newest_failure<'w>(world: &'w World, among: &[&AtomId]) -> Option<&'w str> {
    let mut failures = world.state.failures();
    let newest = failures.find(|(_, failure)| among.contains(&&failure.atom));
    newest.map(|(_, failure)| failure.reason.as_str())
}
