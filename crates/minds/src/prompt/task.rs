//! The atom itself: its words, its place among the steps, its checks, and the value that it shall give. The groups around
//! it, and what others work on.

use super::{
    preamble::listed,
    replan,
    section::{cut, flag, in_a_line, indented, named, names, title},
    subject::PromptSubject,
};
use descent_core::doc::prelude::*;
use descent_core::{
    doc,
    graph::{Ix, NodeKind},
    id::AtomId,
    measure, search,
    state::{Check, Intent, PatternRecord, Task, atom::TaskQuestion},
    world::World,
};

/// Atoms named on one line, and the bytes of the words of each.
const NAMES_MAX: usize = 8;
const NAME_BYTES_MAX: usize = 60;
const GLOBS_BYTES_MAX: usize = 300;
/// Bytes of guidance that are shown in their order: the limit of its section, without the head.
const GUIDANCE_BYTES_MAX: usize = 4_043;

/// The values about an atom that its template names.
pub(super) fn value(subject: &PromptSubject<'_>, name: &str) -> Option<String> {
    let (world, intent) = (subject.world, subject.intent);
    let task = subject.task();
    let globs = |of: fn(&Task) -> &Vec<String>| {
        let globs = task.map(|task| of(task).join(", "));
        in_a_line(&globs.unwrap_or_default(), GLOBS_BYTES_MAX)
    };
    Some(match name {
        "atom" => intent.atom.to_string(),
        "n" => intent.n.to_string(),
        "of" => {
            let most = task.map(|task| measure::attempts_max(&world.state, task));
            let most = most.filter(|most| *most >= intent.n);
            most.map(|most| most.to_string()).unwrap_or_default()
        }
        "description" => title(world, &intent.atom).to_string(),
        "step" => step(subject).unwrap_or_default(),
        "handed_to" => handed_to(subject).unwrap_or_default(),
        "touches" => globs(|task| &task.touches),
        "needs" => globs(|task| &task.needs),
        "provides" => globs(|task| &task.provides),
        "assumed" => {
            let questions = task.map_or(&[][..], |task| &task.questions);
            questions.iter().map(assumed).collect()
        }
        "guidance" => guidance(task.map_or(&[], |task| &task.spec.guidance)),
        "groups" => groups(subject),
        "same_checks" => flag(
            own_checks(subject)
                .is_some_and(|own| Some(own) == world.state.objective.base_case.as_ref()),
        ),
        "checks" => own_checks(subject).map(listed).unwrap_or_default(),
        "output_schema" => {
            let task = task.filter(|_| !subject.is_plan());
            let schema = task.and_then(|task| task.spec.output_schema.as_ref());
            schema.map(doc::write_compact).unwrap_or_default()
        }
        "others" => at_work(subject),
        "patterns" => patterns(subject),
        _ => return None,
    })
}

fn own_checks<'a>(subject: &PromptSubject<'a>) -> Option<&'a Check> {
    subject.task().filter(|_| !subject.is_plan())?.spec.checks.as_ref()
}

/// Its number among the tasks of the plan as it stands.
fn step(subject: &PromptSubject<'_>) -> Option<String> {
    let (graph, active) = (&subject.world.graph, subject.active);
    let order = graph.order().iter();
    let steps = order.filter(|x| active.is_live(**x) && active.is_leaf(graph, **x));
    let steps: Vec<_> = steps.collect();
    let place = steps.iter().position(|x| Some(**x) == subject.x)?;
    // Nothing is parked where there is nothing to choose: then each binding is the result of a step.
    let may_be_parked = graph.groups().chain(graph.plans()).next().is_some();
    let done = if may_be_parked || !subject.world.is_settled || steps.len() < graph.len() {
        steps.iter().filter(|x| subject.result(***x).is_some()).count()
    } else {
        subject.world.state.bindings.len()
    };
    let (n, of) = (place + 1, steps.len());
    let done = match done {
        0 => "none is done yet".to_string(),
        1 => "1 is done".to_string(),
        done => format!("{done} are done"),
    };
    (of > 1).then(|| format!("It is step {n} of {of}; {done}."))
}

