//! Reads numbers, the three words of JSON, and text without its quotes.
//!
//! Invariant: a number kept as a number is valid JSON.

use super::{Parser, Value};
use alloc::{
    borrow::ToOwned,
    format,
    string::{String, ToString},
};

/// Whether a bare word or key ends here at the latest.
fn delimits(byte: u8) -> bool {
    byte <= b' ' || b",:{}[]\"'/#=".contains(&byte)
}

impl Parser<'_> {
    pub(super) fn number(&mut self) -> Value {
        let start = self.at;
        let part = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-._".contains(byte);
        let rest = &self.bytes[start..];
        self.at += rest.iter().position(|byte| !part(byte)).unwrap_or(rest.len());
        let raw = &self.text[start..self.at];
        if !is_number(raw.as_bytes()) {
            return self.bad_number(start, raw.to_owned());
        }
        if !fits_double(raw) {
            let message = "this number is too large for a double";
            let hint = "put it in quotes";
            self.fault(start..self.at, "number-range", message, Some(hint));
        }
        Value::Number(raw.to_owned())
    }

    fn bad_number(&mut self, start: usize, raw: String) -> Value {
        let mended = mended(&raw);
        let hint = match &mended {
            Some(number) => format!("write {number}"),
            None if is_infinite_word(&raw) => "use null or a string".to_owned(),
            None => "put it in quotes if it is text".to_owned(),
        };
        let message = "this is no JSON number";
        self.fault(start..self.at, "bad-number", message, Some(&hint));
        match mended {
            Some(number) => Value::Number(number),
            None if is_infinite_word(&raw) => Value::Null,
            None => Value::String(raw),
        }
    }

    pub(super) fn at_word(&self) -> bool {
        let next = self.text[self.at..].chars().next();
        next.is_some_and(|char| char.is_alphabetic() || matches!(char, '_' | '$'))
    }

    pub(super) fn word(&mut self) -> Value {
        let start = self.at;
        let part = |byte: &u8| byte.is_ascii_alphanumeric() || b"_$-.".contains(byte);
        let rest = &self.bytes[start..];
        let len = rest.iter().position(|byte| !part(byte)).unwrap_or(rest.len());
        self.at += len;
        let word = &self.text[start..self.at];
        match word {
            "true" => return Value::Bool(true),
            "false" => return Value::Bool(false),
            "null" => return Value::Null,
            _ if is_infinite_word(word) => return self.bad_number(start, word.to_owned()),
            _ => {}
        }
        let (value, right) = match word.to_ascii_lowercase().as_str() {
            "true" => (Value::Bool(true), "true"),
            "false" => (Value::Bool(false), "false"),
            "null" | "none" | "nil" | "undefined" => (Value::Null, "null"),
            _ => return self.bare_text(start),
        };
        let message = format!("`{word}` is no JSON word");
        let hint = format!("write {right}");
        self.fault(start..self.at, "bad-literal", message, Some(&hint));
        value
    }

    /// Reads a value without its quotes, or without the opening one, up to what looks like
    /// structure.
    fn bare_text(&mut self, start: usize) -> Value {
        let rest = &self.text[start..];
        let line = &rest
            [..rest.find(['\n', '\r', '\0', ',', ']', '}', '{', '[', '"']).unwrap_or(rest.len())];
        let comment = [" //", " /*", " #"].iter().filter_map(|mark| line.find(mark)).min();
        let text = line[..comment.unwrap_or(line.len())].trim_end();
        self.at = start + text.len();
        self.missing_quotes(start, "unquoted-string", "this text needs double quotes");
        Value::String(text.to_owned())
    }

    /// Reads a key without its quotes, or without the opening one.
    pub(super) fn bare_key(&mut self) -> Option<String> {
        let start = self.at;
        let rest = &self.bytes[start..];
        let len = rest.iter().position(|byte| delimits(*byte)).unwrap_or(rest.len());
        if len == 0 {
            return None;
        }
        self.at += len;
        let key = self.text[start..self.at].to_owned();
        self.missing_quotes(start, "unquoted-key", "keys stand in double quotes");
        Some(key)
    }

    fn missing_quotes(&mut self, start: usize, rule: &'static str, message: &str) {
        let rest = &self.text[self.at..];
        let next = rest.get(1..).and_then(|rest| rest.trim_start().chars().next());
        let closes = next.is_none_or(|next| matches!(next, ',' | ':' | '}' | ']'));
        if rest.starts_with('"') && closes {
            self.at += 1;
            let message = "the opening quote is missing here";
            return self.fault(start..start, "missing-quote", message, None);
        }
        let hint =
            format!("put \" before and after {}", super::clipped(&self.text[start..self.at]));
        self.fault(start..self.at, rule, message, Some(&hint));
    }

    /// Skips characters that begin no value; at least one.
    pub(super) fn junk(&mut self, is_reported: bool) {
        let start = self.at;
        let mut chars = self.text[start..].chars();
        let first = chars.next().unwrap_or_default();
        let goes_on = |char: &char| match u8::try_from(*char) {
            Ok(byte) if byte.is_ascii() => !byte.is_ascii_alphanumeric() && !delimits(byte),
            _ => false,
        };
        let more: usize = chars.take_while(goes_on).map(char::len_utf8).sum();
        self.at += first.len_utf8() + more;
        if !is_reported {
            let shown = first.escape_debug().to_string();
            let message = format!("`{shown}` cannot stand here");
            self.fault(start..self.at, "unexpected-character", message, None);
        }
    }
}

