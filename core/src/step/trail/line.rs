//! Shortens an older entry of the trail: a failure to a line with its fingerprint, an output to its last line.
//!
//! Not here: the choice of entries (`trail`).

use alloc::{string::String, vec::Vec};

use crate::{
    doc::{self, Member, Node, Value},
    id::Digest,
    state::{Entry, EntryKind},
};

/// Characters kept of an older output, or of a reason; the output keeps its last line.
const LINE_CHARS_MAX: usize = 200;
const FINGERPRINT: &str = "fingerprint";
/// The keys of a failure's cause, over which its fingerprint is taken.
const TOLD_BY: [&str; 5] = ["class", "reason", "output", "criteria", "files"];
/// Keys that a line omits.
const LONG: [&str; 4] = ["output", "whole", "criteria", "files"];

pub(super) fn is_line(failure: &Node) -> bool {
    failure.get(FINGERPRINT).is_some()
}

/// A failure as a line: who failed when, in which context, and why. Equal fingerprints mean equal failures.
pub(super) fn failure_line(entry: &Entry) -> Entry {
    let mut node = entry.node.clone();
    let fingerprint = Node::string(fingerprint(&node).as_str());
    if let Value::Object(members) = &mut node.value {
        members.retain(|member| !LONG.contains(&&*member.key));
        members.push(Member {
            key: FINGERPRINT.into(),
            key_span: node.span,
            node: fingerprint,
        });
    }
    let mut kind = entry.kind.clone();
    if let EntryKind::Failure { reason, .. } = &mut kind {
        *reason = first_line(reason);
        if let Some(value) = member(&mut node, "reason") {
            *value = Value::String(reason.clone());
        }
    }
    Entry { node, kind }
}

fn fingerprint(failure: &Node) -> Digest {
    let values = TOLD_BY.map(|key| failure.get(key).map(doc::canonical));
    let text: Vec<String> = values.into_iter().map(Option::unwrap_or_default).collect();
    Digest::of(text.join("\n").as_bytes())
}

fn first_line(reason: &str) -> String {
    let first = reason.lines().next().unwrap_or_default();
    first.chars().take(LINE_CHARS_MAX).collect()
}

/// The last line of an output, if it is longer.
fn short_output(record: &Node) -> Option<String> {
    let output = record.get("output").and_then(Node::as_str)?;
    let last = output.lines().map(str::trim).rfind(|line| !line.is_empty());
    let line: String = last
        .unwrap_or_default()
        .chars()
        .take(LINE_CHARS_MAX)
        .collect();
    (line.len() < output.trim().len()).then_some(line)
}

pub(super) fn has_long_output(record: &Node) -> bool {
    let evidence = record.get("evidence").and_then(Node::as_array);
    let mut all = evidence.unwrap_or_default().iter().chain([record]);
    all.any(|one| short_output(one).is_some())
}

/// The entry with the last line of each output. Its command, its end and its side file stay.
pub(super) fn with_short_output(entry: &Entry) -> Entry {
    let mut node = entry.node.clone();
    if let Some(Value::Array(proofs)) = member(&mut node, "evidence") {
        proofs.iter_mut().for_each(cut_output);
    }
    cut_output(&mut node);
    Entry {
        node,
        kind: entry.kind.clone(),
    }
}

fn cut_output(record: &mut Node) {
    if let Some(line) = short_output(record)
        && let Some(output) = member(record, "output")
    {
        *output = Value::String(line);
    }
}

fn member<'n>(record: &'n mut Node, key: &str) -> Option<&'n mut Value> {
    let Value::Object(members) = &mut record.value else {
        return None;
    };
    let found = members.iter_mut().find(|member| member.key == key)?;
    Some(&mut found.node.value)
}
