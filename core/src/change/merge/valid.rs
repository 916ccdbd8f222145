//! Makes the merged graph valid. Two valid graphs may merge into an invalid one: a removed atom is needed, or
//! dependencies form a cycle.
//!
//! Invariant: the outcome is valid if ours is. Everything that the edit had to give up for it is reported.

use alloc::{collections::BTreeSet, string::ToString, sync::Arc};

use super::{MergeOutcome, Sides, tree::Trees};
use crate::{
    doc,
    graph::validate,
    id::AtomId,
    state::{Atom, Body, State},
};

pub(super) fn make_valid(sides: &Sides<'_>, trees: &mut Trees, merged: &mut MergeOutcome) {
    if validate::check_made(&merged.state).is_empty() {
        return;
    }
    put_back(sides, trees, merged);
    if validate::check_made(&merged.state).is_empty() {
        return;
    }
    structure_of_ours(sides, trees, &mut merged.state);
    if validate::check_made(&merged.state).is_empty() {
        return;
    }
    graph_of_ours(sides, trees, merged);
    if !validate::check_made(&merged.state).is_empty() {
        limits_of_ours(sides, trees, &mut merged.state);
    }
}

/// Brings back an atom that one side took out and the other came to need.
fn put_back(sides: &Sides<'_>, trees: &mut Trees, merged: &mut MergeOutcome) {
    // Each round restores an atom that no earlier round did.
    loop {
        let missing = missing(&merged.state);
        let mut is_better = false;
        for id in missing {
            let from =
                [sides.ours, sides.theirs].into_iter().find(|state| state.atom(&id).is_some());
            let Some(from) = from else { continue };
            if let Some(binding) = from.bindings.get(&id) {
                merged.state.bindings.insert(id.clone(), Arc::clone(binding));
            } else if let Some(atom) = from.atoms.get(&id) {
                merged.state.atoms.insert(id.clone(), Arc::clone(atom));
            }
            merged.removed.remove(&id);
            let at = doc::pointer_push("/work_graph/atoms", id.as_str());
            trees.program(&at, None);
            is_better = true;
        }
        if !is_better {
            return;
        }
    }
}

/// Ids that are named but missing.
fn missing(state: &State) -> BTreeSet<AtomId> {
    let all = state.all_atoms();
    let named = all.values().flat_map(|atom| atom.depends_on.iter().chain(atom.kids()));
    named.filter(|id| !all.contains_key(id)).cloned().collect()
}

/// Takes dependencies, parts and choices as committed, for every atom that both sides have.
fn structure_of_ours(sides: &Sides<'_>, trees: &mut Trees, state: &mut State) {
    for (id, ours) in sides.ours.all_atoms() {
        let Some(atom) = state.atom(id).map(Arc::clone) else {
            continue;
        };
        if shape(&atom) == shape(ours) {
            continue;
        }
        let at = doc::pointer_push("/work_graph/atoms", id.as_str());
        trees.program(&at, Some(atom.node()));
        let mut mended = (*atom).clone();
        mended.depends_on.clone_from(&ours.depends_on);
        match (&mut mended.body, &ours.body) {
            (Body::All { parts }, Body::All { parts: known }) => parts.clone_from(known),
            (body @ Body::Any { .. }, Body::Any { .. }) | (body @ Body::Plan(_), Body::Plan(_)) => {
                *body = ours.body.clone()
            }
            (Body::Task(_), Body::Task(_)) => {}
            (body, known) => *body = known.clone(),
        }
        set(state, id, Arc::new(mended));
    }
}

fn shape(atom: &Atom) -> (&[AtomId], &[AtomId], &'static str) {
    let kind = match atom.body {
        Body::Task(_) => "task",
        Body::Plan(_) => "plan",
        Body::All { .. } => "all",
        Body::Any { .. } => "any",
    };
    (&atom.depends_on, atom.kids(), kind)
}

fn set(state: &mut State, id: &AtomId, atom: Arc<Atom>) {
    match state.bindings.get_mut(id) {
        Some(binding) => Arc::make_mut(binding).of = atom,
        None => drop(state.atoms.insert(id.clone(), atom)),
    }
}

/// Takes the committed graph whole, and reports all differences of the edit.
fn graph_of_ours(sides: &Sides<'_>, trees: &mut Trees, merged: &mut MergeOutcome) {
    let base = sides.base.unwrap_or(sides.ours);
    let node = |state: &State, id: &AtomId| state.atom(id).map(|atom| atom.node());
    for (id, edited) in sides.theirs.all_atoms() {
        let edited = edited.node();
        if node(base, id).as_ref() != Some(&edited)
            && node(sides.ours, id).as_ref() != Some(&edited)
        {
            let at = doc::pointer_push("/work_graph/atoms", id.as_str());
            trees.program(&at, Some(edited));
        }
    }
    for (id, binding) in sides.theirs.bindings.iter() {
        let edited = binding.node();
        let is_known = |state: &State| state.bindings.get(id).is_some_and(|it| it.node() == edited);
        if !is_known(base) && !is_known(sides.ours) {
            trees.program(&doc::pointer_push("/bindings", id.as_str()), Some(edited));
        }
    }
    for id in base.all_atoms().into_keys() {
        if sides.theirs.atom(id).is_none() {
            trees.program(&doc::pointer_push("/work_graph/atoms", &id.to_string()), None);
        }
    }
    merged.removed.clear();
    merged.state.atoms.clone_from(&sides.ours.atoms);
    merged.state.bindings.clone_from(&sides.ours.bindings);
    merged.state.order.clone_from(&sides.ours.order);
}

/// Takes the committed limits if the graph does not fit the edit's: its depth, its workspace.
fn limits_of_ours(sides: &Sides<'_>, trees: &mut Trees, state: &mut State) {
    let edited = state.objective.constraints.node();
    trees.program("/objective/constraints", Some(edited));
    let constraints = sides.ours.objective.constraints.clone();
    Arc::make_mut(&mut state.objective).constraints = constraints;
}
