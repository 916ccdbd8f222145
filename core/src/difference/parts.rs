//! Describes the difference of single parts, for the correction that tells of it: from what to what.
//!
//! Not here: what else differs between the two states.

use alloc::{format, string::String, vec::Vec};

use super::{Comparison, Difference, NOTHING, between, keys, short, words};
use crate::{
    id::AtomId,
    state::{Binding, State},
};

/// The keys of the objective that are told before the others. Some of these follow from the checks.
const FIRST: [&str; 2] = ["goal", "base_case"];

/// Everything that differs in the objective, but for its constraints.
pub fn of_objective(before: &State, after: &State) -> String {
    let mut look = Comparison::new(before, after);
    let (old, new) = (before.objective.node(), after.objective.node());
    let mut keys = keys(&old, &new);
    keys.retain(|key| key != "constraints" && key != "notes");
    keys.sort_by_key(|key| FIRST.iter().position(|first| first == key).unwrap_or(FIRST.len()));
    for key in &keys {
        look.objective_key(key, old.get(key), new.get(key));
    }
    words(&look.found)
}

/// Everything that a person wrote otherwise in these atoms, but for guidance.
pub fn of_atoms(before: &State, after: &State, ids: &[&AtomId]) -> String {
    let mut found: Vec<Difference> = Vec::new();
    for id in ids {
        let Some((was, is)) = before.atom(id).zip(after.atom(id)) else {
            continue;
        };
        let mut look = Comparison::new(before, after);
        look.wish(id, was, is);
        found.extend(look.found);
    }
    words(&found)
}

/// The result of an atom: what it was, and what it is. A summary needs no name.
pub fn of_result(was: Option<&Binding>, is: &Binding) -> String {
    let Some(was) = was else {
        return short(&is.summary);
    };
    let (old, new) = (was.parked_node(), is.parked_node());
    let told = ["summary", "value", "artifacts", "handoff", "change"];
    let other = told.iter().filter(|key| old.get(key) != new.get(key));
    let other: Vec<String> = other
        .map(|key| match *key {
            "summary" => format!("{} → {}", short(&was.summary), short(&is.summary)),
            key => between(key, old.get(key), new.get(key)),
        })
        .collect();
    if other.is_empty() { NOTHING.into() } else { other.join(", ") }
}
