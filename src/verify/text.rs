//! Reads matches, numbers, head and tail from an output or a file.
//!
//! Regular expressions match bytes, so an output need not be UTF-8. `^` and `$` match at the ends
//! of every line: `(?m)` is on, and `(?-m)` turns it off. The end of the last line begins no further line. A number is written as in JSON or with a
//! sign; thousands separators (`1,000`) are not allowed.

use std::{borrow::Cow, sync::LazyLock};

use regex::bytes::{Regex, RegexBuilder};

use crate::process::Capture;

const EXCERPT_BYTES_MAX: usize = 2048;
const HEAD_BYTES: usize = 600;
/// For the line between head and tail.
const GAP_BYTES: usize = 64;

#[derive(Debug)]
pub(super) struct Pattern(Regex);

impl Pattern {
    pub(super) fn new(text: &str) -> Result<Self, String> {
        let regex = RegexBuilder::new(text).multi_line(true).build();
        let failed = |error: regex::Error| {
            let last = error.to_string().lines().last().unwrap_or_default().trim().to_owned();
            format!("'{text}' is no regular expression: {last}")
        };
        regex.map(Self).map_err(failed)
    }

    /// Whether it matches the bytes, or the same with each CRLF as LF.
    pub(super) fn is_match(&self, bytes: &[u8]) -> bool {
        let has = |bytes: &[u8]| {
            let is_no_line = |at: usize| at > 0 && at == bytes.len() && bytes.ends_with(b"\n");
            let mut found = self.0.find_iter(bytes);
            found.any(|found| !is_no_line(found.start()))
        };
        has(bytes) || matches!(with_lf(bytes), Cow::Owned(bytes) if has(&bytes))
    }

    /// The sum of what the first group matched; `None` if it matched nothing, or anything that is
    /// no number.
    pub(super) fn sum(&self, bytes: &[u8]) -> Option<f64> {
        let bytes = with_lf(bytes);
        let found = self.0.captures_iter(&bytes);
        let found = found.filter_map(|captures| captures.get(1));
        let numbers = found.map(|found| number(found.as_bytes()));
        let sum = numbers.reduce(|sum, next| Some(sum? + next?))??;
        sum.is_finite().then_some(sum)
    }
}

static CRLF: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"\r\n").ok());

/// Colours, other settings of a terminal, and links.
static ESCAPES: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let text = r"(?-u)\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[(][0-9A-Z])";
    Regex::new(text).ok()
});

/// An output as a terminal shows it: a tool may colour it although nobody looks.
pub(super) fn without_escapes(bytes: &[u8]) -> Cow<'_, [u8]> {
    let escapes = ESCAPES.as_ref();
    escapes.map_or(bytes.into(), |escapes| escapes.replace_all(bytes, &b""[..]))
}

fn with_lf(bytes: &[u8]) -> Cow<'_, [u8]> {
    match CRLF.as_ref() {
        Some(crlf) => crlf.replace_all(bytes, &b"\n"[..]),
        None => bytes.into(),
    }
}

fn number(bytes: &[u8]) -> Option<f64> {
    let text = std::str::from_utf8(bytes).ok()?.trim();
    // Rust also reads "inf" and "nan".
    let is_plain = text.chars().all(|c| c.is_ascii_digit() || "+-.eE".contains(c));
    text.parse().ok().filter(|number: &f64| is_plain && number.is_finite())
}

/// Whether an excerpt is shorter than the whole.
pub(super) fn is_cut(output: &Capture) -> bool {
    output.total_bytes() > EXCERPT_BYTES_MAX as u64
}

/// At most 2 KiB: the whole output, or a short head and a longer tail, where failures are reported.
pub(super) fn excerpt(output: &Capture) -> String {
    if !is_cut(output) {
        return output.excerpt(EXCERPT_BYTES_MAX);
    }
    let (head, tail) = (output.head(), output.tail());
    let head = &head[..head.floor_char_boundary(HEAD_BYTES)];
    let room = EXCERPT_BYTES_MAX - GAP_BYTES - head.len();
    let tail = &tail[tail.ceil_char_boundary(tail.len().saturating_sub(room))..];
    let missing = output.total_bytes().saturating_sub((head.len() + tail.len()) as u64);
    format!("{head}\n… {missing} bytes left out …\n{tail}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(pattern: &str, text: &str) -> Option<f64> {
        Pattern::new(pattern).unwrap().sum(text.as_bytes())
    }

    #[test]
    fn several_numbers_are_summed() {
        let text = "a: 12 passed\nb: 30 passed\n";
        assert_eq!(sum(r"(\d+) passed", text), Some(42.0));
        assert_eq!(sum(r"=(\S+)", "=-1.5 =+2 =1e2"), Some(100.5));
    }

    #[test]
    fn what_is_no_number_makes_the_sum_unknown() {
        for (pattern, text) in [
            (r"(\d+) passed", "none"),
            (r"(\S+) passed", "1,234 passed"),
            (r"(\S+) passed", "1_000 passed"),
            (r"(\S+) passed", "3 passed, inf passed"),
            (r"(\S+) passed", "nan passed"),
            (r"\d+ passed", "3 passed"),
            (r"(\S+)", "1e308 1e308"),
        ] {
            assert_eq!(sum(pattern, text), None, "{pattern} {text}");
        }
    }

    #[test]
    fn anchors_stand_at_lines_and_bytes_need_not_be_text() {
        let pattern = Pattern::new("^ok$").unwrap();
        assert!(pattern.is_match(b"\xff\nok\nend"));
        assert!(!pattern.is_match(b"not ok\n"));
        assert!(!Pattern::new("(?-m)^ok$").unwrap().is_match(b"a\nok\n"));
    }

    #[test]
    fn anchors_stand_before_crlf_too() {
        let pattern = Pattern::new("^ok$").unwrap();
        assert!(pattern.is_match(b"a\r\nok\r\n"));
        assert!(!pattern.is_match(b"ok \r\n"));
        assert!(!pattern.is_match(b"ok\rmore\n"));
        assert!(Pattern::new(r"k\r$").unwrap().is_match(b"ok\r\n"));
        let bar = "10%\r50%\r60%\n";
        assert_eq!(sum(r"(\d+)%$", bar), Some(60.0));
        assert_eq!(sum(r"^passed (\d+)$", "passed 3\r\npassed 4\r\n"), Some(7.0));
    }

    #[test]
    fn after_the_last_end_of_a_line_there_is_no_line() {
        let empty = Pattern::new("^$").unwrap();
        for (text, is_match) in [("", true), ("x\n", false), ("x\r\n", false), ("x\n\ny", true)] {
            assert_eq!(empty.is_match(text.as_bytes()), is_match, "{text:?}");
        }
        assert!(Pattern::new("x\n").unwrap().is_match(b"x\n"));
    }

    #[test]
    fn colours_and_links_are_no_part_of_an_output_and_all_else_is() {
        for (raw, shown) in [
            (&b"Tests \x1b[32m12\x1b[39m passed"[..], &b"Tests 12 passed"[..]),
            (b"\x1b]8;;http://a\x1b\\a\x1b]8;;\x07\x1b(B\x1b[1;38:5:9mb\x1b[K", b"ab"),
            (b"\xff\x1b[\n\x1b", b"\xff\x1b[\n\x1b"),
        ] {
            assert_eq!(&*without_escapes(raw), shown);
        }
    }

    #[test]
    fn a_broken_pattern_says_so() {
        assert!(Pattern::new("(").unwrap_err().contains("'(' is no regular expression"));
    }
}
