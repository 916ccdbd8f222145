//! Reads quoted strings, numbers and words, and recovers strings that are not closed.
//!
//! Invariant: a closed string has the text that JSON defines; any other is a guess with a fault.

use super::{Parser, Value};
use crate::prelude::*;

/// How far a string that breaks its line is searched for its end, in bytes.
const LOOK_AHEAD_MAX: usize = 1 << 16;

#[derive(Clone, Copy, PartialEq)]
enum Quote {
    Double,
    Single,
    /// “ and ”, as word processors make them.
    Curly,
}

impl Quote {
    fn at(text: &str) -> Option<(Self, usize)> {
        match text.as_bytes().first()? {
            b'"' => Some((Self::Double, 1)),
            b'\'' => Some((Self::Single, 1)),
            0xe2 if text.starts_with(['“', '”']) => Some((Self::Curly, '“'.len_utf8())),
            _ => None,
        }
    }

    /// Whether the byte may end a run of plain text.
    fn stops(self, byte: u8) -> bool {
        match self {
            Self::Double => byte == b'"',
            Self::Single => byte == b'\'',
            Self::Curly => byte == 0xe2 || byte == b'"',
        }
    }

    /// The length of the closing quote at the start of `text`, if there is one.
    fn closed_by(self, text: &str) -> Option<usize> {
        let (found, len) = Self::at(text)?;
        let fits = found == self || (self == Self::Curly && found == Self::Double);
        fits.then_some(len)
    }
}

