//! The usage of agents: model calls, tokens, and money in millionths of a dollar.
//!
//! Not here: limits of them (`objective`), and the sum of a state (`run`).

use super::{
    fields::{Extra, Fields},
    rule::Form,
    table::record,
    value::FieldValue,
};
use crate::doc::prelude::*;
use crate::doc::{Node, Value};

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

    fn change(&mut self, other: &Self, by: impl Fn(u64, u64) -> u64) {
        self.input = by(self.input, other.input);
        self.output = by(self.output, other.output);
        self.cached = by(self.cached, other.cached);
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
        self.tokens.change(&later.tokens, u64::max);
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
            extra: Extra::default(),
        }
    }

    pub fn add(&mut self, other: &Self) {
        self.calls = self.calls.saturating_add(other.calls);
        self.tokens.change(&other.tokens, u64::saturating_add);
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

/// Digits after the point.
const DIGITS: usize = 6;
const DOLLAR: u64 = 1_000_000;

/// Millionths of a dollar.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Micros(pub u64);

impl Micros {
    /// An amount in dollars, as `5`, `0.12` or `1.000001`; `None` for anything else.
    pub fn parse(text: &str) -> Option<Self> {
        let (whole, rest) = text.split_once('.').unwrap_or((text, "0"));
        let is_number = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
        if !is_number(whole) || !is_number(rest) || rest.len() > DIGITS {
            return None;
        }
        let fraction: u64 = format!("{rest:0<DIGITS$}").parse().ok()?;
        let whole: u64 = whole.parse().ok()?;
        whole.checked_mul(DOLLAR)?.checked_add(fraction).map(Self)
    }

    /// The same as programs print it, as `0.0123456789` or `1e-05`: the rest of a millionth is rounded up.
    pub fn rounded_up(text: &str) -> Option<Self> {
        let (number, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let is_number = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
        if whole.is_empty() || !is_number(whole) || !is_number(fraction) {
            return None;
        }
        let exponent: i32 = exponent.parse().ok()?;
        let digits = format!("{whole}{fraction}");
        // The place of the point among the digits, in millionths.
        let point = i64::try_from(whole.len()).ok()? + i64::from(exponent) + DIGITS as i64;
        let mut micros: u64 = 0;
        let mut has_rest = false;
        for (place, digit) in (0_i64..).zip(digits.bytes()) {
            let digit = u64::from(digit - b'0');
            if place < point {
                micros = micros.saturating_mul(10).saturating_add(digit);
            } else {
                has_rest |= digit > 0;
            }
        }
        let missing = point.saturating_sub(i64::try_from(digits.len()).ok()?);
        for _ in 0..missing.clamp(0, i64::from(u8::MAX)) {
            micros = micros.saturating_mul(10);
        }
        Some(Self(micros.saturating_add(u64::from(has_rest))))
    }

    /// The amount in dollars, with two digits after the point or as many as it has.
    pub fn text(self) -> String {
        let fraction = format!("{:0DIGITS$}", self.0 % DOLLAR);
        let short = fraction.trim_end_matches('0');
        format!("{}.{short:0<2}", self.0 / DOLLAR)
    }

    pub fn saturating_add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl FieldValue for Micros {
    fn form() -> Form {
        Form::Decimal
    }

    fn take(fields: &mut Fields<'_, '_>, key: &'static str) -> Option<Self> {
        let read = fields.take(key)?.numeral().and_then(Self::parse);
        if read.is_none() {
            let message = format!("`{key}` is no amount of dollars");
            let hint = "dollars, with six digits after the point at most: 5, 0.25";
            fields.fault_at(key, "bad-amount", message, Some(hint.into()));
        }
        read
    }

    fn node(&self) -> Node {
        Value::Number(self.text()).into()
    }

    fn is_blank(&self) -> bool {
        self.0 == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_amount_comes_back_with_two_digits_or_as_many_as_it_has() {
        for (text, micros, again) in [
            ("5", 5_000_000, "5.00"),
            ("0.12", 120_000, "0.12"),
            ("0.1", 100_000, "0.10"),
            ("1.000001", 1_000_001, "1.000001"),
            ("0", 0, "0.00"),
        ] {
            assert_eq!(Micros::parse(text), Some(Micros(micros)), "{text}");
            assert_eq!(Micros(micros).text(), again);
        }
    }

    #[test]
    fn what_is_no_amount_is_refused() {
        for text in [
            "",
            ".",
            "1.",
            ".5",
            "-1",
            "+1",
            "1e3",
            "1.0000001",
            "$1",
            "1,5",
            "99999999999999",
            " 1",
        ] {
            assert_eq!(Micros::parse(text), None, "{text}");
        }
    }
}
