//! Facts of an old file that fit only into a whole state: the contexts in which things were made or failed.

use alloc::{format, sync::Arc, vec::Vec};

use descent_core::{
    doc::Span,
    graph::{
        Graph, Ix, NodeKind,
        active::{ActiveGraph, Selection, selection_of},
    },
    id::AtomId,
    state::{AtomStatus, FailureClass, State, Try, TryEnd},
};

use crate::report::{Fate, Report};

#[derive(Debug, Default)]
pub(crate) struct Facts {
    pub(crate) failed: Vec<FailedChoice>,
}

#[derive(Debug)]
pub(crate) struct FailedChoice {
    pub(crate) group: AtomId,
    pub(crate) choice: AtomId,
    pub(crate) span: Span,
}

impl Facts {
    /// A result belongs to the context in force; a failed choice failed in the context in which it is selected.
    pub(crate) fn put_into(self, state: &mut State, report: &mut Report) {
        let graph = Graph::of(state);
        let selection = selection_of(&graph, state);
        let active = ActiveGraph::of(&graph, selection.clone());
        let ids: Vec<AtomId> = state.bindings.keys().cloned().collect();
        for id in ids {
            match graph.ix(&id).and_then(|x| active.context(x)) {
                Some(context) => {
                    if let Some(binding) = state.bindings.get_mut(&id) {
                        Arc::make_mut(binding).context = Some(context.clone());
                    }
                }
                None => park(state, &graph, &selection, &id, report),
            }
        }
        for failed in &self.failed {
            failed.put_into(state, &graph, &selection, report);
        }
    }
}

impl FailedChoice {
    fn put_into(
        &self,
        state: &mut State,
        graph: &Graph,
        selection: &Selection,
        report: &mut Report,
    ) {
        let (group, choice) = (&self.group, &self.choice);
        let (Some(of), Some(x)) = (graph.ix(group), graph.ix(choice)) else {
            return;
        };
        let mut selection = selection.clone();
        selection.insert(of, x);
        let active = ActiveGraph::of(graph, selection);
        let at = format!("/or_groups/{group}/failed");
        let atom = state.atoms.get_mut(choice).map(Arc::make_mut);
        let task = atom.and_then(|atom| atom.task_mut());
        let (Some(task), Some(context)) = (task, active.context(x)) else {
            let what =
                format!("`{choice}` had failed; it is no single task, so it may be tried again");
            report.add(Fate::Changed, &at, self.span, what);
            return;
        };
        let mut tried = Try::new(context.clone(), active.choices(graph, x));
        tried.attempts = 1;
        tried.ended = Some(TryEnd::Failed(FailureClass::Logical));
        task.tries.push(tried);
        task.status = AtomStatus::Failed;
        let what = format!("`{choice}` has failed and is not tried again");
        report.add(Fate::Carried, &at, self.span, what);
    }
}

/// A result inside a choice that is not in force belongs to no present tree: it waits until that is chosen.
fn park(state: &mut State, graph: &Graph, selection: &Selection, id: &AtomId, report: &mut Report) {
    let (Some(x), Some(binding)) = (graph.ix(id), state.bindings.remove(id)) else {
        return;
    };
    let mut selection = selection.clone();
    let line: Vec<Ix> = core::iter::once(x).chain(graph.above(x)).collect();
    for pair in line.windows(2) {
        if let [choice, group] = *pair
            && graph.vertex(group).kind == NodeKind::Any
        {
            selection.insert(group, choice);
        }
    }
    let active = ActiveGraph::of(graph, selection);
    let mut atom = Arc::clone(&binding.of);
    let mut what = format!("`{id}` is open: its result has no place ({})", binding.summary);
    if let (Some(context), Some(task)) = (active.context(x), Arc::make_mut(&mut atom).task_mut()) {
        let mut parked = (*binding).clone();
        parked.context = Some(context.clone());
        parked.of = Arc::default();
        let mut tried = Try::new(context.clone(), active.choices(graph, x));
        tried.ended = Some(TryEnd::Parked(Arc::new(parked)));
        task.tries.push(tried);
        what = format!(
            "`{id}` is in a choice that is not selected: its result waits until that is chosen"
        );
    }
    report.change(&format!("/bindings/{id}"), what);
    state.atoms.insert(id.clone(), atom);
}
