//! The account of a run in its final result (contract §9.36): how near it came, what it took, and who is accountable.
//!
//! Not here: how they are computed (`step/account`).

use alloc::vec::Vec;

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
        /// Nobody: the base case holds
        Nobody = "none",
        /// Somebody asked for the end, is asked, or set the limit
        Person = "person",
        /// The agreement: its base case cannot be measured
        Perceiver = "perceiver",
        /// The plan: it was carried out, and the base case does not hold
        Planner = "planner",
        /// The work was wrong
        Worker = "worker",
        /// The form of an answer was wrong, and the work was not judged
        Answer = "answer",
        /// The work was hindered
        Environment = "environment",
        /// An agent took for done what is not, or doubts what holds
        Judge = "judge",
        /// Planning ended while the result came nearer
        ControlLaw = "control_law",
        /// A lesson spoke against what succeeded
        Memory = "memory",
        Program = "program",
    }
}

impl Accountable {
    /// Why it is this role.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Nobody => "the base case holds",
            Self::Person => "a person asked for the end, is asked, or set the limit",
            Self::Perceiver => "the base case cannot be measured",
            Self::Planner => {
                "its plan does not lead to the base case, or it came to none that can be used"
            }
            Self::Worker => "the work was wrong",
            Self::Answer => "only the form of an answer was wrong: the work was not judged",
            Self::Environment => "something around the work hindered it",
            Self::Judge => "an agent took for done what is not, or doubts what holds",
            Self::ControlLaw => "planning ended while the result came nearer",
            Self::Memory => "a lesson spoke against what succeeded",
            Self::Program => "descent has a fault",
        }
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
