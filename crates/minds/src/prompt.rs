//! The prompt of an attempt (contract §13): all that is known and of use to it, in parts.
//!
//! Invariants: a prompt has 64 KiB at most, whatever the state holds. Its beginning is the agreement and the day, byte
//! for byte the same for all attempts of a day. Verbatim words that have no room lie whole in a file beside it.

mod aligning;
mod built_on;
mod earlier_attempts;
mod planning;
mod preamble;
mod question_texts;
mod question_values;
mod replan;
mod result_text;
mod section;
mod subject;
mod task;
mod template;
#[cfg(test)]
mod tests;
mod upstream;
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
pub use planning::DIRECTIVE_FILE;
pub use planning::remaining;
pub use question_texts::RatedDifference;
pub use question_values::{DIFFERENCE_BYTES_MAX, QuestionInputs, question};
pub use section::{PromptFile, PromptPart};
pub use subject::{NextAttempt, Standing, next_attempt};
pub use template::TEMPLATES;
pub use upstream::RESULTS_FOLDER;
pub use workplace::Ending;

use section::{PromptSection, flag};
use subject::PromptSubject;
use template::{TemplateSection, TemplateValues};

/// Bytes of a prompt at most.
pub const BYTES_MAX: usize = 64 << 10;
/// The room that is left to results and earlier attempts, whatever else there is.
const SHARED_BYTES_MIN: usize = 8 << 10;
/// The room of a planner's results, earlier plans and attempts, however short its prompt is to be.
const PLANNER_BYTES_MIN: usize = 4 << 10;
/// Bytes of instructions that have hardly any room.
const INSTRUCTIONS_BYTES_MIN: usize = 896;
/// A blank line between two parts; there are fewer than so many.
const GAPS_BYTES_MAX: usize = 32;
/// The values that have the room that all else leaves.
const LATE: [&str; 11] = [
    "instructions",
    "results",
    "can_be_done",
    "cannot_be_done",
    "findings",
    "reasons",
    "earlier",
    "lessons",
    "texts",
    "files",
    "commands",
];

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

    fn of_template(template: &str, values: &TemplateValues<'_>) -> Self {
        let sections = template::sections(template).into_iter();
        Self::of(sections.filter_map(|one| one.filled(values)))
    }

    fn of(sections: impl IntoIterator<Item = PromptSection>) -> Self {
        let mut prompt = Self { parts: Vec::new(), files: Vec::new() };
        for (part, file) in sections.into_iter().filter_map(|one| one.told()) {
            prompt.parts.push(part);
            prompt.files.extend(file);
        }
        prompt
    }
}

/// The prompt of an attempt.
pub fn attempt(inputs: &PromptInputs<'_>) -> Prompt {
    let subject = &PromptSubject::of(inputs.world, inputs.intent);
    let mut draft = AttemptDraft::of(subject, inputs);
    let room = draft.share();
    draft.add_project(room);
    let mut prompt = Prompt::of(draft.sections);
    if subject.is_plan() && inputs.ending != Ending::Answer {
        prompt.files.extend(upstream::files(&upstream::results(subject)));
    }
    prompt.files.extend(planning::file(subject));
    prompt
}

/// The sections of a prompt. Those with late values are filled one after another, each in the room that is left.
struct AttemptDraft<'a> {
    subject: &'a PromptSubject<'a>,
    inputs: &'a PromptInputs<'a>,
    template: Vec<TemplateSection>,
    sections: Vec<PromptSection>,
}

impl<'a> AttemptDraft<'a> {
    fn of(subject: &'a PromptSubject<'a>, inputs: &'a PromptInputs<'a>) -> Self {
        let template = template::sections("attempt");
        let mut draft = Self { subject, inputs, template, sections: Vec::new() };
        let values = |name: &str| draft.value(name);
        draft.sections = draft.template.iter().filter_map(|one| one.filled(&values)).collect();
        draft
    }

    fn value(&self, name: &str) -> Option<String> {
        let (subject, inputs) = (self.subject, self.inputs);
        match name {
            "has_failed" => return Some(flag(earlier_attempts::has_failed(subject))),
            // The project stands beside no change of an agreement.
            "change" => return Some(String::new()),
            late if LATE.contains(&late) => return Some(String::new()),
            _ => {}
        }
        task::value(subject, name)
            .or_else(|| workplace::value(subject, inputs.ending, inputs.worker, name))
            .or_else(|| planning::value(subject, name))
            .or_else(|| replan::value(subject, name))
            .or_else(|| preamble::value(&inputs.world.state.objective, inputs.now, name))
    }

    /// The bytes of what is there so far.
    fn bytes(&self) -> usize {
        self.sections.iter().map(PromptSection::bytes).sum()
    }

    fn section(&self, name: &str) -> Option<&PromptSection> {
        self.sections.iter().find(|one| one.name == name)
    }

    fn limit(&self, name: &str) -> usize {
        self.section(name).map_or(0, |one| one.bytes_max)
    }

    /// The room for the text of a section with this limit.
    fn room(&self, name: &str, bytes_max: usize) -> usize {
        self.section(name).map_or(0, |one| one.room_in(bytes_max))
    }

