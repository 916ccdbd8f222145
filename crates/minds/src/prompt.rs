//! The prompt of an attempt (contract §13): all that is known and of use to it, in parts.
//!
//! Invariants: a prompt has 64 KiB at most, whatever the state holds. Its beginning is the agreement and the day, byte
//! for byte the same for all attempts of a day. Verbatim words that have no room lie whole in a file beside it.

mod aligning;
mod built_on;
mod earlier_attempts;
mod final_words;
mod planning;
mod preamble;
mod profiling;
mod rating;
mod refining;
mod replan;
mod result_text;
mod section;
mod subject;
mod task;
#[cfg(test)]
mod tests;
mod upstream;
mod validating;
mod workplace;

use alloc::{borrow::ToOwned, string::String, vec::Vec};

use descent_core::{
    id::{AgentName, AtomId, UnixMillis},
    state::Intent,
    world::World,
};

pub use aligning::{AligningInputs, AligningTask, aligning};
pub use aligning::{INSTRUCTIONS_BYTES_MAX, ProjectText, ProjectWords};
pub use built_on::bindings;
pub use earlier_attempts::{
    EarlierPatch, PATCH_BYTES_MAX, PATCHES_MAX, PromptFiles, TreeStart, UnusedChange,
};
pub use final_words::wording;
pub use planning::DIRECTIVE_FILE;
pub use planning::remaining;
pub use profiling::profiling;
pub use rating::{DIFFERENCE_BYTES_MAX, RatedDifference, RatingInputs, rated_leaf, rating};
pub use refining::assessing;
pub use refining::refining;
pub use refining::reviewing;
pub use section::{PromptFile, PromptPart};
pub use subject::{NextAttempt, Standing, next_attempt};
pub use upstream::RESULTS_FOLDER;
pub use validating::summarising;
pub use validating::validating;
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
/// The room of a planner's results, earlier plans and attempts, however short its prompt is to be.
const PLANNER_BYTES_MIN: usize = 4 << 10;
/// A blank line between two parts; there are fewer than so many.
const GAPS_BYTES_MAX: usize = 32;
const OTHER_BYTES_MAX: usize = preamble::BYTES_MAX
    + task::BYTES_MAX
    + task::GROUPS_BYTES_MAX
    + task::ALL_OTHERS_BYTES_MAX
    + workplace::BYTES_MAX
    + GAPS_BYTES_MAX;
const _: () = assert!(
    planning::BYTES_MAX + replan::BYTES_MAX + planning::DIRECTIVE_BYTES_MAX
        <= task::OF_TASK_BYTES_MAX
);
const _: () =
    assert!(OTHER_BYTES_MAX + SHARED_BYTES_MIN + aligning::INSTRUCTIONS_BYTES_MIN <= BYTES_MAX);

/// Everything that a prompt is made from.
#[derive(Debug, Clone, Copy)]
pub struct PromptInputs<'a> {
    pub world: &'a World,
    pub intent: &'a Intent,
    pub now: UnixMillis,
    pub files: PromptFiles<'a>,
    /// The project's words, for a model that cannot look.
    pub project: Option<&'a ProjectWords>,
    /// The project's instructions, for an agent that does not read them by itself.
    pub instructions: Option<&'a ProjectText>,
    /// Who does a task without an action.
    pub worker: Option<&'a AgentName>,
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
    let mut prompt = Prompt::of(preamble::sections(objective, inputs.now));
    let wanted = task::wanted(subject).into_iter();
    let wanted = wanted.chain([task::section(subject)]);
    let task = Prompt::of(wanted.chain(task::judged(subject)));
    let after = Prompt::of([
        task::at_work(subject),
        task::patterns(subject),
        replan::section(subject),
        planning::section(subject),
        planning::rounds(subject),
        planning::budget(subject),
        workplace::place(subject, inputs.ending),
        workplace::ending(subject, inputs.ending, inputs.worker),
    ]);
    let used = prompt.bytes() + task.bytes() + after.bytes() + GAPS_BYTES_MAX;
    let (room, for_instructions) = if subject.is_plan() {
        let room = room_of_planner(subject, used);
        (room, room / 4)
    } else {
        let room = BYTES_MAX.saturating_sub(used);
        (room, room.saturating_sub(SHARED_BYTES_MIN))
    };
    let instructions = aligning::instructions(inputs.instructions, for_instructions);
    let room = room.saturating_sub(instructions.bytes());
    prompt.add(instructions);
    prompt.parts.extend(task.parts);
    prompt.files.extend(task.files);
    let own = prompt.bytes();
    if subject.is_plan() {
        shared_of_planner(&mut prompt, subject, inputs, room)
    } else {
        shared(&mut prompt, subject, inputs, room)
    }
    let room = room.saturating_sub(prompt.bytes() - own);
    let words = inputs.project.map(|words| aligning::sections(words, room));
    words.into_iter().flatten().for_each(|section| prompt.add(section));
    prompt.parts.extend(after.parts);
    prompt.files.extend(after.files);
    prompt.files.extend(planning::file(subject));
    prompt
}

