//! The words of a correction: what a person did, from what to what.
//!
//! Not here: what follows from it (`consequence`).

use alloc::{collections::BTreeMap, format, string::String, vec::Vec};

use crate::{
    difference,
    id::AtomId,
    state::{Binding, State},
};

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

fn names(ids: &[&AtomId]) -> String {
    let ids: Vec<&str> = ids.iter().map(|id| id.as_str()).collect();
    ids.join(", ")
}