impl Parser<'_> {
    pub(super) fn at_quote(&self) -> bool {
        Quote::at(&self.text[self.at..]).is_some()
    }

    /// Reads the string whose opening quote is here.
    pub(super) fn quoted(&mut self, is_key: bool) -> String {
        let open = self.at;
        let quote = self.opening_quote();
        let inner = self.at;
        let mut out = String::new();
        let mut breaks_line = false;
        loop {
            self.plain(quote, &mut out);
            if let Some(len) = quote.closed_by(&self.text[self.at..]) {
                self.at += len;
                return out;
            }
            match self.bytes.get(self.at) {
                Some(b'\\') => self.escape(quote, &mut out),
                Some(b'\n' | b'\r') if breaks_line => self.take_char(&mut out),
                Some(b'\n' | b'\r') if self.closes_later(quote) => {
                    breaks_line = true;
                    let message = "a line break inside a string is written as \\n";
                    self.fault(self.at..self.at + 1, "control-character", message, None);
                }
                None | Some(b'\n' | b'\r') => return self.cut(open, inner, is_key),
                Some(0) => self.skip_nul_bytes(),
                Some(1..0x20) => self.control(&mut out),
                Some(_) => self.take_char(&mut out),
            }
        }
    }

    fn opening_quote(&mut self) -> Quote {
        let start = self.at;
        let (quote, len) =
            Quote::at(&self.text[start..]).expect("BUG: the caller saw an opening quote");
        self.at += len;
        let rule = match quote {
            Quote::Double => return quote,
            Quote::Single => "single-quotes",
            Quote::Curly => "curly-quotes",
        };
        let message = "strings stand in straight double quotes";
        self.fault(start..self.at, rule, message, Some("use \" on both sides"));
        quote
    }

    fn plain(&mut self, quote: Quote, out: &mut String) {
        let rest = &self.bytes[self.at..];
        let stops = |byte: &u8| *byte < 0x20 || *byte == b'\\' || quote.stops(*byte);
        let len = rest.iter().position(stops).unwrap_or(rest.len());
        out.push_str(&self.text[self.at..self.at + len]);
        self.at += len;
    }

    fn take_char(&mut self, out: &mut String) {
        if let Some(char) = self.text[self.at..].chars().next() {
            out.push(char);
            self.at += char.len_utf8();
        }
    }

    fn control(&mut self, out: &mut String) {
        let start = self.at;
        let stays = |byte: &u8| (1..0x20).contains(byte) && !matches!(byte, b'\n' | b'\r');
        while self.bytes.get(self.at).is_some_and(stays) {
            self.take_char(out);
        }
        let code = self.bytes[start];
        let message = format!("the control character {code:#04x} must be escaped");
        let hint = match code {
            b'\t' => "write \\t".to_owned(),
            _ => format!("write \\u{code:04x}"),
        };
        self.fault(start..self.at, "control-character", message, Some(&hint));
    }

    fn escape(&mut self, quote: Quote, out: &mut String) {
        let start = self.at;
        self.at += 1;
        let char = match self.bytes.get(self.at) {
            Some(b'u') => return self.unicode(start, out),
            Some(byte @ (b'"' | b'\\' | b'/')) => char::from(*byte),
            Some(b'\'') if quote == Quote::Single => '\'',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            None => return,
            Some(_) => {
                out.push('\\');
                self.take_char(out);
                let message = "this escape does not exist in JSON";
                let hint = "write \\\\ for a backslash";
                let here = start..self.at;
                return self.fault(here, "bad-escape", message, Some(hint));
            }
        };
        out.push(char);
        self.at += 1;
    }

    /// Reads `\uXXXX`, from its backslash at `start`; a character beyond 16 bits takes two.
    fn unicode(&mut self, start: usize, out: &mut String) {
        self.at += 1;
        let Some(first) = self.hex(self.at) else {
            out.push_str("\\u");
            let message = "four hexadecimal digits belong after \\u";
            return self.fault(start..self.at, "bad-escape", message, None);
        };
        self.at += 4;
        let pair = self.bytes[self.at..].starts_with(b"\\u");
        let second = if pair { self.hex(self.at + 2) } else { None };
        let units = [Some(first), second].into_iter().flatten();
        match char::decode_utf16(units).next() {
            Some(Ok(char)) => {
                out.push(char);
                self.at += if char.len_utf16() == 2 { 6 } else { 0 };
            }
            _ => {
                out.push(char::REPLACEMENT_CHARACTER);
                let message = "this is half of a surrogate pair, which is no character";
                self.fault(start..self.at, "lone-surrogate", message, None);
            }
        }
    }

    fn hex(&self, at: usize) -> Option<u16> {
        let digits = self.bytes.get(at..at + 4)?;
        digits.iter().try_fold(0, |code, digit| {
            let digit = u16::try_from(char::from(*digit).to_digit(16)?).ok()?;
            Some(code << 4 | digit)
        })
    }

    /// Whether the quote after this line break ends the string, rather than opens the next one.
    fn closes_later(&self, quote: Quote) -> bool {
        let end = self.text.floor_char_boundary(self.at + LOOK_AHEAD_MAX);
        let ahead = &self.text[self.at..end];
        let mut chars = ahead.char_indices();
        while let Some((at, char)) = chars.next() {
            if char == '\\' {
                chars.next();
            } else if let Some(len) = quote.closed_by(&ahead[at..]) {
                let next = ahead[at + len..].trim_start().chars().next();
                return next.is_none_or(|next| matches!(next, ',' | ':' | '}' | ']'));
            }
        }
        false
    }

    /// A string without its closing quote: the rest of the line, without what looks like structure.
    fn cut(&mut self, open: usize, inner: usize, is_key: bool) -> String {
        let rest = &self.text[inner..];
        let mut line = &rest[..rest.find(['\n', '\r']).unwrap_or(rest.len())];
        if is_key {
            line = &line[..line.find(':').unwrap_or(line.len())];
        }
        let kept = line.trim_end_matches([' ', '\t', ',', ']', '}']);
        self.at = inner + kept.len();
        let message = "this string has no closing quote";
        self.fault(open..self.at, "unclosed-string", message, None);
        self.end_reported |= self.at >= self.content_end();
        kept.to_owned()
    }
}

// Reads numbers, the three words of JSON, and text without its quotes.
//
// Invariant: a number kept as a number is valid JSON.

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
