//! Resolved atoms under a selection, their results, and the results that each atom is made from.

use alloc::{format, string::String, vec::Vec};

use crate::{
    graph::{AtomVec, Graph, Ix, NodeKind, active::ActiveGraph},
    id::{AtomId, Digest},
    state::{Binding, State, TryEnd},
};

/// Whether each atom is resolved under the selection in force.
pub(crate) fn solved(graph: &Graph, active: &ActiveGraph, state: &State) -> AtomVec<bool> {
    let mut bound = graph.filled(false);
    graph
        .paired(&state.bindings)
        .for_each(|(x, _)| bound[x] = true);
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
        if !graph.waits_for(x).all(|dep| solved[dep]) {
            continue;
        }
        let members = active.members(graph, x);
        let by_members = || !members.is_empty() && members.iter().all(|y| solved[*y]);
        solved[x] = match graph.vertex(x).kind {
            NodeKind::Task => has_result(x),
            // A person may resolve the step instead.
            NodeKind::Plan => has_result(x) || by_members(),
            NodeKind::All | NodeKind::Any => by_members(),
        };
    }
    solved
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
    match &state.atom(id)?.task()?.tried(context)?.ended {
        Some(TryEnd::Parked(parked)) => Some(parked),
        Some(TryEnd::Failed(_)) | None => None,
    }
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