/// Adds the results and the earlier attempts, which share the room that all else leaves.
fn shared(
    prompt: &mut Prompt,
    subject: &PromptSubject<'_>,
    inputs: &PromptInputs<'_>,
    room: usize,
) {
    let remembered = built_on::remembered_section(subject, room / 4);
    let room = room.saturating_sub(remembered.bytes());
    let used = prompt.bytes();
    prompt.add(built_on::section(subject, RESULTS_BYTES_MAX.min(room / 2)));
    prompt.add(built_on::found_section(subject, built_on::BYTES_MAX.min(room / 4)));
    let room = room.saturating_sub(prompt.bytes() - used);
    let bytes_max = EARLIER_BYTES_MAX.min(room);
    prompt.add(earlier_attempts::section(subject, &inputs.files, bytes_max));
    prompt.add(remembered);
}

/// The room of a planner, which its context limits too. The least is there whatever else is told.
fn room_of_planner(subject: &PromptSubject<'_>, used: usize) -> usize {
    let chars = planning::context(subject).chars();
    // A text has no more characters than bytes.
    let bytes_max = usize::try_from(chars).unwrap_or(BYTES_MAX).min(BYTES_MAX);
    let least = PLANNER_BYTES_MIN.min(BYTES_MAX.saturating_sub(used));
    bytes_max.saturating_sub(used).max(least)
}

/// The same for a planner: its results have what the others do not need.
fn shared_of_planner(
    prompt: &mut Prompt,
    subject: &PromptSubject<'_>,
    inputs: &PromptInputs<'_>,
    room: usize,
) {
    let remembered = built_on::remembered_section(subject, room / 4);
    let room = room.saturating_sub(remembered.bytes());
    let earlier =
        earlier_attempts::section(subject, &inputs.files, EARLIER_BYTES_MAX.min(room / 3));
    let reasons_max = replan::REASONS_BYTES_MAX.min(room / 4);
    let project = inputs.project.map_or(0, |_| room / 4);
    let others = earlier.bytes() + reasons_max + project;
    let bytes_max = room.saturating_sub(others);
    let known = upstream::results(subject);
    let can_open = inputs.ending != Ending::Answer;
    let (results, told) = built_on::of_planner(subject, &known, can_open, bytes_max);
    prompt.add(results);
    prompt.add(replan::reasons_section(subject, &told, reasons_max));
    prompt.add(earlier);
    prompt.add(remembered);
    if can_open {
        prompt.files.extend(upstream::files(&known));
    }
}

impl Prompt {
    fn of(sections: impl IntoIterator<Item = PromptSection>) -> Self {
        let mut prompt = Self { parts: Vec::new(), files: Vec::new() };
        for section in sections {
            prompt.add(section);
        }
        prompt
    }
}

/// The title of an atom on one line, as a commit message.
pub fn subject(world: &World, id: &AtomId) -> String {
    section::title(world, id).to_owned()
}
