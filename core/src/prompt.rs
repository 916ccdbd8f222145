//! The prompt of an attempt (contract §13): a bounded text, and the bindings that it depends on as
//! JSON.
//!
//! Invariant: the person's words are verbatim; everything else is cut to its limit.

mod groups;
mod planning;

use alloc::{
    borrow::ToOwned,
    format,
    string::{String, ToString},
    sync::Arc,
    vec::Vec,
};

use crate::{
    doc::{self, Node},
    graph::{Ix, NodeKind},
    id::{AtomId, UnixMillis},
    state::{
        Atom, Binding, Check, Extra, Intent,
        fields::{Writer, texts_node},
        side::LiesAt,
    },
    world::World,
};

pub use planning::remaining;

const WORDS: &str = include_str!("prompt/attempt.md");
const PLAN_WORDS: &str = include_str!("prompt/plan.md");
/// Maximum of failures described, the newest.
const FAILURES_MAX: usize = 10;
/// Maximum of different reasons of older failures, the newest.
const REASONS_MAX: usize = 8;
/// Maximum of characters of one failure's output.
const OUTPUT_CHARS_MAX: usize = 2_000;

/// The text that `$DESCENT_PROMPT` names.
pub fn attempt(world: &World, intent: &Intent, now: UnixMillis, lies_at: LiesAt<'_>) -> String {
    let state = &world.state;
    let objective = &state.objective;
    let atom = state.atom(&intent.atom);
    let description = title(world, &intent.atom);
    let pieces = [
        ("{day}", now.day()),
        ("{raw_input}", objective.raw_input.clone()),
        ("{goal}", objective.goal.clone()),
        ("{why}", objective.background_intent.clone()),
        ("{atom}", intent.atom.to_string()),
        ("{n}", intent.n.to_string()),
        ("{description}", description.to_owned()),
        ("{guidance}", guidance(world, &intent.atom)),
        ("{groups}", groups::section(world, &intent.atom)),
        ("{checks}", checks(world, &intent.atom)),
        ("{whole}", whole(world, &intent.atom)),
        ("{protected}", protected(&objective.constraints.protected)),
        ("{bindings}", results(world, &intent.atom)),
        ("{failures}", failures(world, &intent.atom, lies_at)),
        ("{rounds}", planning::rounds(world, intent)),
        ("{budget}", planning::budget(world, intent)),
    ];
    let is_plan = atom.is_some_and(|atom| atom.plan().is_some());
    fill(if is_plan { PLAN_WORDS } else { WORDS }, &pieces)
}

/// Fills in each piece once, so that braces inside a piece stay.
fn fill(words: &str, pieces: &[(&str, String)]) -> String {
    let mut text = String::new();
    let mut rest = words;
    while let Some((place, mark, piece)) = pieces
        .iter()
        .filter_map(|(mark, piece)| Some((rest.find(mark)?, mark, piece)))
        .min_by_key(|(place, ..)| *place)
    {
        text.push_str(rest.get(..place).unwrap_or_default());
        text.push_str(piece);
        rest = rest.get(place + mark.len()..).unwrap_or_default();
    }
    text + rest
}

fn checks(world: &World, id: &AtomId) -> String {
    match own_checks(world, id) {
        Some(check) => listed("It is done when this holds", check),
        None => String::new(),
    }
}

/// A person's words, verbatim.
fn guidance(world: &World, id: &AtomId) -> String {
    let task = world.state.atom(id).and_then(|atom| atom.task());
    let words = task.map_or(&[][..], |task| &task.spec.guidance);
    if words.is_empty() {
        return String::new();
    }
    let words: Vec<String> = words.iter().map(|words| format!("{words}\n")).collect();
    format!(
        "\n# What a person says to this, and what counts most\n\n{}",
        words.join("\n")
    )
}

fn own_checks<'w>(world: &'w World, id: &AtomId) -> Option<&'w Check> {
    let task = world.state.atom(id)?.task()?;
    task.spec.checks.as_ref()
}

/// The base case, unless the atom's own checks contain it already: the measure of the whole is no
/// secret.
fn whole(world: &World, id: &AtomId) -> String {
    let base_case = world.state.objective.base_case.as_ref();
    match base_case.filter(|whole| own_checks(world, id) != Some(whole)) {
        Some(check) => listed(
            "The goal is reached, all parts together, when this holds",
            check,
        ),
        None => String::new(),
    }
}

fn listed(head: &str, check: &Check) -> String {
    let mut text = format!("\n# {head}\n\n");
    for leaf in check.leaves() {
        let mut rule = leaf.clone();
        let name = rule.name.take();
        let rule = rule.title();
        match name {
            Some(name) => text.push_str(&format!("- {name}: {rule}\n")),
            None => text.push_str(&format!("- {rule}\n")),
        }
    }
    text
}

fn protected(globs: &[String]) -> String {
    if globs.is_empty() {
        return String::new();
    }
    let mut text =
        "\n# Leave these files as they are: an attempt that changes one fails\n\n".to_owned();
    for glob in globs {
        text.push_str(&format!("- {glob}\n"));
    }
    text
}

