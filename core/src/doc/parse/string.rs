//! Reads quoted strings, and recovers strings that are not closed.
//!
//! Invariant: a closed string has the text that JSON defines; any other is a guess with a fault.

use super::Parser;
use alloc::{borrow::ToOwned, format, string::String};

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