    /// Puts late values into a section, within the limit of it and this one. Gives its bytes.
    fn put(&mut self, name: &str, bytes_max: usize, late: &[(&str, String)]) -> usize {
        let value = |name: &str| {
            let late = late.iter().find(|(known, _)| *known == name);
            late.map(|(_, text)| text.clone()).or_else(|| self.value(name))
        };
        let mut its = self.template.iter().filter(|one| one.name == name);
        let filled = its.find_map(|one| one.filled(&value));
        let place = self.sections.iter().position(|one| one.name == name);
        let (Some(place), Some(mut filled)) = (place, filled) else {
            return 0;
        };
        filled.bytes_max = filled.bytes_max.min(bytes_max);
        let bytes = filled.bytes();
        self.sections[place] = filled;
        bytes
    }

    /// Shares the room that all else leaves among instructions, results and earlier attempts; gives what they leave.
    fn share(&mut self) -> usize {
        let used = self.bytes() + GAPS_BYTES_MAX;
        let (room, for_instructions) = if self.subject.is_plan() {
            let room = self.room_of_planner(used);
            (room, room / 4)
        } else {
            let room = BYTES_MAX.saturating_sub(used);
            (room, room.saturating_sub(SHARED_BYTES_MIN))
        };
        let room = room.saturating_sub(self.put_instructions(for_instructions));
        let lessons = built_on::lessons(self.subject, self.room("remembered", room / 4));
        let remembered = self.put("remembered", room / 4, &[("lessons", lessons)]);
        let room = room.saturating_sub(remembered);
        if self.subject.is_plan() { self.share_of_planner(room) } else { self.share_of_task(room) }
    }

    fn put_instructions(&mut self, room: usize) -> usize {
        let Some(text) = self.inputs.instructions else {
            return 0;
        };
        let told = [("instructions", aligning::told(text))];
        let bytes = self.put("instructions", room.max(INSTRUCTIONS_BYTES_MIN), &told);
        // The whole of a file that is cut already is not there.
        let section = self.sections.iter_mut().find(|one| one.name == "instructions");
        if let Some(section) = section.filter(|_| text.is_cut) {
            section.file = None;
        }
        bytes
    }

    fn share_of_task(&mut self, room: usize) -> usize {
        let subject = self.subject;
        let for_results = self.room("results", room / 2);
        let results = built_on::results(subject, for_results);
        let found = |name: &'static str| (name, built_on::found(subject, name).unwrap_or_default());
        let found = ["can_be_done", "cannot_be_done", "findings"].map(found);
        let used = self.put("results", room / 2, &[("results", results)])
            + self.put("found", room / 4, &found);
        let room = room.saturating_sub(used);
        room.saturating_sub(self.put_earlier(room))
    }

    /// The same for a planner: its results have what the others do not need.
    fn share_of_planner(&mut self, room: usize) -> usize {
        let subject = self.subject;
        let earlier = self.put_earlier(room / 3);
        let for_reasons = self.limit("reasons").min(room / 4);
        let for_project = self.inputs.project.map_or(0, |_| room / 4);
        let for_results = room.saturating_sub(earlier + for_reasons + for_project);
        let known = upstream::results(subject);
        let can_open = self.inputs.ending != Ending::Answer;
        let inside = self.room("results", for_results);
        let (results, told) = built_on::of_planner(subject, &known, can_open, inside);
        let reasons = replan::reasons_of_plans(subject, &told);
        let used = self.put("results", for_results, &[("results", results)])
            + self.put("reasons", room / 4, &[("reasons", reasons)]);
        room.saturating_sub(used + earlier)
    }

    fn put_earlier(&mut self, room: usize) -> usize {
        let inside = self.room("earlier", room);
        let text = earlier_attempts::text(self.subject, &self.inputs.files, inside);
        self.put("earlier", room, &[("earlier", text)])
    }

    /// The room of a planner, which its context limits too. The least is there whatever else is told.
    fn room_of_planner(&self, used: usize) -> usize {
        let chars = planning::context(self.subject).chars();
        // A text has no more characters than bytes.
        let bytes_max = usize::try_from(chars).unwrap_or(BYTES_MAX).min(BYTES_MAX);
        let least = PLANNER_BYTES_MIN.min(BYTES_MAX.saturating_sub(used));
        bytes_max.saturating_sub(used).max(least)
    }

    /// The project's words about itself, as far as there is room: the names of files before their texts.
    fn add_project(&mut self, room: usize) {
        let Some(project) = self.inputs.project else {
            return;
        };
        let beside = self.limit("files") + self.limit("commands");
        let parts = [("project", "texts"), ("files", "files"), ("commands", "commands")];
        for (section, value) in parts {
            let most = if value == "texts" { room.saturating_sub(beside) } else { room };
            if most > beside {
                let text = aligning::project_value(project, value).unwrap_or_default();
                self.put(section, most, &[(value, text)]);
            }
        }
    }
}

/// The title of an atom on one line, as a commit message.
pub fn subject(world: &World, id: &AtomId) -> String {
    section::title(world, id).to_owned()
}