/// Those that wait for it, or for a group that it stands in.
fn handed_to(subject: &PromptSubject<'_>) -> Option<String> {
    let (world, x) = (subject.world, subject.x?);
    let graph = &world.graph;
    let own_and_above = core::iter::once(x).chain(graph.above(x));
    let mut waiting = Vec::new();
    for y in own_and_above.flat_map(|y| graph.needed_by(y)) {
        if subject.active.is_live(*y) && !waiting.contains(y) {
            waiting.push(*y);
        }
    }
    let waiting = waiting.iter();
    let waiting = waiting.map(|y| {
        let id = graph.id(*y);
        let task = world.state.atom(id).and_then(|atom| atom.task());
        let needs = task.map(|task| task.needs.join(", "));
        let named = named(world, id, NAME_BYTES_MAX);
        match needs.filter(|needs| !needs.is_empty()) {
            Some(needs) => format!("{named}, which needs {}", in_a_line(&needs, NAME_BYTES_MAX)),
            None => named,
        }
    });
    let waiting = names(waiting, NAMES_MAX);
    (!waiting.is_empty()).then(|| format!("Its result is handed on to {waiting}."))
}

/// The answer that is assumed to what is unclear about it.
fn assumed(one: &TaskQuestion) -> String {
    match one.assume.as_str() {
        "" => format!("- {} A person answers below.\n", one.question),
        assume => format!("- {} Assume: {assume}\n", one.question),
    }
}

/// A person's words, verbatim, the newest first if there is too little room for all.
fn guidance(words: &[String]) -> String {
    let in_order = words.join("\n\n");
    if in_order.trim_end().len() <= GUIDANCE_BYTES_MAX {
        return in_order;
    }
    let newest_first: Vec<&str> = words.iter().rev().map(String::as_str).collect();
    newest_first.join("\n\n")
}

// The part of a prompt about the groups around an atom: their words, their other members, and how earlier choices
// ended.
//
// Invariant: every text and every list here has a limit. The nearest groups have room first.

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

fn groups(subject: &PromptSubject<'_>) -> String {
    let Some(x) = subject.x else {
        return String::new();
    };
    let mut levels = Vec::new();
    let mut below = x;
    for group in subject.world.graph.above(x).take(GROUPS_MAX) {
        levels.push(level(subject, group, below));
        below = group;
    }
    levels.join("\n")
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
    let refuted = replan::newest_with(world, group, choice)?;
    let what = "was made, and the goal was not reached with it";
    let why = replan::reasons(refuted, REASONS_BYTES_MAX);
    if why.is_empty() { Some(what.to_string()) } else { Some(format!("{what}: {why}")) }
}

fn newest_failure<'w>(world: &'w World, among: &[&AtomId]) -> Option<&'w str> {
    let mut failures = world.state.failures();
    let newest = failures.find(|(_, failure)| among.contains(&&failure.atom));
    newest.map(|(_, failure)| failure.reason.as_str())
}

// The atoms that others work on, and failures that several atoms share.

/// Atoms that are named, and the bytes of the words of each.
const OTHERS_MAX: usize = 6;
const OTHER_BYTES_MAX: usize = 60;
const PATTERNS_MAX: usize = 2;
const ATOMS_MAX: usize = 5;
const REASON_BYTES_MAX: usize = 200;

fn at_work(subject: &PromptSubject<'_>) -> String {
    let is_other = |intent: &&Intent| intent.atom != subject.intent.atom;
    let in_flight = subject.world.state.run.in_flight.iter();
    let others: Vec<&Intent> = in_flight.filter(is_other).collect();
    let line =
        |intent: &&Intent| format!("- {}\n", named(subject.world, &intent.atom, OTHER_BYTES_MAX));
    let mut lines: String = others.iter().take(OTHERS_MAX).map(line).collect();
    if others.len() > OTHERS_MAX {
        lines.push_str(&format!("- and {} more\n", others.len() - OTHERS_MAX));
    }
    lines
}

/// Told patterns, of which this atom is a part, or else the newest.
fn patterns(subject: &PromptSubject<'_>) -> String {
    let patterns = subject.world.state.run.patterns.iter().rev();
    let told: Vec<&PatternRecord> = patterns.filter(|one| one.told).collect();
    let is_its = |one: &&PatternRecord| one.atoms.contains(&subject.intent.atom);
    let (its, others): (Vec<&PatternRecord>, Vec<&PatternRecord>) =
        told.iter().partition(|one| is_its(one));
    let shown = its.into_iter().chain(others).take(PATTERNS_MAX);
    let line = |one: &PatternRecord| {
        let atoms = one.atoms.iter().map(ToString::to_string);
        let reason = in_a_line(&one.reason, REASON_BYTES_MAX);
        format!("- {}: {reason}\n", names(atoms, ATOMS_MAX))
    };
    shown.map(line).collect()
}
