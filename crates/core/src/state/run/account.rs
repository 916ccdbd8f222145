//! The account of a run in its final result (contract §9.36): how near it came, what it took, and who is accountable.
//!
//! Not here: how they are computed (`step/account`).

use crate::doc::prelude::*;
use crate::state::{
    check::Thousandths,
    law::DirectiveOutcome,
    table::{record, words},
};

words! {
    /// The last directive of a run
    pub enum LastDirective {
        /// The base case holds
        Accept = "accept",
        Refine = "refine",
        ChangePath = "change_path",
        ChangeApproach = "change_approach",
        BreakSymmetry = "break_symmetry",
        Abandon = "abandon",
    }
}

words! {
    /// The role whose part it is that a run did not come farther
    pub enum Accountable {
        /// the base case holds
        Nobody = "none",
        /// a person asked for the end, is asked, or set the limit
        Person = "person",
        /// the base case cannot be measured
        Perceiver = "perceiver",
        /// its plan does not lead to the base case, or it came to none that can be used
        Planner = "planner",
        /// the work was wrong
        Worker = "worker",
        /// only the form of an answer was wrong: the work was not judged
        Answer = "answer",
        /// something around the work hindered it
        Environment = "environment",
        /// an agent took for done what is not, or doubts what holds
        Judge = "judge",
        /// planning ended while the result came nearer
        ControlLaw = "control_law",
        /// a lesson spoke against what succeeded
        Memory = "memory",
        /// descent has a fault
        Program = "program",
    }
}

impl Accountable {
    /// Why it is this role.
    pub fn meaning(self) -> &'static str {
        Self::RULE.words[self as usize].doc.trim()
    }

    /// Whether it is said beside the reason of an ending: of a person the reason says it already.
    pub fn is_told(self) -> bool {
        !matches!(self, Self::Nobody | Self::Person | Self::Program)
    }
}

record! {
    /// Counts of the tasks of a state, and of their attempts
    #[derive(PartialEq, Default)]
    pub struct RunMetrics {
        /// Tasks that were solved by their first attempt
        always solved_at_first: u64,
        always solved_later: u64,
        /// Tasks that were tried and are not solved
        always unsolved: u64,
        always attempts: u64,
        /// Attempts for each of these tasks
        optional mean_attempts: Thousandths,
        filled rested: u64,
        filled woken: u64,
        filled transient: u64,
        filled interruptions: u64,
        /// How often each directive was given, and followed by a fall of the distance
        filled directives: Vec<DirectiveOutcome>,
    }
}
