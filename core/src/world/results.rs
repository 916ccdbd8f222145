//! Resolved atoms under a selection, their results, and the results that each atom is made from.

use alloc::{format, string::String, vec::Vec};

use crate::{
    graph::{AtomVec, Graph, Ix, NodeKind, active::ActiveGraph},
    id::{AtomId, Digest},
    state::{Binding, State},
};

/// Whether each atom is resolved under the selection in force.
pub(crate) fn solved(graph: &Graph, active: &ActiveGraph, state: &State) -> AtomVec<bool> {
    let mut bound = graph.filled(false);
    graph.paired(&state.bindings).for_each(|(x, _)| bound[x] = true);
    solved_by(graph, active, |x| bound[x])
}

/// Whether each atom is resolved if these tasks have results.
pub(crate) fn solved_by(
    graph: &Graph,
    active: &ActiveGraph,
    has_result: impl Fn(Ix) -> bool,
) -> AtomVec<bool> {
    let mut solved = graph.filled(false);
    for x in graph.order().iter().copied().filter(|x| active.is_live(*x)) {
        solved[x] = is_solved(graph, active, &solved, &has_result, x);
    }
    solved
}

/// Marks what is resolved now that `x` has a result: no atom is less resolved by one result more.
pub(crate) fn solve_more(
    solved: &mut AtomVec<bool>,
    graph: &Graph,
    active: &ActiveGraph,
    has_result: impl Fn(Ix) -> bool,
    x: Ix,
) {
    let mut todo = Vec::from([x]);
    while let Some(y) = todo.pop() {
        if solved[y] || !active.is_live(y) || !is_solved(graph, active, solved, &has_result, y) {
            continue;
        }
        solved[y] = true;
        todo.extend(graph.vertex(y).parent);
        // The parts of an atom wait with it.
        let waiting = graph.needed_by(y).iter();
        todo.extend(waiting.flat_map(|z| graph.subtree(*z)));
    }
}

/// Whether a live atom is resolved, as far as `solved` tells of the others.
fn is_solved(
    graph: &Graph,
    active: &ActiveGraph,
    solved: &AtomVec<bool>,
    has_result: &impl Fn(Ix) -> bool,
    x: Ix,
) -> bool {
    if !graph.waits_for(x).all(|dep| solved[dep]) {
        return false;
    }
    let by_members = || {
        let members = active.members(graph, x);
        !members.is_empty() && members.iter().all(|y| solved[*y])
    };
    match graph.vertex(x).kind {
        NodeKind::Task => has_result(x),
        // A person may resolve the step instead.
        NodeKind::Plan => has_result(x) || by_members(),
        NodeKind::All | NodeKind::Any => by_members(),
    }
}

/// The result of a task in its context under a selection: bound, or parked.
pub(crate) fn result_in<'s>(
    graph: &Graph,
    state: &'s State,
    active: &ActiveGraph,
    x: Ix,
) -> Option<&'s Binding> {
    let (id, context) = (graph.id(x), active.context(x)?);
    let bound = state.bindings.get(id).map(|binding| &**binding);
    bound
        .filter(|binding| binding.is_by_person() || binding.context.as_ref() == Some(context))
        .or_else(|| parked_in(state, id, context))
}

fn parked_in<'s>(state: &'s State, id: &AtomId, context: &Digest) -> Option<&'s Binding> {
    state.atom(id)?.task()?.tried(context)?.parked()
}

/// The digest of the upstream results that an atom is made from, along the dependencies.
pub(crate) fn inputs(graph: &Graph, active: &ActiveGraph, state: &State, x: Ix) -> Digest {
    let mut parts = Vec::new();
    let mut todo: Vec<Ix> = graph.waits_for(x).collect();
    while let Some(y) = todo.pop() {
        match graph.vertex(y).kind {
            NodeKind::Task => parts.push(y),
            NodeKind::Plan => {
                parts.push(y);
                todo.extend(active.members(graph, y));
            }
            NodeKind::All | NodeKind::Any => todo.extend(active.members(graph, y)),
        }
    }
    parts.sort_unstable();
    parts.dedup();
    let mut text = String::new();
    for part in parts {
        let id = graph.id(part);
        let Some(binding) = result_in(graph, state, active, part) else {
            continue;
        };
        let before = binding.inputs.as_ref().map_or("", Digest::as_str);
        text.push_str(&format!("{id} {} {before}\n", binding.result_digest()));
    }
    Digest::of(text.as_bytes())
}
