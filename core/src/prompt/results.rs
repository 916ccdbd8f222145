//! The results that an attempt builds on: in its prompt, and as the text of `$DESCENT_BINDINGS`.

use alloc::{
    format,
    string::{String, ToString},
    vec::Vec,
};

use super::{
    planning,
    section::PromptSection,
    subject::PromptSubject,
    text::{cut, indented, names},
};
use crate::{
    doc::{self, Node},
    event::Clarity,
    graph::{Ix, NodeKind},
    id::AtomId,
    state::{
        Binding, Extra, Intent,
        fields::{Writer, texts_node},
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

/// A result by its name, as far as it is told.
struct KnownResult<'w> {
    id: AtomId,
    binding: &'w Binding,
}

/// The results in the order in which they have room, and the names of those that the bindings leave out.
struct KnownResults<'w> {
    shown: Vec<KnownResult<'w>>,
    left_out: Vec<String>,
}

pub(super) fn section(subject: &PromptSubject<'_>, bytes_max: usize) -> PromptSection {
    let section = PromptSection::new("results", "What is there already", bytes_max);
    let known = known(subject);
    let missing = missing(subject);
    let reserved = NAMES_BYTES_MAX + missing.len() + 200;
    let mut room = section.room().saturating_sub(reserved);
    let (mut text, mut by_name) = (String::new(), Vec::new());
    for one in &known.shown {
        let told = told(one);
        match room.checked_sub(told.len()).filter(|_| by_name.is_empty()) {
            Some(left) => {
                room = left;
                text.push_str(&told);
            }
            None => by_name.push(one.id.to_string()),
        }
    }
    if !by_name.is_empty() {
        let count = by_name.len();
        let names = cut(&names(by_name.into_iter(), NAMES_MAX), NAMES_BYTES_MAX);
        text.push_str(&format!(
            "- by name only, the file has them: {names} ({count} results)\n"
        ));
    }
    if !known.left_out.is_empty() {
        let names = cut(
            &names(known.left_out.into_iter(), NAMES_MAX),
            NAMES_BYTES_MAX,
        );
        text.push_str(&format!("- left out for want of room: {names}\n"));
    }
    if !text.is_empty() {
        text.push_str("All of it, as JSON: the file that $DESCENT_BINDINGS names.\n");
    }
    section.with(text + &missing)
}

fn told(one: &KnownResult<'_>) -> String {
    let binding = one.binding;
    let mut text = format!(
        "- {}: {}\n",
        one.id,
        cut(&binding.summary, SUMMARY_BYTES_MAX)
    );
    if let Some(handoff) = &binding.handoff {
        let handoff = indented(&cut(handoff, HANDOFF_BYTES_MAX));
        text.push_str(&format!("    (what it hands on:)\n{handoff}"));
    }
    if binding.unclear {
        text.push_str(&format!("    ({})\n", Clarity::PARTIAL_WORDS));
    }
    if let Some(value) = &binding.value {
        let value = cut(&doc::write_compact(value), VALUE_BYTES_MAX);
        text.push_str(&format!("    (its value: {value})\n"));
    }
    if !binding.artifacts.is_empty() {
        let files = binding.artifacts.iter();
        let files = names(files.map(|file| cut(file, FILE_BYTES_MAX)), FILES_MAX);
        text.push_str(&format!("    (its files: {files})\n"));
    }
    text
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

fn known<'w>(subject: &PromptSubject<'w>) -> KnownResults<'w> {
    let of = |results: Vec<(AtomId, &'w Binding)>| {
        let results = results.into_iter();
        results
            .map(|(id, binding)| KnownResult { id, binding })
            .collect()
    };
    match subject.is_plan() {
        true => {
            let (shown, left_out) = planning::results(subject);
            KnownResults {
                shown: of(shown),
                left_out,
            }
        }
        false => KnownResults {
            shown: of(upstream(subject)),
            left_out: Vec::new(),
        },
    }
}

/// The results of an atom's dependencies: its own first, then those of the groups above it.
fn upstream<'w>(subject: &PromptSubject<'w>) -> Vec<(AtomId, &'w Binding)> {
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
    let mut shown = known(&subject).shown;
    shown.sort_by(|a, b| a.id.cmp(&b.id));
    let shown = shown.into_iter();
    let one = |one: KnownResult<'_>| (one.id.to_string(), planning::binding_node(one.binding));
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
