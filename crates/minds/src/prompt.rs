//! The prompt of an attempt (contract §13): all that is known and of use to it, in parts.
//!
//! Invariants: a prompt has 64 KiB at most, whatever the state holds. Its beginning is the agreement and the day, byte
//! for byte the same for all attempts of a day. Verbatim words that have no room lie whole in a file beside it.

mod aligning;
mod built_on;
mod correcting;
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

use descent_core::doc::prelude::*;
use descent_core::{
    id::{AgentName, AtomId, UnixMillis},
    state::Intent,
    world::World,
};

pub use aligning::{AligningInputs, AligningTask, aligning};
pub use aligning::{INSTRUCTIONS_BYTES_MAX, ProjectText, ProjectWords};
pub use built_on::bindings;
pub use correcting::{CorrectingInputs, correcting};
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

use section::{LateValues, PromptSection, flag};
use subject::PromptSubject;
use template::TemplateValues;

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
/// The sections that share the room which all others leave.
const LATE: [&str; 9] = [
    "instructions",
    "results",
    "found",
    "reasons",
    "earlier",
    "remembered",
    "project",
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
        let mut sections: Vec<_> = sections.filter_map(|one| one.headed(values)).collect();
        sections.iter_mut().for_each(|one| one.fill(values));
        Self::of(sections)
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

/// The sections of a prompt. The late ones are filled one after another, each in the room that is left.
struct AttemptDraft<'a> {
    subject: &'a PromptSubject<'a>,
    inputs: &'a PromptInputs<'a>,
    sections: Vec<PromptSection>,
}

impl<'a> AttemptDraft<'a> {
    fn of(subject: &'a PromptSubject<'a>, inputs: &'a PromptInputs<'a>) -> Self {
        let mut draft = Self { subject, inputs, sections: Vec::new() };
        let values = |name: &str| draft.value(name);
        let template = template::sections("attempt").into_iter();
        let mut sections: Vec<_> = template.filter_map(|one| one.headed(&values)).collect();
        let early = sections.iter_mut().filter(|one| !LATE.contains(&one.name));
        early.for_each(|one| one.fill(&values));
        draft.sections = sections;
        draft
    }

    fn value(&self, name: &str) -> Option<String> {
        let (subject, inputs) = (self.subject, self.inputs);
        match name {
            "has_failed" => return Some(flag(earlier_attempts::has_failed(subject))),
            // The project stands beside no change of an agreement.
            "change" => return Some(String::new()),
            _ => {}
        }
        task::value(subject, name)
            .or_else(|| workplace::value(subject, inputs.ending, inputs.worker, name))
            .or_else(|| planning::value(subject, name))
            .or_else(|| replan::value(subject, name))
            .or_else(|| preamble::value(&inputs.world.state.objective, inputs.now, name))
    }

    fn limit(&self, name: &str) -> usize {
        let section = self.sections.iter().find(|one| one.name == name);
        section.map_or(0, |one| one.bytes_max)
    }

    /// Fills a section, within this limit too. Gives its bytes.
    fn put(
        &mut self,
        name: &str,
        bytes_max: usize,
        values: impl FnOnce(&mut PromptSection) -> LateValues,
    ) -> usize {
        let Some(section) = self.sections.iter_mut().find(|one| one.name == name) else {
            return 0;
        };
        section.bytes_max = section.bytes_max.min(bytes_max);
        let values = values(section);
        section.fill(&|name| Some(values.get(name).cloned().unwrap_or_default()));
        section.bytes()
    }

    /// Shares the room that all else leaves among instructions, results and earlier attempts; gives what they leave.
    fn share(&mut self) -> usize {
        let subject = self.subject;
        let used = self.sections.iter().map(PromptSection::bytes).sum::<usize>() + GAPS_BYTES_MAX;
        let (room, for_instructions) = if subject.is_plan() {
            let room = self.room_of_planner(used);
            (room, room / 4)
        } else {
            let room = BYTES_MAX.saturating_sub(used);
            (room, room.saturating_sub(SHARED_BYTES_MIN))
        };
        let instructions = self.inputs.instructions.map_or(0, |text| {
            self.put("instructions", for_instructions.max(INSTRUCTIONS_BYTES_MIN), |section| {
                // The whole of a file that is cut already is not there.
                section.file.take_if(|_| text.is_cut);
                [("instructions", aligning::told(text))].into()
            })
        });
        let room = room.saturating_sub(instructions);
        let remembered = self.put("remembered", room / 4, |section| {
            [("lessons", built_on::lessons(subject, section.room()))].into()
        });
        let room = room.saturating_sub(remembered);
        if subject.is_plan() { self.share_of_planner(room) } else { self.share_of_task(room) }
    }

    fn share_of_task(&mut self, room: usize) -> usize {
        let subject = self.subject;
        let results =
            self.put("results", room / 2, |section| built_on::results(subject, section.room()));
        let found = self.put("found", room / 4, |_| built_on::found(subject));
        let room = room.saturating_sub(results + found);
        room.saturating_sub(self.put_earlier(room))
    }

    /// The same for a planner: its results have what the others do not need.
    fn share_of_planner(&mut self, room: usize) -> usize {
        let subject = self.subject;
        let earlier = self.put_earlier(room / 3);
        let for_reasons = self.limit("reasons").min(room / 4);
        let for_project = self.inputs.project.map_or(0, |_| room / 4);
        let for_results = room.saturating_sub(earlier + for_reasons + for_project);
        let can_open = self.inputs.ending != Ending::Answer;
        let mut told = BTreeSet::new();
        let results = self.put("results", for_results, |section| {
            let values;
            (values, told) = built_on::of_planner(subject, can_open, section.room());
            values
        });
        let reasons = self.put("reasons", room / 4, |_| {
            [("reasons", replan::reasons_of_plans(subject, &told))].into()
        });
        room.saturating_sub(results + reasons + earlier)
    }

    fn put_earlier(&mut self, room: usize) -> usize {
        let (subject, files) = (self.subject, &self.inputs.files);
        self.put("earlier", room, |section| earlier_attempts::values(subject, files, section))
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
        for (section, value) in [("project", "texts"), ("files", "files"), ("commands", "commands")]
        {
            let most = if value == "texts" { room.saturating_sub(beside) } else { room };
            if most > beside {
                let text = aligning::project_value(project, value).unwrap_or_default();
                self.put(section, most, |_| [(value, text)].into());
            }
        }
    }
}

/// The title of an atom on one line, as a commit message.
pub fn subject(world: &World, id: &AtomId) -> String {
    section::title(world, id).to_owned()
}
