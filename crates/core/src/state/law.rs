//! The control law: what a person may set of it (a constraint), and the loop's own record of it (contract §9.33).
//!
//! Invariant: numbers are whole thousandths, so that the same state gives the same bytes everywhere. Not here: how they
//! are computed (`law`), when (`step/law_point`).

use super::{
    FreeValue, State,
    check::Thousandths,
    fields::Fields,
    rule::Form,
    table::{record, words},
    value::FieldValue,
};
use crate::doc::prelude::*;
use crate::{
    doc::{Node, Value},
    id::{AtomId, AttemptId, CommitId, Digest},
};

/// Points of the curve kept at most: of older ones every second goes.
pub const CURVE_MAX: usize = 64;
/// Blocked tools and targets kept at most: the newest.
pub const BLOCKED_MAX: usize = 64;
/// Leaves with a first number kept at most.
pub const FIRSTS_MAX: usize = 32;

/// The weights and limits of the control law.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LawWeights {
    /// Weight of the distance in the loss.
    pub alpha: Thousandths,
    /// Weight of the share of logical failures.
    pub beta: Thousandths,
    /// Weight of the used budget.
    pub lambda: Thousandths,
    /// Weight of changes of the plan in the used budget.
    pub w1: Thousandths,
    /// Weight of the budgets that are set.
    pub w2: Thousandths,
    /// Least change of the distance that counts.
    pub epsilon: Thousandths,
    /// Distance up to which a result is near.
    pub delta: Thousandths,
    /// Share of logical failures above which they prevail.
    pub rho: Thousandths,
    /// Used share at which planning ends.
    pub abandon_omega: Thousandths,
}

impl LawWeights {
    pub const OF_PROGRAM: Self = Self {
        alpha: Thousandths(600),
        beta: Thousandths(300),
        lambda: Thousandths(400),
        w1: Thousandths(600),
        w2: Thousandths(400),
        epsilon: Thousandths(100),
        delta: Thousandths(300),
        rho: Thousandths(500),
        abandon_omega: Thousandths(800),
    };
}

words! {
    /// How the distance changed since the point before
    pub enum Gradient {
        Improving = "improving",
        Worsening = "worsening",
        /// It did not change, far from the goal
        Plateau = "plateau",
        /// It did not change, near the goal
        Stable = "stable",
    }
}

words! {
    /// The next thing for a planner to do
    pub enum Directive {
        /// Keep the tools and mend what fails
        Refine = "refine",
        /// The same approach, another target
        ChangePath = "change_path",
        /// Another class of tool
        ChangeApproach = "change_approach",
        /// Nothing of what was tried
        BreakSymmetry = "break_symmetry",
        /// No more planning
        Abandon = "abandon",
    }
}

words! {
    /// The class of most failures of a pass
    pub enum FailureMix {
        Logical = "logical",
        Environmental = "environmental",
        Mixed = "mixed",
    }
}

/// A number from -1 to 1 with three digits after the point.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct SignedThousandths(pub i32);

impl SignedThousandths {
    pub fn text(self) -> String {
        let size = Thousandths(self.0.unsigned_abs()).text();
        if self.0 < 0 { format!("-{size}") } else { size }
    }

    fn parse(text: &str) -> Option<Self> {
        let (sign, size) = match text.strip_prefix('-') {
            Some(size) => (-1, size),
            None => (1, text),
        };
        let size = i32::try_from(Thousandths::parse(size)?.0).ok()?;
        size.checked_mul(sign).map(Self)
    }
}

impl FieldValue for SignedThousandths {
    fn form() -> Form {
        Form::Decimal
    }

    fn take(fields: &mut Fields<'_, '_>, key: &'static str) -> Option<Self> {
        let read = fields.take(key)?.number_text().and_then(Self::parse);
        if read.is_none() {
            let message = format!("`{key}` is no number, as -0.05");
            fields.fault_at(key, "bad-number", message, None);
        }
        read
    }

    fn node(&self) -> Node {
        Value::Number(self.text()).into()
    }
}

