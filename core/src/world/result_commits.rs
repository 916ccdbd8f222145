//! The commits that the result should consist of, in their order, and whether it consists of them.

use alloc::{collections::BTreeMap, vec::Vec};

use crate::{
    graph::{AtomVec, Graph, Ix},
    id::{AtomId, CommitId},
    state::{ResultCommit, State, Workspace},
};

/// The commits that the result should consist of: those of live, solved atoms. They keep their order, but none stands
/// before what it depends on; new ones come last.
pub(crate) fn line_wanted(
    graph: &Graph,
    solved: &AtomVec<bool>,
    state: &State,
) -> Vec<ResultCommit> {
    let commit = |x: Ix| state.bindings.get(graph.id(x))?.commit.clone();
    line_of(graph, solved, state, commit)
}

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
        let Some(commit) = commit(x) else {
            continue;
        };
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
