//! The fingerprint of a failure: equal for failures that are alike, though paths, numbers and times differ.

use crate::doc::prelude::*;
use crate::{doc::Node, id::Digest, state::record::FailureEntry, verdict::Verdict};

/// Lines of the output that count, from its end.
const LINES_MAX: usize = 20;
/// A shorter run of hexadecimal digits may be a word.
const HEX_MIN: usize = 7;
/// The place of what differs between two failures that are alike.
const ANY: char = '#';
/// The beginnings of names that are made up each time.
const TEMPORARY: [&str; 2] = ["tmp", ".tmp"];

/// The digest of what two alike failures share. The reason says how it ended, and after a colon the end of its output.
pub fn of(failure: &FailureEntry) -> Digest {
    let reason = failure.reason.split_once(':');
    let (how, rest) = reason.unwrap_or((&failure.reason, ""));
    let printed = failure.output.lines().map(plain);
    let printed: Vec<String> = printed.filter(|line| !line.is_empty()).collect();
    let last = printed.len().saturating_sub(LINES_MAX);
    let parts = [
        failure.class.word().into(),
        how.into(),
        plain(rest),
        failed_checks(failure).join("\n"),
        printed.get(last..).unwrap_or_default().join("\n"),
    ];
    Digest::of(parts.join("\0").as_bytes())
}

/// The checks of the atom that did not hold.
pub fn failed_checks(failure: &FailureEntry) -> Vec<&str> {
    let holds = |leaf: &&Node| {
        let verdict = leaf.get("verdict").and_then(Node::as_str);
        verdict == Some(Verdict::Pass.word())
    };
    let failed = failure.criteria.iter().filter(|leaf| !holds(leaf));
    failed.filter_map(|leaf| leaf.get("check").and_then(Node::as_str)).collect()
}

/// A line without what differs from one time to the next: escapes, directories, numbers, addresses.
pub fn plain(line: &str) -> String {
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

/// A path is cut to its last part. Temporary names, runs of digits, and longer ones of hexadecimal digits, count as one
/// sign.
fn word(word: &str) -> String {
    let last = match word.rsplit_once('/') {
        Some((_, last)) if !last.is_empty() => last,
        _ => word,
    };
    let name = last.trim_start_matches(|char: char| !char.is_alphanumeric() && char != '.');
    if TEMPORARY.iter().any(|start| name.starts_with(start)) {
        return ANY.into();
    }
    let mut text = String::new();
    let mut rest = last;
    while let Some(first) = rest.chars().next() {
        let hex = run(rest, |char| char.is_ascii_hexdigit());
        let digits = run(rest, |char| char.is_ascii_digit());
        let has_digit =
            rest.get(..hex).is_some_and(|run| run.contains(|char: char| char.is_ascii_digit()));
        let length = if hex >= HEX_MIN && has_digit { hex } else { digits };
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
