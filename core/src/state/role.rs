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
        /// Says what kind of task a goal is
        Profile = "profile",
        /// Says what is wrong with a plan
        Validate = "validate",
        /// Says how complete and coherent a pass of a run was
        Assess = "assess",
        /// Improves a plan
        Refine = "refine",
        /// Makes the results of a phase shorter
        Summarise = "summarise",
        /// Words the final answer
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
        words.find(|(known, _)| *known == word).map(|(_, role)| role)
    }
}
