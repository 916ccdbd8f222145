//! The effects outside of the tree that may or may not have happened: each is a person's to answer.

use alloc::{
    string::{String, ToString},
    vec::Vec,
};

use crate::{
    id::{AtomId, AttemptId},
    state::{AtomStatus, Entry, EntryKind, State, record::InDoubtEntry},
};

/// An effect that is in doubt.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Doubt {
    pub attempt: AttemptId,
    pub atom: AtomId,
    pub description: String,
    /// The start of its attempt.
    pub since: Option<String>,
    /// Why its effect is in doubt, or whether it may happen again.
    pub reason: Option<String>,
}

/// All doubts, in the order of the atoms.
pub fn doubts(state: &State) -> Vec<Doubt> {
    let doubtful = state.atoms.iter().filter_map(|(id, atom)| {
        let AtomStatus::InDoubt(attempt) = &atom.task()?.status else {
            return None;
        };
        let entry = entry_of(state, attempt);
        Some(Doubt {
            attempt: attempt.clone(),
            atom: id.clone(),
            description: atom.title(id).to_string(),
            since: entry.map(|doubt| doubt.started.clone()),
            reason: entry.map(|doubt| doubt.reason.clone()),
        })
    });
    doubtful.collect()
}

/// The doubt that an entry of the trail records.
pub(crate) fn doubt_of(entry: &Entry) -> Option<&InDoubtEntry> {
    match &entry.kind {
        EntryKind::InDoubt(doubt) => Some(doubt),
        _ => None,
    }
}

/// The newest entry of the trail about an attempt in doubt.
pub(crate) fn entry_of<'s>(state: &'s State, attempt: &AttemptId) -> Option<&'s InDoubtEntry> {
    let mut doubts = state.trail.iter().rev().filter_map(|entry| doubt_of(entry));
    doubts.find(|doubt| doubt.attempt == *attempt)
}
