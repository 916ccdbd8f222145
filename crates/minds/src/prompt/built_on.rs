//! The results that an attempt builds on: in its prompt, and as the text of `$DESCENT_BINDINGS`. Findings of probes, and
//! lessons.

use super::{
    planning,
    result_text::{ResultText, binding_node},
    section::{LateValues, bracketed, cut, fenced, flag, in_a_line, led, names},
    subject::PromptSubject,
    upstream,
};
use descent_core::doc::prelude::*;
use descent_core::{
    doc::{self, Node},
    graph::{Ix, NodeKind},
    id::AtomId,
    state::{
        Binding, EntryKind, Extra, Intent, Lesson, LessonKind,
        fields::{Writer, texts_node},
        record::ProbeEntry,
    },
    world::World,
};

const SUMMARY_BYTES_MAX: usize = 2_000;
const HANDOFF_BYTES_MAX: usize = 2_000;
const VALUE_BYTES_MAX: usize = 500;
/// Files that are named of one result.
const FILES_MAX: usize = 8;
const FILE_BYTES_MAX: usize = 120;
/// Bytes for the names of results that have no room, and the number of names.
const NAMES_BYTES_MAX: usize = 1_000;
const NAMES_MAX: usize = 60;
/// Bytes for parts of a plan that were not made.
const MISSING_BYTES_MAX: usize = 1_000;

/// The results, in that room.
pub(super) fn results(subject: &PromptSubject<'_>, room: usize) -> LateValues {
    let missing = missing(subject);
    let reserved = NAMES_BYTES_MAX + missing.len() + 200;
    let mut room = room.saturating_sub(reserved);
    let (mut text, mut by_name) = (String::new(), Vec::new());
    for (id, binding) in of_dependencies(subject) {
        let told = told(&id, binding);
        match room.checked_sub(told.len()).filter(|_| by_name.is_empty()) {
            Some(left) => {
                room = left;
                text.push_str(&told);
            }
            None => by_name.push(id.to_string()),
        }
    }
    text.push_str(&by_name_only(by_name));
    if !text.is_empty() {
        text.push_str("All of it, as JSON: the file that $DESCENT_BINDINGS names.\n");
    }
    [("results", text + &missing)].into()
}

/// The same for a planner, with the results that are told and not only named.
pub(super) fn of_planner<'w>(
    subject: &PromptSubject<'w>,
    can_open: bool,
    room: usize,
) -> (LateValues, BTreeSet<&'w AtomId>) {
    let results = &upstream::results(subject);
    let missing = missing(subject);
    let reserved = 2 * NAMES_BYTES_MAX + missing.len() + 500;
    let room = room.saturating_sub(reserved);
    let told = upstream::told(results, planning::context(subject).mode(), room);
    let by_name = told.by_name.iter().map(ToString::to_string);
    let mut text = told.text + &by_name_only(by_name.collect());
    if !results.is_empty() && can_open {
        let lie = upstream::files_lie();
        text.push_str(&format!("Each of them whole, as JSON: {lie}.\n"));
        let (_, left_out) = upstream::bindings(results);
        let left_out = cut(&names(left_out.into_iter(), NAMES_MAX), NAMES_BYTES_MAX);
        let left_out = led(", but for ", &left_out);
        text.push_str(&format!(
            "All of them in one: the file that $DESCENT_BINDINGS names{left_out}.\n"
        ));
    }
    ([("results", text + &missing)].into(), told.told)
}

fn by_name_only(ids: Vec<String>) -> String {
    let count = match ids.len() {
        0 => return String::new(),
        1 => "1 result".to_string(),
        count => format!("{count} results"),
    };
    let names = cut(&names(ids.into_iter(), NAMES_MAX), NAMES_BYTES_MAX);
    format!("- by name only: {names} ({count})\n")
}

fn told(id: &AtomId, binding: &Binding) -> String {
    let whole = ResultText::of(id, binding);
    let files = binding.artifacts.iter();
    let told = ResultText {
        summary: cut(&whole.summary, SUMMARY_BYTES_MAX),
        handoff: cut(&whole.handoff, HANDOFF_BYTES_MAX),
        value: cut(&whole.value, VALUE_BYTES_MAX),
        files: names(files.map(|file| cut(file, FILE_BYTES_MAX)), FILES_MAX),
        ..whole
    };
    told.item()
}

fn missing(subject: &PromptSubject<'_>) -> String {
    let mut text = String::new();
    for missing in planning::missing(subject) {
        let (plan, open) = (missing.plan, missing.open.join("; "));
        text.push_str(&format!(
            "- {plan} is there in part: its budget was over before this was done: {open}\n"
        ));
    }
    cut(&text, MISSING_BYTES_MAX)
}

