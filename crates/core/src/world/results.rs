//! Resolved atoms under a selection, their results and commits, and the results that each atom is made from.

use crate::doc::prelude::*;
use crate::{
    graph::{AtomVec, Graph, Ix, NodeKind, active::ActiveGraph},
    id::{AtomId, CommitId, Digest},
    state::{Binding, ResultCommit, State, Workspace},
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
        todo.extend(graph.needed_by(y).iter().flat_map(|z| graph.subtree(*z)));
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
pub fn result_in<'s>(
    graph: &Graph,
    state: &'s State,
    active: &ActiveGraph,
    x: Ix,
) -> Option<&'s Binding> {
    let (id, context) = (graph.id(x), active.context(x)?);
    let bound = state.bindings.get(id).map(|binding| &**binding);
    bound
        .filter(|binding| binding.is_by_person() || binding.context.as_ref() == Some(context))
        .or_else(|| state.atom(id)?.task()?.tried(context)?.parked())
}

/// The digest of the upstream results that an atom is made from, along the dependencies.
pub(crate) fn inputs(graph: &Graph, active: &ActiveGraph, state: &State, x: Ix) -> Digest {
    let mut parts = Vec::new();
    let mut todo: Vec<Ix> = graph.waits_for(x).collect();
    while let Some(y) = todo.pop() {
        if matches!(graph.vertex(y).kind, NodeKind::Task | NodeKind::Plan) {
            parts.push(y);
        }
        // A task has none.
        todo.extend(active.members(graph, y));
    }
    parts.sort_unstable();
    parts.dedup();
    let mut text = String::new();
    for part in parts {
        let id = graph.id(part);
        let Some(binding) = result_in(graph, state, active, part) else { continue };
        let before = binding.inputs.as_ref().map_or("", Digest::as_str);
        text.push_str(&format!("{id} {} {before}\n", binding.result_digest()));
    }
    Digest::of(text.as_bytes())
}

// The attempts that the fragments around an atom have used, as a person's change counts them anew.

/// Changes the attempt counts of each fragment around an atom. `count` is told whether a budget limits them.
pub(crate) fn recount(
    state: &mut State,
    graph: &Graph,
    atom: &AtomId,
    count: impl Fn(bool, &mut u32),
) {
    let phases = graph.ix(atom).into_iter().flat_map(|x| graph.phases_above(x));
    for (plan, phase, _) in phases {
        let (plan, first) = (graph.id(plan), graph.id(phase.first()));
        let Some(atom) = state.atoms.get_mut(plan) else { continue };
        let Some(step) = Arc::make_mut(atom).plan_mut() else { continue };
        let is_limited = step.budget.as_ref().is_some_and(|one| one.attempts.is_some());
        if let Some(fragment) = step.fragment_mut(first) {
            count(is_limited, &mut fragment.attempts);
        }
    }
}

// The commits that the result should consist of, in their order, and whether it consists of them.

/// The commits that the result should consist of: those of live, solved atoms. They keep their order, but none stands
/// before what it depends on; new ones come last.
pub(crate) fn line_of(
    graph: &Graph,
    solved: &AtomVec<bool>,
    state: &State,
    commit: impl Fn(Ix) -> Option<CommitId>,
) -> Vec<ResultCommit> {
    let line = state.run.line.iter();
    let known: BTreeMap<&AtomId, (usize, &ResultCommit)> =
        line.zip(0..).map(|(placed, place)| (&placed.atom, (place, placed))).collect();
    // The latest position among an atom's prerequisites. A result restored below it counts as new, so the atom moves
    // after it.
    let mut places = graph.filled(0);
    let mut wanted: Vec<(usize, ResultCommit)> = Vec::new();
    for x in graph.order().iter().copied().filter(|x| solved[*x]) {
        let kids = graph.vertex(x).kids.iter().copied();
        let before = graph.waits_for(x).chain(kids).filter(|y| solved[*y]);
        places[x] = before.map(|y| places[y]).max().unwrap_or_default();
        let id = graph.id(x);
        let Some(commit) = commit(x) else { continue };
        let known = known.get(id);
        let own = known.map_or(usize::MAX, |(place, _)| *place);
        places[x] = places[x].max(own);
        let extra = known.map(|(_, placed)| placed.extra.clone());
        let placed = ResultCommit {
            extra: extra.unwrap_or_default(),
            ..ResultCommit::new(id.clone(), commit)
        };
        wanted.push((places[x], placed));
    }
    wanted.sort_by_key(|(place, _)| *place);
    wanted.into_iter().map(|(_, placed)| placed).collect()
}

/// The commit from which a line that is wanted goes on, the results before it that stay, and the rest.
pub(crate) fn split_line<'l>(
    state: &State,
    wanted: &'l [ResultCommit],
) -> Option<(CommitId, &'l [ResultCommit], &'l [ResultCommit])> {
    let start = &state.run.started_from.as_ref()?.commit;
    let pairs = wanted.iter().zip(state.run.line.iter());
    let (stays, keep) = wanted.split_at(pairs.take_while(|(wanted, is)| wanted == is).count());
    let from = stays.last().map_or(start, |placed| &placed.commit);
    Some((from.clone(), stays, keep))
}

/// Whether the result consists of exactly the wanted commits; its present order stays.
pub(crate) fn is_line_settled(graph: &Graph, solved: &AtomVec<bool>, state: &State) -> bool {
    if state.objective.constraints.workspace() == Workspace::Shared {
        return true;
    }
    let mut wanted: AtomVec<Option<&CommitId>> = graph.filled(None);
    for (x, binding) in graph.paired(&state.bindings).filter(|(x, _)| solved[*x]) {
        wanted[x] = binding.commit.as_ref();
    }
    let is_wanted = |placed: &ResultCommit| {
        graph.ix(&placed.atom).is_some_and(|x| wanted[x] == Some(&placed.commit))
    };
    wanted.iter().filter_map(|(_, commit)| *commit).count() == state.run.line.len()
        && state.run.line.iter().all(is_wanted)
}
