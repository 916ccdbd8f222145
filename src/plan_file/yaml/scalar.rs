//! The type of a bare word, by the core schema of YAML 1.2: null, true or false, a number, else a string.
//!
//! Numbers that JSON cannot write, or that readers of YAML take for different ones, are faults: hexadecimal and octal,
//! leading zeros, infinity and not-a-number. Invariant: a number kept as a number is one to JSON.

use std::sync::LazyLock;

use descent_core::doc::{Value, fits_double};
use regex::Regex;

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

/// `None` if the word is no number of the core schema.
fn number(text: &str) -> Option<Scalar> {
    static OTHER: LazyLock<Option<Regex>> = LazyLock::new(|| {
        let infinite = r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)";
        Regex::new(&format!(r"^({infinite}|0x[0-9a-fA-F]+|0o[0-7]+)$")).ok()
    });
    static DECIMAL: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"^([-+]?)([0-9]*)(?:\.([0-9]*))?([eE][-+]?[0-9]+)?$").ok());
    let wrong = |message, hint: &str| {
        let wrong = Some((message, hint.to_owned()));
        Some(Scalar { value: Value::String(text.to_owned()), wrong })
    };
    if OTHER.as_ref()?.is_match(text) {
        let hint = "write it so, or put it in quotes if it is text";
        return wrong("a plan has decimal numbers only, and no infinite ones", hint);
    }
    let parts = DECIMAL.as_ref()?.captures(text)?;
    let part = |nth| parts.get(nth).map(|part: regex::Match<'_>| part.as_str());
    let (whole, fraction) = (part(2).unwrap_or_default(), part(3));
    if whole.is_empty() && fraction.is_none_or(str::is_empty) {
        return None;
    }
    // JSON has a digit on both sides of the point, no plus and no leading zero.
    let sign = part(1).filter(|sign| *sign == "-").unwrap_or_default();
    let digits = match whole.trim_start_matches('0') {
        "" => "0",
        digits => digits,
    };
    let fraction = match fraction {
        None => String::new(),
        Some("") => ".0".to_owned(),
        Some(fraction) => format!(".{fraction}"),
    };
    let number = format!("{sign}{digits}{fraction}{}", part(4).unwrap_or_default());
    if whole.len() > 1 && whole.starts_with('0') {
        let hint = format!("write {number}, or put it in quotes if it is text");
        return wrong("a number with a leading zero is octal to some and decimal to others", &hint);
    }
    if !fits_double(&number) {
        return wrong("this number is too large for a double", "put it in quotes");
    }
    Some(fine(Value::Number(number)))
}
