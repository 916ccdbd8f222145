//! The part of a prompt for a planning step that the program placed: what failed and why, what stood there, and what
//! was planned anew before. Reasons and opinions that go with it.

use super::{
    section::{cut, fenced, in_a_line, last_lines, named, title},
    subject::PromptSubject,
};
use descent_core::doc::prelude::*;
use descent_core::{
    graph::active,
    id::AtomId,
    measure::granted,
    search,
    state::{
        AnswerRecord, Binding, EntryKind, Fragment, IssueRecord, Moment, PassAnswer, Question,
        TryEnd,
        record::{EvidenceRecord, RefutedEntry, ReplanEntry},
    },
    world::World,
};

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

/// The values about a step that the program placed.
pub(super) fn value(subject: &PromptSubject<'_>, name: &str) -> Option<String> {
    let (world, own) = (subject.world, &subject.intent.atom);
    let plan = subject.atom().and_then(|atom| atom.plan());
    let placed = plan.map(|plan| &plan.placed).filter(|one| one.is_placed());
    let advice = |text: String| fenced(&cut(&text, SAID_BYTES_MAX));
    Some(match name {
        "placed" => placed.map(|one| one.reason.to_string()).unwrap_or_default(),
        "was" => {
            let was = placed.and_then(|one| one.was.as_ref());
            was.map(|was| in_a_line(was.title(own), TITLE_BYTES_MAX)).unwrap_or_default()
        }
        "what_failed" => what_failed(world, OUTPUT_BYTES_MAX),
        "opinion" => advice(said(world)),
        "across" => advice(world.state.run.issues().map(issue).collect()),
        "earlier_changes" => earlier(world, own),
        "changes_left" => granted::changes_left(&world.state).to_string(),
        _ => return None,
    })
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

// The verdict on a plan that was carried out to its end and did not reach the goal, for those who try another way.

/// Lines of an output that are told, the last.
const REFUTED_LINES_MAX: usize = 3;

/// The newest verdict on a selection with this choice of a group, or this round of a planning step.
pub(super) fn newest_with<'w>(
    world: &'w World,
    group: &AtomId,
    choice: &AtomId,
) -> Option<&'w RefutedEntry> {
    let mut refuted = world.state.refutations().map(|(_, refuted)| refuted);
    refuted.find(|refuted| refuted.conflict.get(group) == Some(choice))
}

/// The checks that did not hold, each with how it ended and the last of what it said. Empty if none is known.
pub(super) fn reasons(refuted: &RefutedEntry, bytes_max: usize) -> String {
    let against = refuted.evidence.iter().filter(|one| one.speaks_against());
    let all: Vec<String> = against.map(reason).collect();
    in_a_line(&all.join("; "), bytes_max)
}

fn reason(evidence: &EvidenceRecord) -> String {
    let check = evidence.check.as_deref().unwrap_or("a check");
    let ended = evidence.ended.as_deref().map(|ended| format!(" ({ended})"));
    let mut last: Vec<&str> = evidence.output.lines().rev().take(REFUTED_LINES_MAX).collect();
    last.reverse();
    let said = match last.join(" ") {
        said if said.trim().is_empty() => String::new(),
        said => format!(": {}", said.trim()),
    };
    format!("{check}{}{said}", ended.unwrap_or_default())
}

// The reasons of earlier plans: of this step, and of the steps before and around it.
//
// Invariant: the newest five, each with its reason and what came of it, in 300 bytes each. A result that is told
// elsewhere in the prompt is not told again.

const PLANS_MAX: usize = 5;
const WORDS_BYTES_MAX: usize = 300;
const NAME_BYTES_MAX: usize = 60;

pub(super) fn reasons_of_plans(subject: &PromptSubject<'_>, told: &BTreeSet<&AtomId>) -> String {
    if !subject.is_plan() {
        return String::new();
    }
    let mut plans = plans(subject);
    plans.sort_by_key(|(_, fragment)| core::cmp::Reverse(fragment.attempt.count()));
    let entries =
        plans.into_iter().filter_map(|(plan, fragment)| entry(subject.world, plan, fragment, told));
    entries.take(PLANS_MAX).collect()
}

