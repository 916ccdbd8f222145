//! The usage of agents: model calls, tokens and money.
//!
//! Not here: limits of them (`objective`), and the sum of a state (`run`).

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

impl Tokens {
    pub fn new(input: u64, output: u64, cached: u64) -> Self {
        Self {
            input,
            output,
            cached,
            extra: Extra::default(),
        }
    }

    /// Tokens that a limit counts: those of the cache are paid too.
    pub fn total(&self) -> u64 {
        let read = self.input.saturating_add(self.cached);
        read.saturating_add(self.output)
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