fn results(world: &World, id: &AtomId) -> String {
    let mut text = String::new();
    let (shown, left_out) = inputs(world, id);
    for (name, binding) in shown {
        text.push_str(&format!("- {name}: {}\n", binding.summary));
    }
    if !left_out.is_empty() {
        let names = left_out.join(", ");
        text.push_str(&format!("- left out for want of room: {names}\n"));
    }
    for missing in planning::missing(world, id) {
        let (plan, open) = (missing.plan, missing.open.join("; "));
        text.push_str(&format!(
            "- {plan} is there in part: its budget was over before this was done: {open}\n"
        ));
    }
    if text.is_empty() {
        text
    } else {
        format!("\n# What is there already\n\n{text}")
    }
}

fn failures(world: &World, id: &AtomId, lies_at: LiesAt<'_>) -> String {
    let failures = world.state.failures().map(|(_, failure)| failure);
    let mut newest: Vec<_> = failures.filter(|failure| failure.atom == *id).collect();
    let older = newest.split_off(newest.len().min(FAILURES_MAX));
    if newest.is_empty() {
        return String::new();
    }
    let mut text = "\n# What was tried before and failed: go another way\n\n".to_owned();
    text.push_str(&alike(older.iter().map(|failure| failure.reason.as_str())));
    for failure in newest.into_iter().rev() {
        text.push_str(&format!("- {}\n", failure.reason));
        let handoff = failure.handoff.as_deref().unwrap_or_default();
        text.push_str(&reported("what it reported", &failure.summary));
        text.push_str(&reported("what it left for the next", handoff));
        text.push_str(&indented(&failure.output));
        if let Some(path) = failure.whole.as_ref().and_then(lies_at) {
            text.push_str(&format!("    (all that was printed: {path})\n"));
        }
    }
    text
}

/// The report of a failed attempt, if it made one.
fn reported(head: &str, words: &str) -> String {
    match words.is_empty() {
        true => String::new(),
        false => format!("    ({head}:)\n{}", indented(words)),
    }
}

fn indented(text: &str) -> String {
    let text: String = text.chars().take(OUTPUT_CHARS_MAX).collect();
    text.lines().map(|line| format!("    {line}\n")).collect()
}

/// Older failures, the newest first, as lines with how often each came about, the oldest first.
fn alike<'r>(reasons: impl Iterator<Item = &'r str>) -> String {
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for reason in reasons {
        match counts.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, count)) => *count += 1,
            None => counts.push((reason, 1)),
        }
    }
    counts.truncate(REASONS_MAX);
    let line = |(reason, count): &(&str, usize)| format!("- {count} × {reason}\n");
    counts.iter().rev().map(line).collect()
}

/// The bindings of an atom's dependencies, by the name of the dependency.
fn upstream<'w>(world: &'w World, id: &AtomId) -> Vec<(String, &'w Binding)> {
    let Some(x) = world.graph.ix(id) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for dep in world.graph.waits_for(x) {
        leaves(world, dep, &mut |y| {
            if let Some(binding) = world.state.bindings.get(world.graph.id(y)) {
                found.push((world.graph.id(y).to_string(), &**binding));
            }
        });
    }
    found.sort_by(|(a, _), (b, _)| a.cmp(b));
    found.dedup_by(|(a, _), (b, _)| a == b);
    found
}

/// The live tasks inside `x`.
fn leaves(world: &World, x: Ix, each: &mut impl FnMut(Ix)) {
    for y in world.graph.subtree(x) {
        if world.graph.vertex(y).kind == NodeKind::Task && world.active.is_live(y) {
            each(y);
        }
    }
}

/// The results that an attempt is told, and the names of those left out.
fn inputs<'w>(world: &'w World, id: &AtomId) -> (Vec<(String, &'w Binding)>, Vec<String>) {
    let is_plan = |atom: &Arc<Atom>| atom.plan().is_some();
    match world.state.atom(id).is_some_and(is_plan) {
        true => planning::bindings(world, id),
        false => (upstream(world, id), Vec::new()),
    }
}

fn binding_node(binding: &Binding) -> Node {
    let mut to = Writer::default();
    to.text("summary", &binding.summary)
        .some("value", binding.value.clone());
    to.texts_unless_empty("artifacts", &binding.artifacts);
    to.some("handoff", binding.handoff.as_deref().map(Node::string));
    to.finish(&Extra::default())
}

fn title<'w>(world: &'w World, id: &'w AtomId) -> &'w str {
    let atom = world.state.atom(id);
    atom.map_or(id.as_str(), |atom| atom.title(id))
}

/// The text of `$DESCENT_BINDINGS`. It includes a planning step if a part of it is missing.
pub fn bindings(world: &World, id: &AtomId) -> String {
    let (shown, _) = inputs(world, id);
    let one = |(name, binding): (String, &Binding)| (name, binding_node(binding));
    let missing = planning::missing(world, id).into_iter().map(|missing| {
        let mut to = Writer::default();
        to.put("partial", Node::bool(true))
            .text("limit", missing.limit)
            .put("missing", texts_node(&missing.open));
        (missing.plan.to_string(), to.finish(&Extra::default()))
    });
    let all = shown.into_iter().map(one).chain(missing);
    doc::write(&Node::object(all.collect())) + "\n"
}

/// The title of an atom on one line, as a commit message.
pub fn subject(world: &World, id: &AtomId) -> String {
    title(world, id).to_owned()
}
