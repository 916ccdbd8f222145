//! The price of an agent's tokens.
//!
//! Invariant: money is a whole number of micro-dollars, from decimal text: no float holds any.

use descent_core::state::Micros;

/// Money for a million tokens of each kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Price {
    pub input: Micros,
    pub output: Micros,
    pub cache_read: Micros,
    pub cache_write: Micros,
}

/// Money at most for a million tokens.
const MOST: Micros = Micros(1_000_000_000_000);
const TOKENS: u128 = 1_000_000;

impl Price {
    /// Money for so many tokens, rounded up.
    pub fn cost(&self, input: u64, output: u64, cache_read: u64, cache_write: u64) -> Micros {
        let counts = [input, output, cache_read, cache_write];
        let prices = [self.input, self.output, self.cache_read, self.cache_write];
        let of = |(count, price): (u64, Micros)| u128::from(count) * u128::from(price.0);
        let sum: u128 = counts.into_iter().zip(prices).map(of).sum();
        Micros(u64::try_from(sum.div_ceil(TOKENS)).unwrap_or(u64::MAX))
    }
}

/// An amount of decimal text such as `0.30`, within the limit.
pub(super) fn money(text: &str) -> Option<Micros> {
    Micros::parse(text).filter(|amount| *amount <= MOST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_price_beyond_all_measure_is_none() {
        assert_eq!(money("0.30"), Some(Micros(300_000)));
        for text in ["1e3", "-1", "2000000"] {
            assert_eq!(money(text), None, "{text}");
        }
    }

    #[test]
    fn a_cost_is_rounded_up_and_never_overflows() {
        let price = Price {
            input: Micros(3_000_000),
            output: Micros(15_000_000),
            cache_read: Micros(300_000),
            cache_write: Micros(3_750_000),
        };
        for (counts, micros) in [
            ([1_000_000, 0, 0, 0], 3_000_000),
            ([1, 0, 0, 0], 3),
            ([0, 0, 1, 0], 1),
            ([1_000, 200, 5_000, 100], 3_000 + 3_000 + 1_500 + 375),
            ([u64::MAX, u64::MAX, 0, 0], u64::MAX),
        ] {
            let [input, output, read, write] = counts;
            assert_eq!(price.cost(input, output, read, write), Micros(micros));
        }
    }
}
