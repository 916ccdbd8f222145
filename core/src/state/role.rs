//! The roles of agents: each is asked for another kind of answer.

use super::table::words;

words! {
    /// The kind of answer that an agent is asked for
    pub enum Role {
        /// Does a task
        Worker = "worker",
        /// Plans the atoms of a planning step
        Planner = "planner",
        /// Finds out, before it is tried, whether something can be done
        Probe = "probe",
        /// Judges a result by a rubric
        Judge = "judge",
        /// Proposes an agreement
        Aligner = "aligner",
        /// Describes a project
        Profile = "profile",
        /// Says whether a result fits what was asked for
        Validate = "validate",
        /// Estimates how far a result is from the goal
        Assess = "assess",
        /// Improves a plan
        Refine = "refine",
        /// Makes a text shorter
        Summarise = "summarise",
        /// Answers a question
        Answer = "answer",
    }
}

/// In the order of the table.
impl Ord for Role {
    fn cmp(&self, other: &Self) -> core::cmp::Ordering {
        (*self as usize).cmp(&(*other as usize))
    }
}

impl PartialOrd for Role {
    fn partial_cmp(&self, other: &Self) -> Option<core::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Role {
    /// The role of that word.
    pub fn of_word(word: &str) -> Option<Self> {
        let mut words = Self::WORDS.into_iter();
        words
            .find(|(known, _)| *known == word)
            .map(|(_, role)| role)
    }
}
