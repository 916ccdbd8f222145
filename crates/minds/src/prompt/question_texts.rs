//! The texts of questions: what failed, the plan, results, an ending, a difference, a rubric.
//!
//! Invariant: a pure function of the state. Not here: which question names which of them (`question_values`).

use super::{
    replan,
    result_text::ResultText,
    section::{bracketed, cut, data, fenced, in_a_line, indented, led, names},
    upstream,
};
use descent_core::doc::prelude::*;
use descent_core::{
    doc,
    fragment::delta,
    graph::Ix,
    id::AtomId,
    state::{
        Atom, AtomStatus,
        atom::AttentionCause,
        check::{Criterion, LEVEL_MAX, QualityLeaf},
        final_result::{FailedAtom, FinalResultRecord, OpenStep},
        profile::TaskProfile,
        record::EvidenceRecord,
    },
    world::{World, long_phase::LongPhase, results},
};

const DIFFERENCE_FILES_MAX: usize = 500;
/// Bytes of what a failed task, and a check that was measured, printed.
const OUTPUT_BYTES_MAX: usize = 1_000;
const EVIDENCE_BYTES_MAX: usize = 1 << 10;
const LINE_BYTES_MAX: usize = 400;
const BLOCKED_BYTES_MAX: usize = 600;
const CONTRADICTED_BYTES_MAX: usize = 300;
/// Bytes of the results of a phase, of which each has as much as any other, and not less than the least.
const RESULTS_BYTES_MAX: usize = 47 << 10;
const RESULT_BYTES_MIN: usize = 200;
const VALUE_BYTES_MAX: usize = 500;
const FILES_MAX: usize = 8;
/// Keys of an atom that say nothing of what is planned.
const OF_PROGRAM: [&str; 13] = [
    "status",
    "tries",
    "interruptions",
    "refined",
    "attention",
    "unjudged",
    "origin",
    "planned",
    "planning",
    "fragment",
    "fragments",
    "grant",
    "placed",
];

/// The difference from the start of a run to the tree that is looked at.
#[derive(Debug, Clone, Default)]
pub struct RatedDifference {
    /// A patch of what is rated, unless it is too long.
    pub patch: Option<String>,
    /// The paths in it.
    pub files: Vec<String>,
    /// Files of it with their text, as they are after it: those that have room.
    pub whole: Vec<(String, String)>,
}

/// The failures with their reasons, and the changes before this one.
pub(super) fn failed(world: &World) -> String {
    let text =
        replan::what_failed(world, OUTPUT_BYTES_MAX) + &blocked(world) + &contradicted(world);
    let earlier = replan::every_change(world);
    text + &led("\nChanges before this one; the same again is refused:\n", &earlier)
}

pub(super) fn blocked(world: &World) -> String {
    let line = |x: Ix| {
        let id = world.graph.id(x);
        match &world.state.atom(id)?.task()?.status {
            AtomStatus::Invalid(report) => Some(format!(
                "- {id} cannot be done as it is said: {}\n",
                in_a_line(&report.words, BLOCKED_BYTES_MAX)
            )),
            _ => None,
        }
    };
    world.graph.tasks().filter_map(line).collect()
}

/// Results that a change before marked.
pub(super) fn contradicted(world: &World) -> String {
    let bindings = world.state.bindings.iter();
    let marked = bindings.filter_map(|(id, binding)| {
        let mark = binding.of.task()?.attention.as_ref()?;
        let why = in_a_line(&mark.text, CONTRADICTED_BYTES_MAX);
        (mark.because == AttentionCause::Contradicted)
            .then(|| format!("- the result of {id} is said to contradict: {why}\n"))
    });
    marked.collect()
}

pub(super) fn plan(world: &World, marks: impl Fn(Ix) -> String) -> String {
    let order = world.graph.order().iter();
    data(&order.map(|x| atom_line(world, world.graph.id(*x), &marks(*x))).collect::<String>())
}

pub(super) fn atom_line(world: &World, id: &AtomId, marks: &str) -> String {
    let node = |atom: &Atom| atom.node().filtered(|key, _| !OF_PROGRAM.contains(&key));
    let atom = world.state.atom(id);
    atom.map(|atom| format!("{id}{marks}: {}\n", doc::write_compact(&node(atom))))
        .unwrap_or_default()
}

pub(super) fn marks(world: &World, x: Ix) -> String {
    let (state, graph) = (&world.state, &world.graph);
    if world.solved()[x] {
        return " (solved)".to_string();
    }
    if delta::may_grow(graph, x) {
        return " (may get a choice)".to_string();
    }
    let is_task = graph.tasks().any(|task| task == x);
    match delta::may_change(state, graph, x) {
        Ok(()) => " (may be changed)".to_string(),
        Err(why) if is_task => format!(" ({why})"),
        Err(_) => String::new(),
    }
}

/// The profile that a task was taken for.
pub(super) fn known_kind(one: &TaskProfile, because: &str) -> String {
    format!(
        "reasoning_depth {}, information_sufficiency {}, expected_tool_usage {}, output_breadth {}, \
         confidence_requirement {}\n\n{}",
        one.reasoning_depth,
        one.information_sufficiency.text(),
        one.expected_tool_usage.word(),
        one.output_breadth.word(),
        one.confidence_requirement.word(),
        data(because)
    )
}

