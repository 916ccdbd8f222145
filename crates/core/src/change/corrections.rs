//! The words of corrections, of what a person did from what to what, and the events that they stand for. And doubts that
//! outlive a change: a person is asked about them as long as their atom may come back.

use crate::doc::prelude::*;
use core::borrow::Borrow;

use super::lost_lines;
use crate::{
    difference,
    event::Event,
    id::{AtomId, AttemptId},
    state::{Atom, AtomStatus, Binding, Entry, State, record::CorrectionRecord},
    world::earlier::{doubt_of, doubts},
};

/// Corrections that others added since `before`, for the loop that finds them in the file.
pub fn news(before: &State, after: &State) -> Vec<Event> {
    let added = after.corrections.iter().skip(before.corrections.len());
    let corrections = added.map(|one| corrected(&one.data));
    corrections.flatten().collect()
}

/// The event that a correction stands for.
pub fn corrected(correction: &CorrectionRecord) -> Option<Event> {
    Some(Event::Corrected {
        kind: correction.told_as(),
        what: correction.description.clone()?,
        effects: correction.changes.clone(),
        lost: lost_lines(&correction.lost),
    })
}

/// Results that are told each with its words, at most.
const RESULTS_MAX: usize = 5;

pub(super) fn objective(before: &State, after: &State) -> String {
    match difference::of_objective(before, after) {
        text if text == difference::NOTHING => "the objective changed".into(),
        text => text,
    }
}

/// Each list of atoms after its words, without the empty ones.
pub(super) fn lists(lists: &[(&str, Vec<&AtomId>)]) -> Vec<String> {
    let named = lists.iter().filter(|(_, ids)| !ids.is_empty());
    named.map(|(what, ids)| format!("{what} {}", names(ids))).collect()
}

/// The atoms that stand in both states.
pub(super) fn atoms(before: &State, after: &State, ids: &[&AtomId]) -> Option<String> {
    if ids.is_empty() {
        return None;
    }
    Some(match difference::of_atoms(before, after, ids) {
        text if text == difference::NOTHING => format!("changed {}", names(ids)),
        text => format!("changed {text}"),
    })
}

/// Results that a person gave: the skipped atoms by their reason, then the others.
pub(super) fn results(before: &State, after: &State, ids: &[&AtomId]) -> Vec<String> {
    let of = |id: &AtomId| after.bindings.get(id).map(|binding| &**binding);
    let new_skip = |id: &AtomId| of(id).filter(|binding| binding.is_skip());
    let mut skipped: BTreeMap<&str, Vec<&AtomId>> = BTreeMap::new();
    let mut given: Vec<(&AtomId, &Binding)> = Vec::new();
    for id in ids {
        match (new_skip(id), of(id)) {
            (Some(skip), _) => skipped.entry(&skip.summary).or_default().push(id),
            (None, Some(binding)) => given.push((id, binding)),
            (None, None) => {}
        }
    }
    let skipped = skipped.into_iter().map(|(summary, ids)| {
        let (word, why) = summary.split_once(':').unwrap_or((summary, ""));
        let why = why.trim();
        let colon = if why.is_empty() { "" } else { ": " };
        format!("{word} {}{colon}{why}", names(&ids))
    });
    let shown = given.iter().take(RESULTS_MAX).map(|(id, is)| {
        let was = before.bindings.get(*id).map(|binding| &**binding);
        format!("result of {id}: {}", difference::of_result(was, is))
    });
    let more: Vec<&AtomId> = given.iter().skip(RESULTS_MAX).map(|(id, _)| *id).collect();
    let more = lists(&[("bindings overwritten:", more)]);
    skipped.chain(shown).chain(more).collect()
}

pub(super) fn names<I: Borrow<AtomId>>(ids: &[I]) -> String {
    let ids: Vec<&str> = ids.iter().map(|id| id.borrow().as_str()).collect();
    ids.join(", ")
}

/// The trail entries of the doubts that there are, and of those whose atom may come back.
pub(super) fn doubt_entries(state: &State) -> Vec<Arc<Entry>> {
    let there = doubts(state).into_iter().map(|doubt| doubt.attempt);
    let absent = absent_doubts(state).into_iter().map(|(_, attempt)| attempt);
    let doubted: BTreeSet<AttemptId> = there.chain(absent).collect();
    let is_of =
        |entry: &&Arc<Entry>| doubt_of(entry).is_some_and(|doubt| doubted.contains(&doubt.attempt));
    state.trail.iter().filter(is_of).cloned().collect()
}

/// Unanswered doubts of atoms that were taken out while their effect was under way.
pub(super) fn absent_doubts(state: &State) -> Vec<(AtomId, AttemptId)> {
    let all = state.all_atoms();
    let is_open = |(atom, attempt): &(AtomId, AttemptId)| {
        let mut answered = state.corrections.iter().filter_map(|one| one.data.attempt.as_ref());
        !all.contains_key(atom) && !answered.any(|one| one == attempt)
    };
    let doubts = state.trail.iter().filter_map(|entry| doubt_of(entry));
    let doubts = doubts.map(|doubt| (doubt.atom.clone(), doubt.attempt.clone()));
    doubts.filter(is_open).collect()
}

/// Asks about these doubts if their atoms are back, and open.
pub(super) fn ask_about(state: &mut State, doubts: Vec<(AtomId, AttemptId)>) {
    for (id, attempt) in doubts {
        let is_open =
            |atom: &Arc<Atom>| atom.task().is_some_and(|task| task.status == AtomStatus::Pending);
        let Some(atom) = state.atoms.get_mut(&id).filter(|atom| is_open(atom)) else {
            continue;
        };
        if let Some(task) = Arc::make_mut(atom).task_mut() {
            task.status = AtomStatus::InDoubt(attempt);
        }
    }
}
