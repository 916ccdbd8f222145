//! The answer of an agent is asked for again if it cannot be read.
//!
//! Invariant: at most [`TURNS_MAX`] more turns an attempt, however often its process is started.

use descent_core::event::AgentReport;

use super::{
    answer,
    heard::{Heard, HeardSoFar},
};

/// Further turns in which an answer is mended.
const TURNS_MAX: u32 = 2;

/// Looks at each answer, and asks again for one that is no use.
pub(super) struct Repairs {
    turns: u32,
    wanted: AnswerKind,
    /// Whether an answer is read from messages: a result file wins.
    is_given: Box<dyn Fn() -> bool + Send + Sync>,
}

impl Repairs {
    pub(super) fn new(
        wanted: AnswerKind,
        is_given: impl Fn() -> bool + Send + Sync + 'static,
    ) -> Self {
        Self {
            turns: 0,
            wanted,
            is_given: Box::new(is_given),
        }
    }

    /// The next prompt, if the turn that ended has no answer that can be used.
    pub(super) fn next(&mut self, heard: &Heard) -> Option<String> {
        if self.turns >= TURNS_MAX || (self.is_given)() {
            return None;
        }
        let fault = heard.with(|heard| match heard.has_ended_well() {
            true => self.wanted.fault(heard),
            false => None,
        })?;
        self.turns += 1;
        heard.with(HeardSoFar::next_turn);
        let shape = self.wanted.shape();
        Some(format!(
            "Your answer cannot be used: {fault}. Answer with one JSON object and nothing else{shape}"
        ))
    }
}

/// The kind of object that an answer holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AnswerKind {
    Report,
    /// A planner's fragment: the core judges it.
    Fragment,
}

impl AnswerKind {
    fn fault(self, heard: &HeardSoFar) -> Option<String> {
        match self {
            Self::Report => report(heard).err(),
            Self::Fragment => {
                let object = answer::last_object(heard.answer_text());
                let is_object = object.trim_start().starts_with('{');
                (!is_object).then(|| "it holds no JSON object".to_owned())
            }
        }
    }

    fn shape(self) -> &'static str {
        match self {
            Self::Report => {
                ": {\"success\": true, \"summary\": \"what was done\", \"value\": null, \
                 \"artifacts\": [], \"clarity\": \"CLEAR\", \"handoff\": null}"
            }
            Self::Fragment => ", as it was asked for.",
        }
    }
}

/// The report of an agent that ended its turn.
pub(super) fn report(heard: &HeardSoFar) -> Result<AgentReport, String> {
    answer::read(heard.answer_text())
}