record! {
    /// The standing of a tree by the control law, from 0 to 1
    #[derive(PartialEq)]
    pub struct Loss {
        /// The distance of the result from the base case
        required d: Thousandths,
        /// The share of logical failures in the pass
        required p: Thousandths,
        /// The used share of changes and budgets
        required omega: Thousandths,
        /// All in one number: shown, and decides nothing
        required l: Thousandths,
    }
}

record! {
    /// The standing of a run at a point of the control law
    #[derive(PartialEq)]
    pub struct LawPoint {
        /// A digest of the plan and of what was tried in it: the same is one point
        required[program] subject: Digest,
        always[program] pass: u64,
        part[program] loss: Loss,
        required[program] grad_d: SignedThousandths,
        required[program] grad_l: SignedThousandths,
        required[program] gradient: Gradient,
        required[program] directive: Directive,
        /// Absent at the first point
        optional[program] prev_directive: Directive,
        /// The first leaf that does not hold
        filled[program] failed_criterion: String,
        required[program] failure_class: FailureMix,
        filled[program] rationale: String,
        always[program] at: String,
    }
}

record! {
    /// A tool, or a tool with a target, that failed or that a planner may not propose
    #[derive(PartialEq)]
    pub struct BlockedRecord {
        /// The tool that is missing
        required[program] tool: String,
        /// Absent where the whole tool is blocked
        optional[program] target: String,
        always[program] pass: u64,
        /// The attempt that failed with it
        optional[program] because: AttemptId,
        /// The atom
        optional[program] atom: AtomId,
    }
}

record! {
    /// A point of the curve
    #[derive(PartialEq)]
    pub struct CurvePoint {
        always[program] pass: u64,
        part[program] loss: Loss,
        required[program] directive: Directive,
    }
}

record! {
    /// The first number of a leaf on the wrong side of its limit
    #[derive(PartialEq)]
    pub struct FirstNumber {
        required[program] leaf: Digest,
        required[program] value: FreeValue,
    }
}

record! {
    /// The commit with the least distance
    #[derive(PartialEq)]
    pub struct NearestCommit {
        required[program] d: Thousandths,
        always[program] pass: u64,
        always[program] serial: u64,
        optional[program] commit: CommitId,
    }
}

record! {
    /// How often a directive was given, and followed by a fall of the distance
    #[derive(PartialEq)]
    pub struct DirectiveOutcome {
        required[program] directive: Directive,
        always[program] given: u64,
        always[program] followed: u64,
    }
}

record! {
    /// The control law of a run
    #[derive(PartialEq, Default)]
    pub struct LawRecord {
        /// A digest of the base case and of the epoch: another one empties all but the curve
        optional[program] of: Digest,
        optional[program] point: LawPoint,
        /// The pass that the counts are of
        filled[program] counted: u64,
        filled[program] logical: u64,
        filled[program] environmental: u64,
        filled[program] firsts: Vec<FirstNumber>,
        /// Failures of the newest pass: the newest
        filled[program] failed: Vec<BlockedRecord>,
        filled[program] blocked: Vec<BlockedRecord>,
        /// The oldest first
        filled[program] curve: Vec<CurvePoint>,
        optional[program] best: NearestCommit,
        filled[program] outcomes: Vec<DirectiveOutcome>,
    }
}

impl BlockedRecord {
    /// The tool with its target, as it is shown.
    pub fn text(&self) -> String {
        let target = self.target.as_deref().unwrap_or_default();
        format!("{} {target}", self.tool).trim_end().into()
    }

    /// Whether it is about the same tool and target.
    pub fn is_about(&self, other: &Self) -> bool {
        self.tool == other.tool && self.target == other.target
    }
}

impl State {
    /// Whether the control law has ended planning: what the plan holds is tried on.
    pub fn has_abandoned(&self) -> bool {
        let point = self.run.law.as_ref().and_then(|law| law.point.as_ref());
        self.objective.constraints.law_acts()
            && point.is_some_and(|point| point.directive == Directive::Abandon)
    }
}
