//! Money in millionths of a dollar: whole numbers inside, a decimal number in the file.

use alloc::{format, string::String};

use super::{fields::Fields, rule::Form, value::FieldValue};
use crate::doc::{Node, Value};

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

/// As in the file.
impl serde::Serialize for Micros {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&self.text())
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Micros {
    fn schema_name() -> alloc::borrow::Cow<'static, str> {
        "Dollars".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({"type": "string", "pattern": r"^[0-9]+\.[0-9]{2,6}$"})
    }
}

impl FieldValue for Micros {
    fn form() -> Form {
        Form::Decimal
    }

    fn take(fields: &mut Fields<'_, '_>, key: &'static str) -> Option<Self> {
        let node = fields.take(key)?;
        let read = match &node.value {
            Value::Number(text) => Self::parse(text),
            _ => node.as_str().and_then(Self::parse),
        };
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
