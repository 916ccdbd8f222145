//! The prompt of an attempt (contract §13): all that is known and of use to it, in parts.
//!
//! Invariants: a prompt has 64 KiB at most, whatever the state holds. Its beginning is the agreement and the day, byte
//! for byte the same for all attempts of a day. Verbatim words that have no room lie whole in a file beside it.

mod agreement;
mod aligning;
mod assessed;
mod assessing;
mod checks;
mod earlier;
mod files;
mod found;
mod groups;
mod others;
mod planning;
mod preview;
mod profiling;
mod project;
mod rating;
mod refining;
mod refuted;
mod replan;
mod results;
mod reviewing;
mod section;
mod subject;
mod task;
#[cfg(test)]
mod tests;
mod text;
mod validating;
mod wording;
mod workplace;

use alloc::{borrow::ToOwned, string::String, vec::Vec};

use crate::{
    id::{AtomId, UnixMillis},
    state::Intent,
    world::World,
};

pub use aligning::{AligningInputs, AligningTask, aligning};
pub use assessing::assessing;
pub use files::{EarlierPatch, PATCH_BYTES_MAX, PATCHES_MAX, PromptFiles, TreeStart, UnusedChange};
pub use planning::remaining;
pub use preview::{NextAttempt, Standing, next_attempt};
pub use profiling::profiling;
pub use project::{ProjectText, ProjectWords};
pub use rating::{DIFFERENCE_BYTES_MAX, RatedDifference, RatingInputs, rated_leaf, rating};
pub use refining::refining;
pub use results::bindings;
pub use reviewing::reviewing;
pub use section::{PromptFile, PromptPart};
pub use validating::validating;
pub use wording::wording;
pub use workplace::Ending;

use section::PromptSection;
use subject::PromptSubject;

/// Bytes of a prompt at most.
pub const BYTES_MAX: usize = 64 << 10;
/// Bytes at most of the results, and of the earlier attempts. They share the room that all else leaves.
const RESULTS_BYTES_MAX: usize = 16 << 10;
const EARLIER_BYTES_MAX: usize = 16 << 10;
/// The room that is left to both, whatever else there is.
const SHARED_BYTES_MIN: usize = 8 << 10;
/// A blank line between two parts; there are fewer than so many.
const GAPS_BYTES_MAX: usize = 32;
const OTHER_BYTES_MAX: usize = agreement::BYTES_MAX
    + task::BYTES_MAX
    + groups::BYTES_MAX
    + others::BYTES_MAX
    + workplace::BYTES_MAX
    + GAPS_BYTES_MAX;
const _: () = assert!(planning::BYTES_MAX + replan::BYTES_MAX <= task::OF_TASK_BYTES_MAX);
const _: () = assert!(OTHER_BYTES_MAX + SHARED_BYTES_MIN <= BYTES_MAX);

/// Everything that a prompt is made from.
#[derive(Debug, Clone, Copy)]
pub struct PromptInputs<'a> {
    pub world: &'a World,
    pub intent: &'a Intent,
    pub now: UnixMillis,
    pub files: PromptFiles<'a>,
    /// The project's words, for a model that cannot look.
    pub project: Option<&'a ProjectWords>,
    pub ending: Ending,
}

/// A prompt in its parts, and the files that lie beside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompt {
    pub parts: Vec<PromptPart>,
    pub files: Vec<PromptFile>,
}

impl Prompt {
    /// The text that `$DESCENT_PROMPT` names.
    pub fn text(&self) -> String {
        let parts: Vec<&str> = self.parts.iter().map(|part| part.text.as_str()).collect();
        parts.join("\n")
    }

    fn add(&mut self, section: PromptSection) {
        if let Some((part, file)) = section.told() {
            self.parts.push(part);
            self.files.extend(file);
        }
    }

    fn bytes(&self) -> usize {
        self.parts.iter().map(|part| part.text.len() + 1).sum()
    }
}

/// The prompt of an attempt.
pub fn attempt(inputs: &PromptInputs<'_>) -> Prompt {
    let subject = &PromptSubject::of(inputs.world, inputs.intent);
    let objective = &inputs.world.state.objective;
    let before = Prompt::of(
        agreement::sections(objective, inputs.now)
            .into_iter()
            .chain(task::wanted(subject))
            .chain([groups::section(subject)])
            .chain(task::judged(subject)),
    );
    let after = Prompt::of([
        others::at_work(subject),
        others::patterns(subject),
        replan::section(subject),
        planning::rounds(subject),
        planning::budget(subject),
        workplace::place(subject, inputs.ending),
        workplace::ending(subject, inputs.ending),
    ]);
    let room = BYTES_MAX.saturating_sub(before.bytes() + after.bytes() + GAPS_BYTES_MAX);
    let results = results::section(subject, RESULTS_BYTES_MAX.min(room / 2));
    let mut prompt = before;
    let used = prompt.bytes();
    prompt.add(results);
    prompt.add(found::section(subject, found::BYTES_MAX.min(room / 4)));
    let room = room.saturating_sub(prompt.bytes() - used);
    prompt.add(earlier::section(
        subject,
        &inputs.files,
        EARLIER_BYTES_MAX.min(room),
    ));
    let room = BYTES_MAX.saturating_sub(prompt.bytes() + after.bytes() + GAPS_BYTES_MAX);
    let words = inputs.project.map(|words| project::sections(words, room));
    words
        .into_iter()
        .flatten()
        .for_each(|section| prompt.add(section));
    prompt.parts.extend(after.parts);
    prompt.files.extend(after.files);
    prompt
}

impl Prompt {
    fn of(sections: impl IntoIterator<Item = PromptSection>) -> Self {
        let mut prompt = Self {
            parts: Vec::new(),
            files: Vec::new(),
        };
        for section in sections {
            prompt.add(section);
        }
        prompt
    }
}

/// The title of an atom on one line, as a commit message.
pub fn subject(world: &World, id: &AtomId) -> String {
    text::title(world, id).to_owned()
}
