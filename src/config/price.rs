//! The price of an agent's tokens.
//!
//! Invariant: money is a whole number of micro-dollars, from decimal text: no float holds any.
#![allow(dead_code, reason = "the backends of agents read it")]

/// Micro-dollars for a million tokens of each kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Price {
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
}

/// Dollars at most for a million tokens.
const DOLLARS_MAX: u64 = 1_000_000;
const MICROS: u64 = 1_000_000;
const DECIMALS_MAX: usize = 6;

impl Price {
    /// Micro-dollars for so many tokens, rounded up.
    pub fn cost_micros(&self, input: u64, output: u64, cache_read: u64, cache_write: u64) -> u64 {
        let counts = [input, output, cache_read, cache_write];
        let prices = [self.input, self.output, self.cache_read, self.cache_write];
        let of = |(count, price): (u64, u64)| u128::from(count) * u128::from(price);
        let sum: u128 = counts.into_iter().zip(prices).map(of).sum();
        u64::try_from(sum.div_ceil(u128::from(MICROS))).unwrap_or(u64::MAX)
    }
}

/// Micro-dollars of decimal text such as `0.30`.
pub(super) fn micros(text: &str) -> Option<u64> {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, "0"));
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    if !is_number(whole) || !is_number(decimals) || decimals.len() > DECIMALS_MAX {
        return None;
    }
    let whole: u64 = whole.parse().ok().filter(|whole| *whole <= DOLLARS_MAX)?;
    let decimals: u64 = format!("{decimals:0<DECIMALS_MAX$}").parse().ok()?;
    Some(whole * MICROS + decimals)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimal_text_is_read_exactly_and_anything_else_is_refused() {
        assert_eq!(micros("3"), Some(3_000_000));
        assert_eq!(micros("0.30"), Some(300_000));
        assert_eq!(micros("0.000001"), Some(1));
        for text in [
            "",
            ".5",
            "5.",
            "-1",
            "1e3",
            "0.0000001",
            "1,5",
            "2000000",
            "1.2.3",
        ] {
            assert_eq!(micros(text), None, "{text}");
        }
    }

    #[test]
    fn a_cost_is_rounded_up_and_never_overflows() {
        let price = Price {
            input: 3_000_000,
            output: 15_000_000,
            cache_read: 300_000,
            cache_write: 3_750_000,
        };
        assert_eq!(price.cost_micros(1_000_000, 0, 0, 0), 3_000_000);
        assert_eq!(price.cost_micros(1, 0, 0, 0), 3);
        assert_eq!(price.cost_micros(0, 0, 1, 0), 1);
        assert_eq!(
            price.cost_micros(1_000, 200, 5_000, 100),
            3_000 + 3_000 + 1_500 + 375
        );
        assert_eq!(price.cost_micros(u64::MAX, u64::MAX, 0, 0), u64::MAX);
    }
}
