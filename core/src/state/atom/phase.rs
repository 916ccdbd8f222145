//! What one fragment of a planning step may take up, what it has taken, and how that ended (contract §5).
//!
//! Not here: when it is over and what becomes of the phase then (`step::phase`).

use alloc::vec::Vec;

use crate::{
    doc::Node,
    id::AtomId,
    state::fields::{DurationText, Extra, Fields, Findings, Writer},
};

/// Of each fragment of a planning step, steps that plan inside it included.
#[derive(Debug, Clone, PartialEq)]
pub struct PhaseBudget {
    /// Attempts that come to their end; what is made again as a repair is none.
    pub attempts: Option<u32>,
    /// Active time from when its clock began.
    pub time: Option<DurationText>,
    pub extra: Extra,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PhaseLimit {
    Attempts,
    Time,
}

impl PhaseLimit {
    const WORDS: [(&'static str, PhaseLimit); 2] = [
        ("attempts", PhaseLimit::Attempts),
        ("time", PhaseLimit::Time),
    ];

    pub fn word(self) -> &'static str {
        match self {
            PhaseLimit::Attempts => "attempts",
            PhaseLimit::Time => "time",
        }
    }
}

/// How the budget of a fragment came to its end with parts of it open.
#[derive(Debug, Clone, PartialEq)]
pub struct PhaseEnd {
    pub limit: PhaseLimit,
    /// What was used of it.
    pub used: u64,
    /// Parts without which the phase counts as resolved: they stay so whatever comes of it later.
    pub missing: Vec<AtomId>,
    /// The fragment failed as a whole.
    pub has_failed: bool,
    pub extra: Extra,
}

impl PhaseBudget {
    pub(super) fn read(node: &Node, pointer: &str, found: &mut Findings) -> Option<Self> {
        let mut fields = Fields::open(node, pointer, found)?;
        let attempts = fields.small("attempts");
        let time = fields.length("time");
        let is_nothing = attempts == Some(0) || time.as_ref().is_some_and(|time| time.ms == 0);
        if is_nothing || attempts.is_none() && time.is_none() {
            let hint = Some("write attempts, from 1 on, or time, such as \"30m\", or both".into());
            let message = "a budget with which nothing can be tried, or that limits nothing".into();
            let at = (fields.pointer.clone(), fields.node.span);
            fields
                .found
                .fault("empty-budget", (&at.0, at.1), message, hint);
        }
        Some(Self {
            attempts,
            time,
            extra: fields.finish(),
        })
    }

    pub(super) fn node(&self) -> Node {
        let attempts = self.attempts.map(|count| Node::uint(u64::from(count)));
        let time = self.time.as_ref().map(|time| Node::string(time.as_str()));
        Writer::default()
            .some("attempts", attempts)
            .some("time", time)
            .finish(&self.extra)
    }

    /// How much of a limit there is; `None` where it does not limit that.
    pub fn of(&self, limit: PhaseLimit) -> Option<u64> {
        match limit {
            PhaseLimit::Attempts => self.attempts.map(u64::from),
            PhaseLimit::Time => self.time.as_ref().map(|time| time.ms),
        }
    }
}

impl PhaseEnd {
    /// Whether it is over still: a person may have given it more since.
    pub fn holds(&self, budget: Option<&PhaseBudget>) -> bool {
        let most = budget.and_then(|budget| budget.of(self.limit));
        most.is_some_and(|most| self.used >= most)
    }

    pub(super) fn read(node: &Node, pointer: &str, found: &mut Findings) -> Option<Self> {
        let mut fields = Fields::open(node, pointer, found)?;
        for key in ["limit", "used"] {
            let _ = fields.need(key);
        }
        let limit = fields.word("limit", &PhaseLimit::WORDS);
        let used = fields.count("used");
        let missing = fields.texts("missing").into_iter().map(AtomId::new);
        let missing = missing.collect();
        let has_failed = fields.flag("failed");
        let extra = fields.finish();
        Some(Self {
            limit: limit?,
            used: used?,
            missing,
            has_failed,
            extra,
        })
    }

    pub(super) fn node(&self) -> Node {
        let missing: Vec<&str> = self.missing.iter().map(AtomId::as_str).collect();
        Writer::default()
            .text("limit", self.limit.word())
            .put("used", Node::uint(self.used))
            .texts_unless_empty("missing", &missing)
            .flag_if("failed", self.has_failed)
            .finish(&self.extra)
    }
}
