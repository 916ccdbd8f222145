//! Reads matches, numbers, head and tail from an output or a file.
//!
//! Regular expressions match bytes, so an output need not be UTF-8. `^` and `$` match at the ends
//! of every line: `(?m)` is on, and `(?-m)` turns it off. A number is written as in JSON or with a
//! sign; thousands separators (`1,000`) are not allowed.

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
            let last = error
                .to_string()
                .lines()
                .last()
                .unwrap_or_default()
                .trim()
                .to_owned();
            format!("'{text}' is no regular expression: {last}")
        };
        regex.map(Self).map_err(failed)
    }

    pub(super) fn is_match(&self, bytes: &[u8]) -> bool {
        self.0.is_match(bytes)
    }

    /// The sum of what the first group matched; `None` if it matched nothing, or anything that is
    /// no number.
    pub(super) fn sum(&self, bytes: &[u8]) -> Option<f64> {
        let found = self
            .0
            .captures_iter(bytes)
            .filter_map(|captures| captures.get(1));
        let numbers = found.map(|found| number(found.as_bytes()));
        let sum = numbers.reduce(|sum, next| Some(sum? + next?))??;
        sum.is_finite().then_some(sum)
    }
}

fn number(bytes: &[u8]) -> Option<f64> {
    let text = std::str::from_utf8(bytes).ok()?.trim();
    // Rust also reads "inf" and "nan".
    let is_plain = text
        .chars()
        .all(|c| c.is_ascii_digit() || "+-.eE".contains(c));
    text.parse()
        .ok()
        .filter(|number: &f64| is_plain && number.is_finite())
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
    let missing = output
        .total_bytes()
        .saturating_sub((head.len() + tail.len()) as u64);
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
    fn a_broken_pattern_says_so() {
        assert!(
            Pattern::new("(")
                .unwrap_err()
                .contains("'(' is no regular expression")
        );
    }
}
