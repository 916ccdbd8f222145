//! The verdict on a plan that was carried out to its end and did not reach the goal, for those who try another way.
//!
//! Not here: failures of single attempts (`earlier`, `groups`).

use alloc::{format, string::String, vec::Vec};

use super::text::in_a_line;
use crate::{
    id::AtomId,
    state::record::{EvidenceRecord, RefutedEntry},
    world::World,
};

/// Lines of an output that are told, the last.
const LINES_MAX: usize = 3;

/// The newest verdict on a selection with this choice of a group, or this round of a planning step.
pub(super) fn newest_with<'w>(
    world: &'w World,
    group: &AtomId,
    choice: &AtomId,
) -> Option<&'w RefutedEntry> {
    let mut refuted = world.state.refutations().map(|(_, refuted)| refuted);
    refuted.find(|refuted| refuted.conflict.get(group) == Some(choice))
}

/// The checks that did not hold, each with how it ended and the last of what it said. Empty if none is known.
pub(super) fn reasons(refuted: &RefutedEntry, bytes_max: usize) -> String {
    let against = refuted.evidence.iter().filter(|one| one.speaks_against());
    let all: Vec<String> = against.map(reason).collect();
    in_a_line(&all.join("; "), bytes_max)
}

fn reason(evidence: &EvidenceRecord) -> String {
    let check = evidence.check.as_deref().unwrap_or("a check");
    let ended = evidence.ended.as_deref().map(|ended| format!(" ({ended})"));
    let mut last: Vec<&str> = evidence.output.lines().rev().take(LINES_MAX).collect();
    last.reverse();
    let said = match last.join(" ") {
        said if said.trim().is_empty() => String::new(),
        said => format!(": {}", said.trim()),
    };
    format!("{check}{}{said}", ended.unwrap_or_default())
}
