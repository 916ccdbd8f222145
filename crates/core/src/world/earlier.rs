//! The earlier attempts of an atom, as far as the trail keeps them, and effects in doubt.
//!
//! Not here: their words in a prompt (`prompt`), their files and commits (the shell).

use super::session::TrailLimits;
use crate::doc::prelude::*;
use crate::{
    id::{AtomId, AttemptId, Digest},
    state::{
        AtomStatus, Entry, EntryKind, FailureEntry, Intent, RetryFrom, State, atom::MergeConflict,
        record::InDoubtEntry,
    },
};

/// A failure of an atom.
#[derive(Debug, Clone, Copy)]
pub struct EarlierFailure<'s> {
    pub entry: &'s FailureEntry,
    /// It does not stand as a line: all that is known of it is there.
    pub is_in_full: bool,
}

/// The failures of an atom in all contexts, the newest first.
pub fn failures_of<'s>(state: &'s State, atom: &AtomId) -> Vec<EarlierFailure<'s>> {
    let failures_max = TrailLimits::default().failures;
    let mut newer: BTreeMap<Option<&Digest>, usize> = BTreeMap::new();
    let failures = state.failures().map(|(_, failure)| failure);
    let of_atom = failures.filter(|failure| failure.atom == *atom);
    of_atom
        .map(|entry| {
            let newer = newer.entry(entry.context.as_ref()).or_default();
            *newer += 1;
            EarlierFailure { entry, is_in_full: *newer <= failures_max }
        })
        .collect()
}

/// The change that did not merge in the context of this attempt.
pub fn conflict_of<'s>(state: &'s State, intent: &Intent) -> Option<&'s MergeConflict> {
    state.atom(&intent.atom)?.task()?.tried(&intent.context)?.conflict.as_ref()
}

/// The attempts of this atom of which a change was kept, the newest first; in all contexts or in this one.
pub fn changes(state: &State, intent: &Intent, context: Option<&Digest>) -> Vec<AttemptId> {
    let failures = failures_of(state, &intent.atom).into_iter();
    let has_change = |one: &EarlierFailure<'_>| {
        let is_meant = context.is_none() || one.entry.context.as_ref() == context;
        is_meant && !one.entry.changed.is_empty()
    };
    let failed = failures.filter(has_change).map(|one| one.entry.attempt.clone());
    let conflict = conflict_of(state, intent).and_then(|one| one.attempt.clone());
    let mut all: Vec<AttemptId> = failed.chain(conflict).collect();
    all.sort_by_key(|id| core::cmp::Reverse(id.count()));
    all.dedup();
    all
}

/// The attempt of which the change is laid on the tree that this one begins with, if that is wanted.
pub fn begins_with(state: &State, intent: &Intent) -> Option<AttemptId> {
    let constraints = &state.objective.constraints;
    let task = state.atom(&intent.atom)?.task()?;
    let retry_from = task.retry_from.unwrap_or_else(|| constraints.retry_from());
    match retry_from {
        RetryFrom::Clean => None,
        RetryFrom::Last => changes(state, intent, Some(&intent.context)).into_iter().next(),
    }
}

// The effects outside of the tree that may or may not have happened: each is a person's to answer.

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
        let AtomStatus::InDoubt(attempt) = &atom.task()?.status else { return None };
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
