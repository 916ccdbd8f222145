//! The type of a bare word, by the core schema of YAML 1.2: null, true or false, a number, else a string.
//!
//! Numbers that JSON cannot write, or that readers of YAML take for different ones, are faults: hexadecimal and octal,
//! leading zeros, infinity and not-a-number. Invariant: a number kept as a number is one to JSON.

use descent_core::doc::{Value, fits_double, is_number};

/// A value or its fault: message and hint. `value` then is the one that was probably meant.
pub(super) struct Scalar {
    pub(super) value: Value,
    pub(super) wrong: Option<(&'static str, String)>,
}

pub(super) fn plain(text: &str) -> Scalar {
    let value = match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        _ => return number(text).unwrap_or_else(|| fine(Value::String(text.to_owned()))),
    };
    fine(value)
}

fn fine(value: Value) -> Scalar {
    Scalar { value, wrong: None }
}

fn wrong(text: &str, message: &'static str, hint: String) -> Scalar {
    Scalar { value: Value::String(text.to_owned()), wrong: Some((message, hint)) }
}

/// `None` if the word is no number of the core schema.
fn number(text: &str) -> Option<Scalar> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if matches!(unsigned, ".inf" | ".Inf" | ".INF") || matches!(text, ".nan" | ".NaN" | ".NAN") {
        let hint = "put it in quotes if it is text".to_owned();
        return Some(wrong(text, "a plan knows no infinite numbers", hint));
    }
    if let Some(read) = other_base(text) {
        return Some(read);
    }
    let (digits, rest) = split_digits(unsigned);
    if !is_decimal(digits, rest) {
        return None;
    }
    if digits.len() > 1 && digits.starts_with('0') {
        let number = json_number(text.starts_with('-'), digits, rest);
        let hint = format!("write {number}, or put it in quotes if it is text");
        let message = "a number with a leading zero is octal to some and decimal to others";
        return Some(wrong(text, message, hint));
    }
    let number = json_number(text.starts_with('-'), digits, rest);
    if !is_number(number.as_bytes()) {
        return None;
    }
    if !fits_double(&number) {
        let hint = "put it in quotes".to_owned();
        return Some(wrong(text, "this number is too large for a double", hint));
    }
    Some(fine(Value::Number(number)))
}

fn other_base(text: &str) -> Option<Scalar> {
    let (digits, base) = match (text.strip_prefix("0x"), text.strip_prefix("0o")) {
        (Some(digits), _) => (digits, 16),
        (_, Some(digits)) => (digits, 8),
        (None, None) => return None,
    };
    if digits.is_empty() || !digits.chars().all(|digit| digit.is_digit(base)) {
        return None;
    }
    let hint = match u64::from_str_radix(digits, base) {
        Ok(number) => format!("write {number}, or put it in quotes if it is text"),
        Err(_) => "put it in quotes".to_owned(),
    };
    Some(wrong(text, "a plan has decimal numbers only", hint))
}

fn split_digits(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit());
    text.split_at(end.unwrap_or(text.len()))
}

/// `[0-9]+(\.[0-9]*)?([eE][-+]?[0-9]+)?`, or the same with digits after the point only.
fn is_decimal(digits: &str, rest: &str) -> bool {
    let (fraction, rest) = match rest.strip_prefix('.') {
        Some(rest) => split_digits(rest),
        None => ("", rest),
    };
    if digits.is_empty() && fraction.is_empty() {
        return false;
    }
    let Some(exponent) = rest.strip_prefix(['e', 'E']) else {
        return rest.is_empty();
    };
    let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    !exponent.is_empty() && exponent.chars().all(|c| c.is_ascii_digit())
}

/// The number in JSON's form: a digit on both sides of the point, no plus, no leading zero.
fn json_number(is_negative: bool, digits: &str, rest: &str) -> String {
    let sign = if is_negative { "-" } else { "" };
    let whole = match digits.trim_start_matches('0') {
        "" => "0",
        whole => whole,
    };
    let rest = match rest.strip_prefix('.') {
        Some(tail) if !tail.starts_with(|c: char| c.is_ascii_digit()) => format!(".0{tail}"),
        _ => rest.to_owned(),
    };
    format!("{sign}{whole}{rest}")
}
