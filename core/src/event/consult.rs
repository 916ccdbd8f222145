//! The end of a question to a judging role.

use alloc::{string::String, vec::Vec};

use super::AgentEnd;
use crate::{doc::Node, judging::PlanFacts, state::Usage};

/// How a question ended, and what it cost.
#[derive(Debug, Clone)]
pub struct ConsultEnd {
    pub answer: ConsultAnswer,
    pub usage: Usage,
    pub duration_ms: u64,
    /// The things that a plan in the answer names and the machine lacks.
    pub facts: PlanFacts,
    /// The place and the words of faults of the answer that the core cannot see.
    pub shell_faults: Vec<(String, String)>,
}

#[derive(Debug, Clone)]
pub enum ConsultAnswer {
    /// An object, not judged yet.
    Value(Node),
    /// Words that hold no answer, after all repairs; the fault.
    Faulty(String),
    /// Nobody answered; the reason.
    Silent(String),
    /// Its provider takes no more or is down, or it cannot be used.
    Ended(AgentEnd),
}
