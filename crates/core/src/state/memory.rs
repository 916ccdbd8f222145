//! Lessons of earlier runs of a project: as a run was given them, and as the file outside of the repository keeps them.
//!
//! Not here: which lessons a run leaves, and which it is given (`memory`).

use super::{
    State,
    objective::MemoryUse,
    table::{record, words},
};
use crate::doc::prelude::*;
use crate::id::{Digest, LessonId, Lineage, RunId};

words! {
    /// The verdict of a lesson on a choice
    pub enum LessonKind {
        /// It failed for good
        MustNot = "must_not",
        /// It stands in a result for which the base case held
        Prefer = "prefer",
        /// A person's note
        Note = "note",
    }
}

words! {
    /// How a run ended that left a lesson, or who wrote it
    pub enum LessonSource {
        Completed = "completed",
        /// It ended with nothing left to try
        Abandoned = "abandoned",
        Person = "person",
    }
}

record! {
    /// A lesson of earlier runs of this project
    #[derive(PartialEq)]
    pub struct Lesson {
        required[program] id: LessonId,
        required[program] kind: LessonKind,
        /// The program of its first action, with its subcommand
        filled[program] tool: String,
        /// The other words of that action
        filled[program] target: String,
        /// A digest of the choice's specification
        optional[program] choice: Digest,
        /// A digest of the choice and its siblings
        optional[program] group: Digest,
        /// 300 characters at most
        always[program] lesson: String,
        filled[program] because: String,
        /// How many runs saw it
        always[program] seen: u32 = 1,
        /// The lineages of the newest of them
        filled[program] runs: Vec<Lineage>,
        always[program] first: String,
        always[program] last: String,
        always[program] by: LessonSource = LessonSource::Person,
    }
}

record! {
    /// The lessons that a run was given, whatever the file of lessons says meanwhile
    #[derive(PartialEq)]
    pub struct MemoryUsed {
        required[program] digest: Digest,
        always[program] lessons: Vec<Lesson>,
    }
}

record! {
    /// A run whose ending left its lessons
    #[derive(PartialEq)]
    pub struct LearntRun {
        required[program] lineage: Lineage,
        required[program] run: RunId,
    }
}

record! {
    /// The lessons of a project
    pub struct LessonBook {
        required[program] schema: String,
        /// The number of the next lesson
        always[program] next: u64 = 1,
        always[program] lessons: Vec<Lesson>,
        /// The newest runs whose endings left their lessons: none leaves them twice
        filled[program] learnt: Vec<LearntRun>,
    }
}

impl State {
    /// The lessons that count in this run; none where memory is off.
    pub fn lessons(&self) -> &[Lesson] {
        let used = self.run.memory_used.as_ref();
        let is_on = self.objective.constraints.memory() == MemoryUse::On;
        used.filter(|_| is_on).map_or(&[], |used| &used.lessons)
    }
}
