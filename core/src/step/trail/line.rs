//! Shortens an older entry of the trail: a failure to a line with its fingerprint, an output to its last line.
//!
//! Not here: the choice of entries (`trail`).

use alloc::{boxed::Box, string::String, vec::Vec};

use crate::{
    fingerprint,
    state::{Entry, EntryKind, record::FailureEntry},
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
        summary: String::new(),
        value: None,
        handoff: None,
        unclear: false,
        changed: Vec::new(),
        tried: Vec::new(),
        fingerprint: Some(match &failure.fingerprint {
            Some(known) => known.clone(),
            None => fingerprint::of(failure),
        }),
        ..failure.clone()
    };
    entry.with(EntryKind::Failure(Box::new(line)))
}

/// Whether a failure stands as a line already.
pub(super) fn is_line(failure: &FailureEntry) -> bool {
    failure.fingerprint.is_some()
        && failure.output.is_empty()
        && failure.whole.is_none()
        && failure.criteria.is_empty()
        && failure.files.is_empty()
        && failure.summary.is_empty()
        && failure.value.is_none()
        && failure.handoff.is_none()
        && !failure.unclear
        && failure.changed.is_empty()
        && failure.tried.is_empty()
        && failure.reason == first_line(&failure.reason)
}

/// The beginning of a reason, on one line.
pub(in super::super) fn first_line(reason: &str) -> String {
    let first = reason.lines().next().unwrap_or_default();
    first.chars().take(LINE_CHARS_MAX).collect()
}

/// The last line of an output that is longer.
fn short_output(output: &str) -> Option<String> {
    let last = output.lines().map(str::trim).rfind(|line| !line.is_empty());
    let line: String = last.unwrap_or_default().chars().take(LINE_CHARS_MAX).collect();
    (line.len() < output.trim().len()).then_some(line)
}

pub(super) fn has_long_output(entry: &Entry) -> bool {
    let of_failure = entry.failure().map(|failure| &failure.output);
    let evidence = entry.refuted().into_iter().flat_map(|one| &one.evidence);
    let mut outputs = of_failure.into_iter().chain(evidence.map(|one| &one.output));
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
