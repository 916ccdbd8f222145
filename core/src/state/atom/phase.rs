//! The budget of one fragment of a planning step, its use, and its end (contract §5).
//!
//! Not here: when it is over, and the end of the phase then (`step::phase`).

use alloc::vec::Vec;

use crate::{
    id::AtomId,
    state::{
        fields::{DurationText, Fields},
        table::{record, words},
    },
};

record! {
    /// The limits of each fragment of a planning step, inner steps included: one at least; then open parts are dropped
    #[derive(PartialEq)]
    pub struct PhaseBudget {
        /// Attempts that come to their end, repairs not counted
        optional attempts: u32,
        /// Active time from when it was planned
        optional time: DurationText,
    }
    check is_a_limit;
}

words! {
    pub enum PhaseLimit {
        Attempts = "attempts",
        Time = "time",
    }
}

record! {
    /// The end of a fragment's budget while parts of it are open
    #[derive(PartialEq)]
    pub struct PhaseEnd {
        required[program] limit: PhaseLimit,
        /// How much of it was used
        required[program] used: u64,
        /// It counts as resolved without these parts, whatever comes of them later
        filled[program] missing: Vec<AtomId>,
        /// It failed as a whole
        filled[program] has_failed as "failed": bool,
    }
}

fn is_a_limit(fields: &mut Fields<'_, '_>, budget: &PhaseBudget) {
    let (attempts, time) = (budget.attempts, budget.time.as_ref());
    let is_nothing = attempts == Some(0) || time.is_some_and(|time| time.ms == 0);
    if is_nothing || attempts.is_none() && time.is_none() {
        let hint = Some("write attempts, from 1 on, or time, such as \"30m\", or both".into());
        let message = "a budget with which nothing can be tried, or that limits nothing".into();
        let at = (fields.pointer.clone(), fields.node.span);
        fields
            .found
            .fault("empty-budget", (&at.0, at.1), message, hint);
    }
}

impl PhaseBudget {
    /// The size of a limit; `None` if there is none.
    pub fn of(&self, limit: PhaseLimit) -> Option<u64> {
        match limit {
            PhaseLimit::Attempts => self.attempts.map(u64::from),
            PhaseLimit::Time => self.time.as_ref().map(|time| time.ms),
        }
    }
}

impl PhaseEnd {
    /// Whether it is still over: a person may have raised it since.
    pub fn holds(&self, budget: Option<&PhaseBudget>) -> bool {
        let most = budget.and_then(|budget| budget.of(self.limit));
        most.is_some_and(|most| self.used >= most)
    }
}
