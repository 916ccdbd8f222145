//! The atoms that others work on, and failures that several atoms share.

use alloc::{
    format,
    string::{String, ToString},
    vec::Vec,
};

use super::{
    section::PromptSection,
    subject::PromptSubject,
    text::{in_a_line, named, names},
};
use crate::state::{Intent, PatternRecord, Workspace};

const OTHERS_BYTES_MAX: usize = 1 << 10;
const PATTERNS_BYTES_MAX: usize = 1 << 10;
/// All that this file adds.
pub(super) const BYTES_MAX: usize = OTHERS_BYTES_MAX + PATTERNS_BYTES_MAX;
/// Atoms that are named, and the bytes of the words of each.
const OTHERS_MAX: usize = 6;
const OTHER_BYTES_MAX: usize = 60;
const PATTERNS_MAX: usize = 2;
const ATOMS_MAX: usize = 5;
const REASON_BYTES_MAX: usize = 200;

pub(super) fn at_work(subject: &PromptSubject<'_>) -> PromptSection {
    let head = "Others at work at this moment";
    let section = PromptSection::new("others", head, OTHERS_BYTES_MAX);
    let state = &subject.world.state;
    let is_other = |intent: &&Intent| intent.atom != subject.intent.atom;
    let others: Vec<&Intent> = state.run.in_flight.iter().filter(is_other).collect();
    if others.is_empty() {
        return section;
    }
    let line = |intent: &&Intent| {
        let name = named(subject.world, &intent.atom, OTHER_BYTES_MAX);
        format!("- {name}\n")
    };
    let mut lines: String = others.iter().take(OTHERS_MAX).map(line).collect();
    if others.len() > OTHERS_MAX {
        lines.push_str(&format!("- and {} more\n", others.len() - OTHERS_MAX));
    }
    let end = match state.objective.constraints.workspace() {
        Workspace::Git | Workspace::Shadow => {
            "You do not see their changes. A change of yours to the same lines as one of theirs may have to be made again."
        }
        Workspace::Shared => "They change the same files as you, in the same place.",
    };
    section.with(format!("{lines}{end}"))
}

/// Told patterns, of which this atom is a part, or else the newest.
pub(super) fn patterns(subject: &PromptSubject<'_>) -> PromptSection {
    let section = PromptSection::new("patterns", "Several atoms failed alike", PATTERNS_BYTES_MAX);
    let patterns = subject.world.state.run.patterns.iter().rev();
    let told: Vec<&PatternRecord> = patterns.filter(|one| one.told).collect();
    let is_its = |one: &&PatternRecord| one.atoms.contains(&subject.intent.atom);
    let (its, others): (Vec<&PatternRecord>, Vec<&PatternRecord>) =
        told.iter().partition(|one| is_its(one));
    let shown = its.into_iter().chain(others).take(PATTERNS_MAX);
    let line = |one: &PatternRecord| {
        let atoms = one.atoms.iter().map(ToString::to_string);
        let reason = in_a_line(&one.reason, REASON_BYTES_MAX);
        format!("- {}: {reason}\n", names(atoms, ATOMS_MAX))
    };
    let lines: String = shown.map(line).collect();
    if lines.is_empty() {
        section
    } else {
        section.with(format!("{lines}The cause may lie outside of each of them."))
    }
}