/// The results of a phase, each as long as any other, so that none is left out for a longer one.
pub(super) fn phase_results(world: &World, phase: &LongPhase) -> String {
    let found = phase.atoms.iter().filter_map(|id| {
        let x = world.graph.ix(id)?;
        Some((id, results::result_in(&world.graph, &world.state, &world.active, x)?))
    });
    let found: Vec<_> = found.collect();
    let each = (RESULTS_BYTES_MAX / found.len().max(1)).max(RESULT_BYTES_MIN);
    let items = found.into_iter().map(|(id, result)| {
        let value = result.value.as_ref();
        let value = value.map(|value| doc::write_compact(&upstream::shortened(value, None)));
        let told = ResultText {
            value: cut(&value.unwrap_or_default(), VALUE_BYTES_MAX),
            files: names(result.artifacts.iter().cloned(), FILES_MAX),
            ..ResultText::of(id, result)
        };
        cut(told.item().trim_end(), each - 1) + "\n"
    });
    cut(&items.collect::<String>(), RESULTS_BYTES_MAX)
}

/// The results, a line each.
pub(super) fn done(world: &World) -> String {
    let line = |text: &str| in_a_line(text, LINE_BYTES_MAX);
    let bindings = world.state.bindings.iter();
    bindings.map(|(id, binding)| format!("- {id}: {}\n", line(&binding.summary))).collect()
}

pub(super) fn ended(result: &FinalResultRecord) -> String {
    let status = result.result.map_or("", |status| status.word());
    let reason = result.reason.map_or("", |reason| reason.word());
    format!("{status} ({reason}): {}", in_a_line(&result.summary, LINE_BYTES_MAX))
}

pub(super) fn evidence(one: &EvidenceRecord) -> String {
    let verdict = one.verdict.as_deref().unwrap_or("unknown");
    let check = in_a_line(one.check.as_deref().unwrap_or_default(), LINE_BYTES_MAX);
    let output = match verdict {
        "pass" => String::new(),
        _ => indented(&cut(one.output.trim(), EVIDENCE_BYTES_MAX)),
    };
    format!("- {verdict}: {check}{}\n{output}", bracketed(one.ended.as_deref()))
}

pub(super) fn open(result: &FinalResultRecord) -> String {
    let line = |text: &str| in_a_line(text, LINE_BYTES_MAX);
    let open = |step: &OpenStep| {
        let why = bracketed(step.reason.as_deref().map(line).as_deref());
        format!("- open: {}: {}{why}\n", step.atom, line(&step.description))
    };
    let failed = |one: &FailedAtom| format!("- failed: {}: {}\n", one.atom, line(&one.reason));
    let open = result.open.iter().map(open);
    open.chain(result.still_failed().map(failed)).collect()
}

/// The answer as the program words it.
pub(super) fn by_code(result: &FinalResultRecord) -> String {
    let Some(output) = &result.output else {
        return String::new();
    };
    let notes = output.notes.iter().map(|note| format!("note: {note}"));
    let lines = core::iter::once(output.text.to_string()).chain(notes);
    lines.collect::<Vec<String>>().join("\n")
}

pub(super) fn is_without_patch(one: &RatedDifference) -> bool {
    one.patch.as_ref().is_none_or(|patch| patch.trim().is_empty())
}

/// The patch, or the paths if it is too long.
pub(super) fn changed(one: &RatedDifference) -> String {
    match &one.patch {
        Some(patch) if !is_without_patch(one) => fenced(patch),
        _ => {
            let shown: Vec<&str> =
                one.files.iter().take(DIFFERENCE_FILES_MAX).map(String::as_str).collect();
            let more = one.files.len() - shown.len();
            let more = if more > 0 { format!("\n… and {more} more") } else { String::new() };
            fenced(&(shown.join("\n") + &more))
        }
    }
}

/// The files with their text.
pub(super) fn whole_files(one: &RatedDifference) -> String {
    // A path is an agent's word too.
    one.whole.iter().map(|(path, text)| fenced(&format!("{path}:\n{text}")) + "\n").collect()
}

pub(super) fn criterion(one: &Criterion) -> String {
    let words = one.description.as_deref().map(|words| format!(": {}", words.trim()));
    let mut text = format!("- {}{}\n", one.criterion, words.unwrap_or_default());
    let levels = one.levels.as_ref().and_then(|levels| levels.as_object());
    for member in levels.unwrap_or_default() {
        let meaning = match member.node.as_str() {
            Some(words) => words.to_string(),
            None => doc::write_compact(&member.node),
        };
        text.push_str(&format!("    - {}: {meaning}\n", member.key));
    }
    text
}

/// The form of the answer of a judge that rates.
pub(super) fn form(leaf: &QualityLeaf) -> String {
    if leaf.rubric.is_empty() {
        return "{\"score\": 0.0 to 1.0, \"because\": \"the reason in two sentences\"}".to_string();
    }
    let names = leaf.rubric.iter().map(|one| {
        let name = doc::write_compact(&doc::Node::string(one.criterion.as_str()));
        format!("{name}: 1 to {LEVEL_MAX}")
    });
    let names: Vec<String> = names.collect();
    format!(
        "{{\"levels\": {{{}}}, \"because\": \"the reason in two sentences\"}}",
        names.join(", ")
    )
}

pub(super) fn measured(one: &EvidenceRecord) -> String {
    let output = fenced(&cut(&one.output, EVIDENCE_BYTES_MAX));
    let verdict = one.verdict.as_deref().unwrap_or_default();
    let check = one.check.as_deref().unwrap_or_default();
    format!("- {verdict}: {check}{}\n{output}", bracketed(one.ended.as_deref()))
}
