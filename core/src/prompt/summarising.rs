//! The prompt of an agent that puts the results of a phase in short, for the planners that build on them.
//!
//! Invariant: the results stand in a fence that they cannot close, and are called data. Each has the same room, so that
//! none is left out for a longer one.

use alloc::{format, string::String, vec::Vec};

use super::{
    Prompt, agreement, contract,
    result_text::ResultText,
    section::PromptSection,
    text::{cut, data, names, title},
};
use crate::{
    doc,
    event::Clarity,
    id::{AtomId, UnixMillis},
    phase_summary,
    state::{Binding, Consult},
    world::{
        World,
        long_phase::{self, LongPhase},
        results,
    },
};

const TASK_BYTES_MAX: usize = 4 << 10;
const TITLE_BYTES_MAX: usize = 2_000;
const RESULTS_BYTES_MAX: usize = 48 << 10;
/// Left of them for the sentence before the fence, and the fence.
const AROUND_BYTES: usize = 1 << 10;
const RESULT_BYTES_MIN: usize = 200;
const VALUE_BYTES_MAX: usize = 500;
const FILES_MAX: usize = 8;
const ANSWER_BYTES_MAX: usize = 4 << 10;

/// The prompt; `None` if the phase is no more, or has other results.
pub fn summarising(world: &World, consult: &Consult, now: UnixMillis) -> Option<Prompt> {
    let (graph, active, state) = (&world.graph, &world.active, &world.state);
    let plan = consult.atom.as_ref()?;
    let phase = long_phase::find(graph, active, state, plan, &consult.subject)?;
    let agreed = agreement::sections(&state.objective, now);
    Some(Prompt::of(agreed.into_iter().chain([task(world, &phase), done(world, &phase), answer()])))
}

fn task(world: &World, phase: &LongPhase) -> PromptSection {
    let planned = cut(title(world, &phase.plan), TITLE_BYTES_MAX);
    PromptSection::new("summarise", "What you do", TASK_BYTES_MAX).with(format!(
        "You put the results of a phase in short, for whoever plans what comes next. Your words stand there in the place \
         of the results. You read, and change nothing.\nThe phase was planned for this step: {planned}\n\nKeep what a \
         plan needs: what was found and decided, what is there now, names, numbers and paths as they are written, what a \
         result hands on, and what is open or unclear. Leave out how it was done. Say nothing that is not here."
    ))
}

fn done(world: &World, phase: &LongPhase) -> PromptSection {
    let results = phase.atoms.iter().filter_map(|id| {
        let x = world.graph.ix(id)?;
        let result = results::result_in(&world.graph, &world.state, &world.active, x)?;
        Some((id, result))
    });
    let results: Vec<(&AtomId, &Binding)> = results.collect();
    let room = RESULTS_BYTES_MAX - AROUND_BYTES;
    let each = (room / results.len().max(1)).max(RESULT_BYTES_MIN);
    let items = results.iter().map(|(id, result)| {
        let item = cut(item(id, result).trim_end(), each - 1);
        format!("{item}\n")
    });
    let text = cut(&items.collect::<String>(), room);
    PromptSection::new("results", "The results", RESULTS_BYTES_MAX).with(data(&text))
}

fn item(id: &AtomId, result: &Binding) -> String {
    let value = result.value.as_ref();
    let value = value.map(|value| doc::write_compact(&contract::shortened(value, None)));
    let told = ResultText {
        id,
        summary: result.summary.clone(),
        handoff: result.handoff.clone().unwrap_or_default(),
        unclear: Clarity::words(result.unclear, &result.unclear_because),
        value: cut(&value.unwrap_or_default(), VALUE_BYTES_MAX),
        files: names(result.artifacts.iter().cloned(), FILES_MAX),
    };
    told.item()
}

fn answer() -> PromptSection {
    let form = r#"{"summary": "…"}"#;
    PromptSection::new("answer", "Your answer", ANSWER_BYTES_MAX).with(format!(
        "Answer with one JSON object and nothing else: {form}. It has 2,000 characters at most, and fits this JSON \
         Schema: {}",
        phase_summary::SCHEMA
    ))
}