/// The results of an atom's dependencies: its own first, then those of the groups above it.
fn of_dependencies<'w>(subject: &PromptSubject<'w>) -> Vec<(AtomId, &'w Binding)> {
    let Some(x) = subject.x else {
        return Vec::new();
    };
    let world = subject.world;
    let mut found: Vec<(AtomId, &Binding)> = Vec::new();
    for dep in world.graph.waits_for(x) {
        let mut inside = leaves(subject, dep);
        inside.sort_by(|a, b| world.graph.id(*a).cmp_naturally(world.graph.id(*b)));
        for y in inside {
            let id = world.graph.id(y);
            let is_new = found.iter().all(|(known, _)| known != id);
            if let Some(binding) = subject.result(y).filter(|_| is_new) {
                found.push((id.clone(), binding));
            }
        }
    }
    found
}

/// The live tasks inside `x`.
fn leaves(subject: &PromptSubject<'_>, x: Ix) -> Vec<Ix> {
    let inside = subject.world.graph.subtree(x).into_iter();
    let is_task = |y: &Ix| {
        subject.world.graph.vertex(*y).kind == NodeKind::Task && subject.active.is_live(*y)
    };
    inside.filter(is_task).collect()
}

/// The text of `$DESCENT_BINDINGS`. It includes a planning step if a part of it is missing.
pub fn bindings(world: &World, intent: &Intent) -> String {
    let subject = PromptSubject::of(world, intent);
    let mut shown = if subject.is_plan() {
        upstream::bindings(&upstream::results(&subject)).0
    } else {
        of_dependencies(&subject)
    };
    shown.sort_by(|a, b| a.0.cmp(&b.0));
    let shown = shown.into_iter();
    let one = |(id, binding): (AtomId, &Binding)| (id.to_string(), binding_node(binding));
    let missing = planning::missing(&subject).into_iter().map(|missing| {
        let mut to = Writer::default();
        to.put("partial", Node::bool(true))
            .text("limit", missing.limit)
            .put("missing", texts_node(&missing.open));
        (missing.plan.to_string(), to.finish(&Extra::default()))
    });
    let all = shown.map(one).chain(missing);
    doc::write(&Node::object(all.collect())) + "\n"
}

// The finding of a probe, for those who do its task.

const FINDINGS_BYTES_MAX: usize = 2 << 10;

/// The values about a finding.
pub(super) fn found(subject: &PromptSubject<'_>) -> LateValues {
    let found = newest(subject).and_then(|found| Some((found.feasible?, &found.findings)));
    let values = found.map(|(feasible, findings)| {
        LateValues::from([
            ("can_be_done", flag(feasible)),
            ("cannot_be_done", flag(!feasible)),
            ("findings", cut(findings.trim(), FINDINGS_BYTES_MAX)),
        ])
    });
    values.unwrap_or_default()
}

/// The newest finding in the context of the attempt.
fn newest<'w>(subject: &PromptSubject<'w>) -> Option<&'w ProbeEntry> {
    let mut entries = subject.world.state.trail.iter().rev();
    entries.find_map(|entry| match &entry.kind {
        EntryKind::Probe(one)
            if one.atom == subject.intent.atom
                && one.context.as_ref() == Some(&subject.intent.context) =>
        {
            Some(one)
        }
        _ => None,
    })
}

// Lessons of earlier runs of the project: data, which orders nothing.

/// Bytes of the sentence before the fence, and of the fences.
const AROUND_BYTES: usize = 139;
/// No lesson makes its fence longer.
const FENCE: char = '`';
/// Bytes of the words of a lesson, and of its reason.
const LESSON_BYTES_MAX: usize = 400;
const BECAUSE_BYTES_MAX: usize = 300;

/// As many lessons as there is room for: a fence is not cut.
pub(super) fn lessons(subject: &PromptSubject<'_>, room: usize) -> String {
    // Nobody who does one task chooses another.
    let is_told = |one: &&Lesson| subject.is_plan() || one.kind != LessonKind::Prefer;
    let lessons = subject.world.state.lessons().iter().filter(is_told);
    let mut room = room.saturating_sub(AROUND_BYTES);
    let fits = |line: &String| {
        let left = room.checked_sub(line.len());
        room = left.unwrap_or(room);
        left.is_some()
    };
    fenced(&lessons.map(line).take_while(fits).collect::<String>())
}

fn line(lesson: &Lesson) -> String {
    let kind = match lesson.kind {
        LessonKind::MustNot => "failed, do not try again",
        LessonKind::Prefer => "worked",
        LessonKind::Note => "note",
    };
    let words = in_a_line(&lesson.lesson.replace(FENCE, "'"), LESSON_BYTES_MAX);
    let because = in_a_line(&lesson.because.replace(FENCE, "'"), BECAUSE_BYTES_MAX);
    let because = bracketed(Some(&*because).filter(|because| !because.is_empty()));
    let seen = match lesson.seen {
        0 | 1 => String::new(),
        seen => format!(", seen by {seen} runs"),
    };
    format!("- {kind}: {words}{because}{seen}\n")
}
