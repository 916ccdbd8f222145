//! The finding of a probe, for those who do its task.

use alloc::format;

use super::{section::PromptSection, subject::PromptSubject, text::cut};
use crate::state::{EntryKind, record::ProbeEntry};

pub(super) const BYTES_MAX: usize = 3 << 10;
const FINDINGS_BYTES_MAX: usize = 2 << 10;

pub(super) fn section(subject: &PromptSubject<'_>, bytes_max: usize) -> PromptSection {
    let section = PromptSection::new("found", "Found out before", bytes_max);
    let Some(found) = newest(subject) else {
        return section;
    };
    let words = match found.feasible {
        Some(true) => "A probe says that it can be done:",
        Some(false) => "A probe says that it cannot be done. It may be wrong:",
        None => return section,
    };
    let findings = cut(found.findings.trim(), FINDINGS_BYTES_MAX);
    section.with(format!("{words}\n\n{findings}"))
}

/// The newest finding in the context of the attempt.
fn newest<'w>(subject: &PromptSubject<'w>) -> Option<&'w ProbeEntry> {
    let mut entries = subject.world.state.trail.iter().rev();
    entries.find_map(|entry| match &entry.kind {
        EntryKind::Probe(one)
            if one.atom == subject.intent.atom
                && one.context.as_ref() == Some(&subject.intent.context) =>
        {
            Some(one)
        }
        _ => None,
    })
}
