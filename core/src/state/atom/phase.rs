//! The budget of one fragment of a planning step, its use, and its end (contract §5).
//!
//! Not here: when it is over, and the end of the phase then (`step::phase`).

use alloc::vec::Vec;

use crate::{
    id::AtomId,
    state::{
        Micros, UsageLimit,
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
        /// Model calls of its atoms
        optional calls: u64,
        /// Tokens that its atoms read and write
        optional tokens: u64,
        /// Dollars, as decimal text
        optional cost_usd: Micros,
    }
    check is_a_limit;
}

words! {
    pub enum PhaseLimit {
        Attempts = "attempts",
        Time = "time",
        Calls = "calls",
        Tokens = "tokens",
        Cost = "cost",
    }
}

record! {
    /// The end of a fragment's budget while parts of it are open
    #[derive(PartialEq)]
    pub struct PhaseEnd {
        required[program] limit: PhaseLimit,
        /// How much of it was used; of money millionths of a dollar
        required[program] used: u64,
        /// It counts as resolved without these parts, whatever comes of them later
        filled[program] missing: Vec<AtomId>,
        /// It failed as a whole
        filled[program] has_failed as "failed": bool,
    }
}

fn is_a_limit(fields: &mut Fields<'_, '_>, budget: &PhaseBudget) {
    let mut limits = PhaseLimit::WORDS.into_iter();
    let given: Vec<u64> = limits.by_ref().filter_map(|(_, limit)| budget.of(limit)).collect();
    if given.is_empty() || given.contains(&0) {
        let hint = Some(
            "write attempts, time such as \"30m\", calls, tokens or cost_usd, each above 0".into(),
        );
        let message = "a budget with which nothing can be tried, or that limits nothing".into();
        let at = (fields.pointer.clone(), fields.node.span);
        fields.found.fault("empty-budget", (&at.0, at.1), message, hint);
    }
}

impl PhaseLimit {
    pub fn of_usage(limit: UsageLimit) -> Self {
        match limit {
            UsageLimit::Calls => PhaseLimit::Calls,
            UsageLimit::Tokens => PhaseLimit::Tokens,
            UsageLimit::Cost => PhaseLimit::Cost,
        }
    }
}

impl PhaseBudget {
    /// The size of a limit; `None` if there is none.
    pub fn of(&self, limit: PhaseLimit) -> Option<u64> {
        match limit {
            PhaseLimit::Attempts => self.attempts.map(u64::from),
            PhaseLimit::Time => self.time.as_ref().map(|time| time.ms),
            PhaseLimit::Calls => self.calls,
            PhaseLimit::Tokens => self.tokens,
            PhaseLimit::Cost => self.cost_usd.map(|cost| cost.0),
        }
    }

    /// Whether model calls, tokens or money are limited.
    pub fn limits_usage(&self) -> bool {
        let mut limits = UsageLimit::ALL.into_iter();
        limits.any(|limit| self.of(PhaseLimit::of_usage(limit)).is_some())
    }
}

impl PhaseEnd {
    /// Whether it is still over: a person may have raised it since.
    pub fn holds(&self, budget: Option<&PhaseBudget>) -> bool {
        let most = budget.and_then(|budget| budget.of(self.limit));
        most.is_some_and(|most| self.used >= most)
    }
}
