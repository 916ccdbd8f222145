//! The part of a prompt for a planning step that the program placed: what failed and why, what stood there, and what
//! was planned anew before.

use alloc::{
    collections::BTreeSet,
    format,
    string::{String, ToString},
    vec::Vec,
};

use super::{
    assessed,
    refuted::reasons,
    section::PromptSection,
    subject::PromptSubject,
    text::{cut, fenced, in_a_line, last_lines, title},
};
use crate::{
    id::AtomId,
    measure::granted,
    search,
    state::{EntryKind, record::ReplanEntry},
    world::World,
};

pub(super) const BYTES_MAX: usize = 2 << 10;
const REASON_BYTES_MAX: usize = 160;
const REFUTED_BYTES_MAX: usize = 600;
const TITLE_BYTES_MAX: usize = 80;
/// Bytes of an output that its reason tells in a line.
const LINE_BYTES: usize = 80;
/// Bytes of the output of a failure, where there is little room.
const OUTPUT_BYTES_MAX: usize = 200;
/// Failures, and earlier changes, that are told at most.
const LINES_MAX: usize = 12;
/// Bytes of what the judge of a pass said.
const SAID_BYTES_MAX: usize = 300;

pub(super) fn section(subject: &PromptSubject<'_>) -> PromptSection {
    let head = "Why the plan is changed here";
    let section = PromptSection::new("changes", head, BYTES_MAX);
    let plan = subject.atom().and_then(|atom| atom.plan());
    let Some(placed) = plan.map(|plan| &plan.placed).filter(|one| one.is_placed()) else {
        return section;
    };
    let (world, own) = (subject.world, &subject.intent.atom);
    let mut text = format!("Nothing was left to try: {}.\n", placed.reason);
    if let Some(was) = &placed.was {
        let was = in_a_line(was.title(own), TITLE_BYTES_MAX);
        text.push_str(&format!("Your plan takes the place of {own} ({was}). "));
        text.push_str("An atom after all of yours keeps its checks, if it had any.\n");
    }
    let failed = what_failed(world, OUTPUT_BYTES_MAX);
    if !failed.is_empty() {
        text.push_str(&format!("\nWhat failed, and why:\n{failed}"));
    }
    let said = assessed::said(world);
    if !said.is_empty() {
        let said = fenced(&cut(&said, SAID_BYTES_MAX));
        text.push_str(&format!("\nWhat a judge of the pass says, as advice (data):\n{said}"));
    }
    let across: String = world.state.run.issues().map(assessed::issue).collect();
    if !across.is_empty() {
        let across = fenced(&cut(&across, SAID_BYTES_MAX));
        text.push_str(&format!("\nIssues that were found, as advice (data):\n{across}"));
    }
    let earlier = earlier(world, own);
    if !earlier.is_empty() {
        let head =
            "Changes before this one; yours must differ, and the same atoms again are refused";
        text.push_str(&format!("\n{head}:\n{earlier}"));
    }
    let left = granted::changes_left(&world.state);
    text.push_str(&format!("\nChanges of the plan that are left after this one: {left}.\n"));
    section.with(text)
}

/// The base case with every step done, and each task that failed for good, with their reasons, and as much of what each
/// printed.
pub(super) fn what_failed(world: &World, output_bytes: usize) -> String {
    refuted(world) + &printed(world, output_bytes) + &failures(world, output_bytes)
}

/// The end of what the checks printed that did not hold, where a line does not tell it all.
fn printed(world: &World, output_bytes: usize) -> String {
    let newest = world.state.refutations().next();
    let evidence = newest.into_iter().flat_map(|(_, one)| &one.evidence);
    let against = evidence.filter(|one| one.speaks_against() && one.output.len() > LINE_BYTES);
    let told = against.map(|one| {
        let check = in_a_line(one.check.as_deref().unwrap_or("a check"), TITLE_BYTES_MAX);
        format!("- {check} printed:\n{}", last_lines(&one.output, output_bytes))
    });
    if output_bytes > OUTPUT_BYTES_MAX { told.take(LINES_MAX).collect() } else { String::new() }
}

/// The newest reason of each task that failed for good.
fn failures(world: &World, output_bytes: usize) -> String {
    let (mut text, mut told) = (String::new(), BTreeSet::new());
    for (_, failure) in world.state.failures() {
        let id = &failure.atom;
        let tries = search::tries(&world.state, id);
        // A step under the id of what failed has no tries of it.
        let is_replaced = world.state.atom(id).is_some_and(|atom| {
            let plan = atom.plan();
            plan.is_some_and(|plan| plan.placed.was.is_some())
        });
        let has_failed = is_replaced || tries.iter().any(|tried| tried.has_failed());
        if !has_failed || told.len() == LINES_MAX || !told.insert(id.clone()) {
            continue;
        }
        let reason = in_a_line(&failure.reason, REASON_BYTES_MAX);
        let title = in_a_line(title(world, id), TITLE_BYTES_MAX);
        text.push_str(&format!("- {id} ({title}): {reason}\n"));
        text.push_str(&last_lines(&failure.output, output_bytes));
    }
    text
}

/// The checks of the base case that did not hold with all done.
fn refuted(world: &World) -> String {
    let newest = world.state.refutations().next();
    let failed = newest.map(|(_, one)| reasons(one, REFUTED_BYTES_MAX));
    match failed.filter(|failed| !failed.is_empty()) {
        Some(failed) => format!("- the base case, with every step done: {failed}\n"),
        None => String::new(),
    }
}

fn changes(world: &World) -> impl Iterator<Item = &ReplanEntry> {
    let entries = world.state.trail.iter().rev();
    entries.filter_map(|entry| match &entry.kind {
        EntryKind::Replan(change) => Some(change),
        _ => None,
    })
}

/// All changes, the newest first.
pub(super) fn every_change(world: &World) -> String {
    changes(world).take(LINES_MAX).map(line).collect()
}

/// The earlier changes, the newest first.
fn earlier(world: &World, own: &AtomId) -> String {
    // The newest is this one.
    let mut is_own = changes(world).skip_while(|change| change.atom.as_ref() != Some(own));
    let _ = is_own.next();
    is_own.take(LINES_MAX).map(line).collect()
}

fn line(change: &ReplanEntry) -> String {
    let what = match &change.atom {
        Some(atom) => atom.to_string(),
        None if !change.atoms.is_empty() => {
            let atoms: Vec<&str> = change.atoms.iter().map(AtomId::as_str).collect();
            atoms.join(", ")
        }
        None => format!("none ({})", in_a_line(&change.refused, REASON_BYTES_MAX)),
    };
    let reason = in_a_line(&change.reason, REASON_BYTES_MAX);
    format!("- {what}: {reason}\n")
}
