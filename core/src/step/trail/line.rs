//! Shortens an older entry of the trail: a failure to a line with its fingerprint, an output to its last line.
//!
//! Not here: the choice of entries (`trail`).

use alloc::{string::String, vec::Vec};

use crate::{
    doc,
    id::Digest,
    state::{Entry, EntryKind, record::FailureEntry, value::FieldValue},
};

/// Characters of an output, or of a reason, that are kept of an older one: of the output its last line.
const LINE_CHARS_MAX: usize = 200;

/// Who failed when, in which context, why in one line, and a fingerprint that tells whether two failed alike.
pub(super) fn failure_line(entry: &Entry) -> Entry {
    let Some(failure) = entry.failure() else {
        return entry.clone();
    };
    let line = FailureEntry {
        reason: first_line(&failure.reason),
        output: String::new(),
        whole: None,
        criteria: Vec::new(),
        files: Vec::new(),
        fingerprint: Some(fingerprint(failure)),
        ..failure.clone()
    };
    entry.with(EntryKind::Failure(line))
}

/// Taken over how a failure came about.
fn fingerprint(failure: &FailureEntry) -> Digest {
    let list =
        |node: Option<crate::doc::Node>| node.as_ref().map(doc::canonical).unwrap_or_default();
    let filled = |node: crate::doc::Node, is_blank: bool| list((!is_blank).then_some(node));
    let text = [
        list(Some(failure.class.node())),
        list(Some(failure.reason.node())),
        filled(failure.output.node(), failure.output.is_blank()),
        filled(failure.criteria.node(), failure.criteria.is_blank()),
        filled(failure.files.node(), failure.files.is_blank()),
    ];
    Digest::of(text.join("\n").as_bytes())
}

fn first_line(reason: &str) -> String {
    let first = reason.lines().next().unwrap_or_default();
    first.chars().take(LINE_CHARS_MAX).collect()
}

/// The last line of an output that is longer.
fn short_output(output: &str) -> Option<String> {
    let last = output.lines().map(str::trim).rfind(|line| !line.is_empty());
    let line: String = last
        .unwrap_or_default()
        .chars()
        .take(LINE_CHARS_MAX)
        .collect();
    (line.len() < output.trim().len()).then_some(line)
}

pub(super) fn has_long_output(entry: &Entry) -> bool {
    let of_failure = entry.failure().map(|failure| &failure.output);
    let evidence = entry.refuted().into_iter().flat_map(|one| &one.evidence);
    let mut outputs = of_failure
        .into_iter()
        .chain(evidence.map(|one| &one.output));
    outputs.any(|output| short_output(output).is_some())
}

/// Keeps the last line of each output. The check, its end and the side file stay.
pub(super) fn with_short_output(entry: &Entry) -> Entry {
    let mut kind = entry.kind.clone();
    if let EntryKind::Failure(failure) = &mut kind {
        cut(&mut failure.output);
    } else if let EntryKind::Refuted(refuted) = &mut kind {
        let outputs = refuted.evidence.iter_mut().map(|one| &mut one.output);
        outputs.for_each(cut);
    }
    entry.with(kind)
}

fn cut(output: &mut String) {
    if let Some(line) = short_output(output) {
        *output = line;
    }
}
