//! The prompt of an agent that assesses a pass that came to its end.
//!
//! Not here: the form of an answer (`assessment`).

use alloc::{
    format,
    string::{String, ToString},
};

use super::{Prompt, agreement, refining, section::PromptSection, wording};
use crate::{
    assessment,
    id::UnixMillis,
    state::judged::{self, ConvergenceCriterion},
    world::World,
};

const TASK_BYTES_MAX: usize = 4 << 10;
const DONE_BYTES_MAX: usize = 16 << 10;
const ANSWER_BYTES_MAX: usize = 4 << 10;

/// The prompt of a question about the pass that came to its end.
pub fn assessing(world: &World, now: UnixMillis) -> Prompt {
    let agreed = agreement::sections(&world.state.objective, now);
    Prompt::of(agreed.into_iter().chain([
        task(),
        refining::failed(world),
        refining::plan(world),
        done(world),
        refining::issues(world),
        answer(world),
    ]))
}

fn task() -> PromptSection {
    PromptSection::new("assess", "What you do", TASK_BYTES_MAX).with(
        "Everything in this plan was tried, and the base case does not hold. You say how complete and how coherent the \
         work is, what is missing, and what contradicts itself. You read, and change nothing. What you say helps whoever \
         changes the plan; it decides nothing."
            .to_string(),
    )
}

/// The results, a line each.
pub(super) fn done(world: &World) -> PromptSection {
    PromptSection::new("done", "What was done", DONE_BYTES_MAX).with(wording::done(world))
}

fn answer(world: &World) -> PromptSection {
    let criteria = &world.state.objective.constraints.convergence;
    let line = |one: &ConvergenceCriterion| format!("- `{}`: {}\n", one.name, one.statement);
    let lines: String = judged::others(criteria).map(line).collect();
    let own = if lines.is_empty() {
        String::new()
    } else {
        format!("\n\n`criteria` has a score from 0 to 1 for each of these:\n{lines}")
    };
    PromptSection::new("answer", "Your answer", ANSWER_BYTES_MAX).with(format!(
        "Answer with one JSON object and nothing else. `completeness` and `coherence` are shares from 0 to 1; `blame` \
         names atoms of the plan.{own} It fits this JSON Schema: {}",
        assessment::SCHEMA
    ))
}