fn is_infinite_word(raw: &str) -> bool {
    let word = raw.trim_start_matches(['+', '-']).to_ascii_lowercase();
    matches!(word.as_str(), "nan" | "inf" | "infinity")
}

/// The grammar of RFC 8259, section 6.
pub fn is_number(raw: &[u8]) -> bool {
    let rest = raw.strip_prefix(b"-").unwrap_or(raw);
    let (whole, mut rest) = digits(rest);
    if whole.is_empty() || (whole.len() > 1 && whole[0] == b'0') {
        return false;
    }
    if let Some(fraction) = rest.strip_prefix(b".") {
        let (fraction, after) = digits(fraction);
        if fraction.is_empty() {
            return false;
        }
        rest = after;
    }
    if let [b'e' | b'E', exponent @ ..] = rest {
        let exponent = match exponent {
            [b'+' | b'-', unsigned @ ..] => unsigned,
            unsigned => unsigned,
        };
        let (exponent, after) = digits(exponent);
        return !exponent.is_empty() && after.is_empty();
    }
    rest.is_empty()
}

fn digits(raw: &[u8]) -> (&[u8], &[u8]) {
    let other = |byte: &u8| !byte.is_ascii_digit();
    raw.split_at(raw.iter().position(other).unwrap_or(raw.len()))
}

/// Whether a double can hold this number, rounded.
pub fn fits_double(raw: &str) -> bool {
    let short = raw.len() < 300 && !raw.contains(['e', 'E']);
    short || raw.parse().is_ok_and(f64::is_finite)
}

/// The intended number, if only its form is wrong.
fn mended(raw: &str) -> Option<String> {
    let (sign, rest) = match raw.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", raw.strip_prefix('+').unwrap_or(raw)),
    };
    let rest: String = rest.chars().filter(|char| *char != '_').collect();
    let tail = rest.trim_start_matches(|char: char| char.is_ascii_digit());
    let whole = rest[..rest.len() - tail.len()].trim_start_matches('0');
    let whole = if whole.is_empty() { "0" } else { whole };
    let tail = tail.strip_suffix('.').unwrap_or(tail);
    let number = format!("{sign}{whole}{tail}");
    let had_digits = rest.contains(|char: char| char.is_ascii_digit());
    (had_digits && is_number(number.as_bytes()) && fits_double(&number)).then_some(number)
}
