//! The prompt of an agent that says what kind of task a goal is: before anything is planned, and again where a pass shows
//! that it was taken for another.
//!
//! Not here: the form of an answer (`profile::inferred`).

use alloc::{format, vec::Vec};

use super::{
    Prompt, preamble, refining,
    section::{PromptSection, data},
};
use descent_core::{
    id::UnixMillis,
    profile,
    state::profile::{ConfidenceNeed, OutputBreadth, ToolUsage},
    world::World,
};

const TASK_BYTES_MAX: usize = 4 << 10;
const SAID_BYTES_MAX: usize = 4 << 10;
const ANSWER_BYTES_MAX: usize = 4 << 10;

/// The prompt of a question about the kind of a task.
pub fn profiling(world: &World, now: UnixMillis) -> Prompt {
    let agreed = preamble::sections(&world.state.objective, now);
    let is_first = world.state.run.profile.is_none();
    let first = [task(is_first), refining::bare_plan(world)];
    let seen = if is_first {
        Vec::new()
    } else {
        Vec::from([
            known(world),
            refining::failed(world),
            refining::issues(world),
            refining::opinion(world),
        ])
    };
    let sections = agreed.into_iter().chain(first).chain(seen);
    Prompt::of(sections.chain([answer()]))
}

fn task(is_first: bool) -> PromptSection {
    let when = if is_first {
        "Nothing was planned or done yet."
    } else {
        "A pass came to its end: it did not converge, issues of the plan are open, and a task could not be done as it \
             was said. Say what kind of task it is by what is known now."
    };
    PromptSection::new("profile", "What you do", TASK_BYTES_MAX).with(format!(
        "You say what kind of task this goal is. {when} You read, and change nothing. What you say decides how many plans \
         may be made one after another, how deep they nest, and how much they are looked at: a deeper task, more tools, a \
         broader result and more confidence give more; more that is known gives less."
    ))
}

/// The profile that was taken before.
fn known(world: &World) -> PromptSection {
    let section = PromptSection::new("known", "What it was taken for", SAID_BYTES_MAX);
    let Some(known) = &world.state.run.profile else {
        return section;
    };
    section.with(format!(
        "reasoning_depth {}, information_sufficiency {}, expected_tool_usage {}, output_breadth {}, \
         confidence_requirement {}\n\n{}",
        known.profile.reasoning_depth,
        known.profile.information_sufficiency.text(),
        known.profile.expected_tool_usage.word(),
        known.profile.output_breadth.word(),
        known.profile.confidence_requirement.word(),
        data(&known.raw_inference)
    ))
}

fn answer() -> PromptSection {
    let words = |words: &[&str]| words.join(", ");
    let [tools, breadth, confidence] = [
        words(&ToolUsage::WORDS.map(|(word, _)| word)),
        words(&OutputBreadth::WORDS.map(|(word, _)| word)),
        words(&ConfidenceNeed::WORDS.map(|(word, _)| word)),
    ];
    PromptSection::new("answer", "Your answer", ANSWER_BYTES_MAX).with(format!(
        "Answer with one JSON object and nothing else:\n- `reasoning_depth`: 1 (a single look) to 5\n- \
         `information_sufficiency`: how much of what is needed is known, from 0 to 1\n- `expected_tool_usage`: {tools}\n- \
         `output_breadth`: {breadth}\n- `confidence_requirement`: {confidence}\n- `raw_inference`: your reasons, in two \
         sentences\n\nIt fits this JSON Schema: {}",
        profile::SCHEMA
    ))
}
