//! The usage of agents: model calls, tokens and money.
//!
//! Not here: limits of them (`objective`), and the sum of a state (`run`).

use alloc::string::{String, ToString};

use super::{
    fields::{Extra, Fields, Findings, Writer},
    micros::Micros,
    rule::Form,
    table::{Part, record},
    value::FieldValue,
};
use crate::doc::Node;

record! {
    /// Tokens by their kind
    #[derive(Default, PartialEq)]
    pub struct Tokens {
        /// Read by a model, those of its cache left out
        filled[program] input: u64,
        /// Written by a model
        filled[program] output: u64,
        /// Read from a model's cache
        filled[program] cached: u64,
    }
}

record! {
    part
    /// Model calls, tokens and money
    #[derive(Default, PartialEq)]
    pub struct Usage {
        /// Model calls
        filled[program] calls: u64,
        filled[program] tokens: Tokens = Tokens::default(),
        /// Dollars, as decimal text
        optional[program] cost as "cost_usd": Micros,
        /// Whether a part of it is an estimate
        filled[program] is_estimated as "estimated": bool,
    }
}

/// The part of a limit from which on agents are told, in percent.
const TOLD_PERCENT: u64 = 20;

/// Whether a fifth of a limit is left at most.
pub fn is_little(left: u64, of: u64) -> bool {
    u128::from(left) * 100 <= u128::from(of) * u128::from(TOLD_PERCENT)
}

/// The usage that an attempt told.
#[derive(Debug, Clone, Default)]
pub struct ReportedUsage {
    pub usage: Usage,
    /// The attempt came to its end, so nothing is left to tell.
    pub is_whole: bool,
}

impl Tokens {
    pub fn new(input: u64, output: u64, cached: u64) -> Self {
        Self { input, output, cached, extra: Extra::default() }
    }

    /// Tokens that a limit counts: those of the cache are paid too.
    pub fn total(&self) -> u64 {
        let read = self.input.saturating_add(self.cached);
        read.saturating_add(self.output)
    }

    fn raise_to(&mut self, other: &Self) {
        self.input = self.input.max(other.input);
        self.output = self.output.max(other.output);
        self.cached = self.cached.max(other.cached);
    }

    fn add(&mut self, other: &Self) {
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
        self.cached = self.cached.saturating_add(other.cached);
    }
}

impl Usage {
    /// Whether nothing was used.
    pub fn is_none(&self) -> bool {
        self.calls == 0 && self.tokens.total() == 0 && self.cost.is_none()
    }

    /// The amount that a limit counts; of money millionths of a dollar.
    pub fn of(&self, limit: UsageLimit) -> u64 {
        match limit {
            UsageLimit::Calls => self.calls,
            UsageLimit::Tokens => self.tokens.total(),
            UsageLimit::Cost => self.cost.map_or(0, |cost| cost.0),
        }
    }

    /// Takes a later report of the same attempt, which says as much at least.
    pub fn raise_to(&mut self, later: &Self) {
        self.calls = self.calls.max(later.calls);
        self.tokens.raise_to(&later.tokens);
        self.cost = self.cost.max(later.cost);
        self.is_estimated |= later.is_estimated;
    }

    /// Takes from an estimate what was not told.
    pub fn fill_from(&mut self, estimate: &Self) {
        let told = self.clone();
        if self.calls == 0 {
            self.calls = estimate.calls;
        }
        if self.tokens.total() == 0 {
            self.tokens = estimate.tokens.clone();
        }
        self.cost = self.cost.or(estimate.cost);
        self.is_estimated |= *self != told;
    }

    /// The share of one of so many attempts, rounded up.
    pub fn mean(&self, attempts: u64) -> Self {
        let share = |sum: u64| sum.div_ceil(attempts.max(1));
        let Tokens { input, output, cached, .. } = self.tokens;
        Self {
            calls: share(self.calls),
            tokens: Tokens::new(share(input), share(output), share(cached)),
            cost: self.cost.map(|cost| Micros(share(cost.0))),
            is_estimated: true,
        }
    }

    pub fn add(&mut self, other: &Self) {
        self.calls = self.calls.saturating_add(other.calls);
        self.tokens.add(&other.tokens);
        self.cost = match (self.cost, other.cost) {
            (Some(one), Some(two)) => Some(one.saturating_add(two)),
            (one, two) => one.or(two),
        };
        self.is_estimated |= other.is_estimated;
    }
}

/// A limit of usage, in the order in which they end a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum UsageLimit {
    Calls,
    Tokens,
    Cost,
}

impl UsageLimit {
    pub const ALL: [Self; 3] = [Self::Calls, Self::Tokens, Self::Cost];

    /// The key of a constraint and of a phase's budget.
    pub fn key(self) -> &'static str {
        match self {
            UsageLimit::Calls => "budget.calls",
            UsageLimit::Tokens => "budget.tokens",
            UsageLimit::Cost => "budget.cost_usd",
        }
    }

    /// An amount as a person writes it.
    pub fn text(self, amount: u64) -> String {
        match self {
            UsageLimit::Calls | UsageLimit::Tokens => amount.to_string(),
            UsageLimit::Cost => Micros(amount).text(),
        }
    }
}

/// At a key of its own.
impl FieldValue for Usage {
    fn form() -> Form {
        Form::Record(&Self::RULE)
    }

    fn read(node: &Node, pointer: &str, found: &mut Findings) -> Option<Self> {
        let mut fields = Fields::open(node, pointer, found)?;
        let usage = <Self as Part>::read(&mut fields);
        fields.finish();
        usage
    }

    fn node(&self) -> Node {
        let mut to = Writer::default();
        self.write(&mut to);
        to.finish(&Extra::default())
    }

    fn is_blank(&self) -> bool {
        self.is_none()
    }
}
