//! The prompt of an agent that words the final answer of a run that has ended.
//!
//! Invariant: everything that agents made stands in a fence that they cannot close, and is called data. Not here: the
//! form of an answer (`wording`).

use alloc::{
    format,
    string::{String, ToString},
    vec::Vec,
};

use super::{
    Prompt, preamble,
    rating::{self, RatedDifference},
    section::{PromptSection, cut, data, in_a_line},
};
use descent_core::{
    id::UnixMillis,
    state::{
        final_result::{FailedAtom, FinalResultRecord, OpenStep},
        record::EvidenceRecord,
    },
    wording,
    world::World,
};

const TASK_BYTES_MAX: usize = 4 << 10;
const PART_BYTES_MAX: usize = 16 << 10;
const DRIFT_BYTES_MAX: usize = 2 << 10;
const ANSWER_BYTES_MAX: usize = 4 << 10;
const LINE_BYTES_MAX: usize = 400;
const OUTPUT_BYTES_MAX: usize = 1 << 10;
/// Left of a part for its head, the sentence before the fence, and the fence.
const AROUND_BYTES: usize = 1 << 10;

/// The prompt of the question. The difference is there where it is compared with what was
/// asked for.
pub fn wording(
    world: &World,
    result: &FinalResultRecord,
    difference: Option<&RatedDifference>,
    now: UnixMillis,
) -> Prompt {
    let state = &world.state;
    let agreed = preamble::sections(&state.objective, now);
    let told = agreed.into_iter().filter(|one| one.name != "protected");
    let drift = difference.map(|difference| [rating::difference(difference), drift()]);
    Prompt::of(
        told.chain([
            task(),
            part("ended", "How the run ended", &ended(result)),
            part("evidence", "What was measured on the result", &evidence(result)),
            part("done", "What was done", &done(world)),
            part("open", "What is open, or failed", &open(result)),
            part("by_code", "The answer as the program words it", &by_code(result)),
        ])
        .chain(drift.into_iter().flatten())
        .chain([answer(difference.is_some())]),
    )
}

fn task() -> PromptSection {
    PromptSection::new("wording", "What you do", TASK_BYTES_MAX).with(
        "The run has ended, and its result stands: nothing that you say changes it. You word the answer for the person \
         who asked: what was asked, what was reached, what was done for it, and what is open. Say what was measured as \
         it was measured, and nothing that is not here. You read, and change nothing.",
    )
}

fn part(name: &'static str, head: &str, text: &str) -> PromptSection {
    let section = PromptSection::new(name, head, PART_BYTES_MAX);
    if text.trim().is_empty() {
        section
    } else {
        section.with(data(&cut(text, PART_BYTES_MAX - AROUND_BYTES)))
    }
}

fn line(text: &str) -> String {
    in_a_line(text, LINE_BYTES_MAX)
}

fn ended(result: &FinalResultRecord) -> String {
    let status = result.result.map_or("", |status| status.word());
    let reason = result.reason.map_or("", |reason| reason.word());
    format!("{status} ({reason}): {}", line(&result.summary))
}

fn evidence(result: &FinalResultRecord) -> String {
    let one = |one: &EvidenceRecord| {
        let verdict = one.verdict.as_deref().unwrap_or("unknown");
        let check = line(one.check.as_deref().unwrap_or_default());
        let ended = one.ended.as_deref().map(|ended| format!(" ({ended})"));
        let output = match verdict {
            "pass" => String::new(),
            _ => cut(one.output.trim(), OUTPUT_BYTES_MAX),
        };
        let output: Vec<String> = output.lines().map(|line| format!("    {line}\n")).collect();
        format!("- {verdict}: {check}{}\n{}", ended.unwrap_or_default(), output.concat())
    };
    result.evidence.iter().map(one).collect()
}

/// The results, a line each.
pub(super) fn done(world: &World) -> String {
    let bindings = world.state.bindings.iter();
    let lines = bindings.map(|(id, binding)| format!("- {id}: {}\n", line(&binding.summary)));
    lines.collect()
}

fn open(result: &FinalResultRecord) -> String {
    let open = |step: &OpenStep| {
        let why = step.reason.as_deref().map(|why| format!(" ({})", line(why)));
        let why = why.unwrap_or_default();
        format!("- open: {}: {}{why}\n", step.atom, line(&step.description))
    };
    let failed = |one: &FailedAtom| format!("- failed: {}: {}\n", one.atom, line(&one.reason));
    let open = result.open.iter().map(open);
    open.chain(result.still_failed().map(failed)).collect()
}

fn by_code(result: &FinalResultRecord) -> String {
    let Some(output) = &result.output else {
        return String::new();
    };
    let notes = output.notes.iter().map(|note| format!("note: {note}"));
    let lines = core::iter::once(output.text.to_string()).chain(notes);
    lines.collect::<Vec<String>>().join("\n")
}

fn drift() -> PromptSection {
    let head = "What you also compare";
    PromptSection::new("drift", head, DRIFT_BYTES_MAX).with(
        "Compare what was agreed on, and what was first asked as far as the agreement does not replace it, with the \
         difference that the work made. In `drift`, tell what was asked for and is not in the difference, and what is in \
         it and nobody asked for. An empty list is a good answer. Tell only what you are sure of; it is advice.",
    )
}

fn answer(compares: bool) -> PromptSection {
    let form = if compares {
        r#"{"text": "…", "notes": ["…"], "drift": ["…"]}"#
    } else {
        r#"{"text": "…", "notes": ["…"]}"#
    };
    PromptSection::new("answer", "Your answer", ANSWER_BYTES_MAX).with(format!(
        "Answer with one JSON object and nothing else: {form}. `notes` holds what a reader should know beside the text. \
         It fits this JSON Schema: {}",
        wording::schema(compares)
    ))
}
