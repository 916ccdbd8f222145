//! How long something is tried: the budget of a fragment (contract §5), the rest of a task (§9.34), and the step that the
//! program placed in its stead (§9.20).
//!
//! Not here: when a budget is over or a task rests (`step::phase`, `step::rest`).

use super::{Atom, Try};
use crate::doc::prelude::*;
use crate::{
    id::{AtomId, Digest},
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

    /// The limit of usage that it is.
    pub fn usage(self) -> Option<UsageLimit> {
        UsageLimit::ALL.into_iter().find(|limit| Self::of_usage(*limit) == self)
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

record! {
    /// Who placed a planning step, why, and in whose place
    #[derive(Default)]
    pub struct Placed {
        /// Empty of a step that stands where it was written
        filled[internal] by: String,
        /// The reason: something failed for good there
        filled[internal] reason: String,
        /// The atom that stood there, whole
        optional[internal] was: Arc<Atom>,
    }
}

impl Placed {
    pub fn is_placed(&self) -> bool {
        !self.by.is_empty()
    }
}

words! {
    /// How far a task is with its one rest in a context
    pub enum Rest {
        /// Set aside until no other selection is left
        Resting = "resting",
        /// It goes on, and never rests again here
        Woken = "woken",
    }
}

record! {
    /// The newest failures of a task in a context that are alike
    #[derive(PartialEq)]
    pub struct AlikeFailures {
        /// The digest of the checks that do not hold, else the fingerprint
        required[program] mark: Digest,
        /// How many they are
        required[program] times: u32,
    }
}

impl Try {
    pub fn is_resting(&self) -> bool {
        self.rest == Some(Rest::Resting)
    }

    /// Whether its conflict counts: it failed for good, or it rests.
    pub fn is_set_aside(&self) -> bool {
        self.has_failed() || self.is_resting()
    }

    /// Its failures count no more.
    pub fn forget_failures(&mut self) {
        self.ended = None;
        (self.attempts, self.repairs) = (0, 0);
        (self.rest, self.alike) = (None, None);
    }
}