/// All plans of this step, and those in force of the planning steps before and around it.
fn plans<'w>(subject: &PromptSubject<'w>) -> Vec<(&'w AtomId, &'w Fragment)> {
    let (Some(x), world, seen) = (subject.x, subject.world, subject.active) else {
        return Vec::new();
    };
    let graph = &world.graph;
    let step = |id: &AtomId| world.state.atoms.get(id)?.plan();
    let own = step(graph.id(x)).into_iter().flat_map(|one| one.fragments());
    let own = own.map(|fragment| (graph.id(x), fragment));
    let others = active::upstream(graph, x, &seen.selection).into_iter();
    let others = others.chain(graph.above(x)).filter_map(|y| {
        let (id, phase) = (graph.id(y), seen.phase(graph, y)?);
        let mut all = step(id)?.fragments();
        let in_force = all.find(|one| one.first() == Some(graph.id(phase.first())))?;
        Some((id, in_force))
    });
    own.chain(others).collect()
}

fn entry(
    world: &World,
    plan: &AtomId,
    fragment: &Fragment,
    told: &BTreeSet<&AtomId>,
) -> Option<String> {
    let first = world.state.atom(fragment.first()?)?;
    let reason = first.origin.as_ref().and_then(|origin| origin.get("reason"));
    let reason = reason.and_then(|reason| reason.as_str()).unwrap_or_default();
    let parts = fragment.parts.iter().filter_map(|id| world.graph.ix(id));
    let inside = parts.flat_map(|part| world.graph.subtree(part));
    let inside = inside.map(|y| world.graph.id(y));
    let results = inside.filter(|id| !told.contains(id)).filter_map(|id| {
        let summary = &result(world, id)?.summary;
        (!summary.is_empty()).then(|| format!("{id}: {summary}"))
    });
    let results: Vec<String> = results.take(PLANS_MAX).collect();
    if reason.trim().is_empty() && results.is_empty() {
        return None;
    }
    let name = named(world, plan, NAME_BYTES_MAX);
    let reason = in_a_line(reason, WORDS_BYTES_MAX);
    let came = in_a_line(&results.join("; "), WORDS_BYTES_MAX);
    let came = if came.is_empty() { came } else { format!("    (what came of it: {came})\n") };
    Some(format!("- {name}, plan {}: {reason}\n{came}", fragment.attempt))
}

/// The result of an atom, in force or kept for its context.
fn result<'w>(world: &'w World, id: &AtomId) -> Option<&'w Binding> {
    let bound = world.state.bindings.get(id).map(|binding| &**binding);
    bound.or_else(|| {
        let tries = world.state.atom(id)?.task()?.tries.iter().rev();
        let mut parked = tries.filter_map(|one| match &one.ended {
            Some(TryEnd::Parked(parked)) => Some(&**parked),
            Some(TryEnd::Failed(_)) | None => None,
        });
        parked.next()
    })
}

// The opinion of whoever assessed a pass, and issues, for those who change the plan: advice, not proof.

/// The opinion of the pass, for those who change the plan; empty where nobody said anything.
pub(super) fn said(world: &World) -> String {
    let kept = Question::at(Moment::DeadEnd).filter_map(|question| world.state.run.kept(question));
    let told = |one: &AnswerRecord| match one.opinion() {
        Some(said) => lines(said),
        None => one.text().map_or_else(String::new, |said| {
            format!("- {}: {}\n", one.question.word(), in_a_line(&said.text, SAID_BYTES_MAX))
        }),
    };
    kept.map(told).collect()
}

fn lines(said: &PassAnswer) -> String {
    let mut text = String::new();
    let mut list = |head: &str, all: &[String]| {
        for one in all {
            text.push_str(&format!("- {head}: {one}\n"));
        }
    };
    list("missing", &said.missing);
    list("contradiction", &said.contradictions);
    let blame: Vec<String> = said.blame.iter().map(ToString::to_string).collect();
    list("to blame", &blame);
    text
}

/// An issue in a line.
pub(super) fn issue(issue: &IssueRecord) -> String {
    let severity = issue.severity.word();
    format!("- {} ({severity}): {}\n", issue.location, issue.description)
}
