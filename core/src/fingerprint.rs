//! The fingerprint of a failure: equal for failures that are alike, though paths, numbers and times differ.

use alloc::{string::String, vec::Vec};

use crate::{
    id::Digest,
    state::{FailureClass, value::FieldValue},
};

/// Lines of the output that count, from its end.
const LINES_MAX: usize = 20;
/// A shorter run of hexadecimal digits may be a word.
const HEX_MIN: usize = 7;
/// The place of what differs between two failures that are alike.
const ANY: char = '#';

/// A failure, as far as it tells another one alike.
#[derive(Debug, Clone, Copy)]
pub struct Symptoms<'a> {
    pub class: FailureClass,
    /// How it ended; after a colon, the end of what was printed.
    pub reason: &'a str,
    /// The titles of the checks that failed.
    pub checks: &'a [&'a str],
    pub output: &'a str,
}

/// The digest of what two alike failures share.
pub fn of(symptoms: Symptoms<'_>) -> Digest {
    let (how, rest) = match symptoms.reason.split_once(':') {
        Some((how, rest)) => (how, rest),
        None => (symptoms.reason, ""),
    };
    let class = symptoms.class.node();
    let mut lines: Vec<String> = Vec::new();
    lines.push(String::from(class.as_str().unwrap_or_default()));
    lines.push(String::from(how));
    lines.push(plain(rest));
    lines.extend(symptoms.checks.iter().map(|check| String::from(*check)));
    let printed = symptoms.output.lines().map(plain);
    let printed: Vec<String> = printed.filter(|line| !line.is_empty()).collect();
    let last = printed.len().saturating_sub(LINES_MAX);
    lines.extend(printed.into_iter().skip(last));
    Digest::of(lines.join("\n").as_bytes())
}

/// A line without what differs from one time to the next: escapes, directories, numbers, addresses.
fn plain(line: &str) -> String {
    let line = without_escapes(line);
    let words = line.split_whitespace().map(word);
    words.collect::<Vec<String>>().join(" ")
}

/// Sequences that begin with ESC are for a terminal.
fn without_escapes(line: &str) -> String {
    let mut text = String::new();
    let mut chars = line.chars();
    while let Some(char) = chars.next() {
        if char != '\u{1b}' {
            text.push(char);
        } else if chars.next() == Some('[') {
            chars.find(|end| ('@'..='~').contains(end));
        }
    }
    text
}

/// A path is cut to its last part; runs of digits, and longer ones of hexadecimal digits, count as one sign.
fn word(word: &str) -> String {
    let last = match word.rsplit_once('/') {
        Some((_, last)) if !last.is_empty() => last,
        _ => word,
    };
    let mut text = String::new();
    let mut rest = last;
    while let Some(first) = rest.chars().next() {
        let hex = run(rest, |char| char.is_ascii_hexdigit());
        let digits = run(rest, |char| char.is_ascii_digit());
        let has_digit = rest
            .get(..hex)
            .is_some_and(|run| run.contains(|char: char| char.is_ascii_digit()));
        let length = if hex >= HEX_MIN && has_digit {
            hex
        } else {
            digits
        };
        if length > 0 {
            text.push(ANY);
            rest = rest.get(length..).unwrap_or_default();
        } else {
            text.push(first);
            rest = rest.get(first.len_utf8()..).unwrap_or_default();
        }
    }
    text
}

/// The bytes at the start that are all of a kind.
fn run(text: &str, is_of: impl Fn(char) -> bool) -> usize {
    text.find(|char| !is_of(char)).unwrap_or(text.len())
}

#[cfg(test)]
mod tests;
