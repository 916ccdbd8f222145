//! The prompt of an agent that looks for issues across the phases of a pass that came to its end.
//!
//! Not here: the form of an answer (`validation`).

use super::{Prompt, agreement, assessing, refining, section::PromptSection, validating};
use crate::{id::UnixMillis, world::World};

const TASK_BYTES_MAX: usize = 4 << 10;

/// The prompt of a question about all phases together.
pub fn reviewing(world: &World, now: UnixMillis) -> Prompt {
    let agreed = agreement::sections(&world.state.objective, now);
    Prompt::of(agreed.into_iter().chain([
        task(),
        refining::failed(world),
        refining::bare_plan(world),
        assessing::done(world),
        refining::issues(world),
        validating::answer(),
    ]))
}

fn task() -> PromptSection {
    PromptSection::new("review", "What you do", TASK_BYTES_MAX).with(
        "Everything in this plan was tried, and the base case does not hold. You tell what does not fit together across \
         its steps: a result that contradicts another or the goal (consistency), that is not what its step was to make \
         (do_say_mismatch), that has no part in the goal (relevance), that names something that is not there \
         (hallucination), or that nobody could build on (specificity). You read, and change nothing. An empty list is a \
         good answer. Tell only what you are sure of.",
    )
}
