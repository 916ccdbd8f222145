//! What an old file knows that can be written only into a whole state: the contexts in which things were made or failed.

use alloc::{
    collections::BTreeMap,
    format,
    string::{String, ToString},
    sync::Arc,
    vec::Vec,
};

use super::report::{Fate, Report};
use crate::{
    doc::Span,
    graph::{
        Graph, Ix, NodeKind,
        active::{ActiveGraph, Selection, selection_of},
    },
    id::AtomId,
    state::{AtomStatus, FailureClass, State, Try, TryEnd, binding::nothing},
};

#[derive(Debug, Default)]
pub(super) struct Facts {
    failed: Vec<Failed>,
}

#[derive(Debug)]
struct Failed {
    group: String,
    choice: String,
    span: Span,
}

impl Facts {
    pub(super) fn failed(&mut self, group: &str, choice: &str, span: Span) {
        self.failed.push(Failed {
            group: group.to_string(),
            choice: choice.to_string(),
            span,
        });
    }

    /// A result belongs to the context that is in force; a choice that failed did so in the one where it is selected.
    pub(super) fn put_into(self, state: &mut State, report: &mut Report) {
        let graph = Graph::of(state);
        let selection = selection_of(&graph, state);
        let standing = ActiveGraph::of(&graph, selection.clone());
        let ids: Vec<AtomId> = state.bindings.keys().cloned().collect();
        for id in ids {
            let context = graph.ix(&id).and_then(|x| standing.context(x)).cloned();
            match context {
                Some(context) => {
                    if let Some(binding) = state.bindings.get_mut(&id) {
                        Arc::make_mut(binding).context = Some(context);
                    }
                }
                None => park(state, &graph, &selection, &id, report),
            }
        }
        for one in &self.failed {
            let (group, choice) = (
                AtomId::new(one.group.as_str()),
                AtomId::new(one.choice.as_str()),
            );
            let (Some(of), Some(x)) = (graph.ix(&group), graph.ix(&choice)) else {
                continue;
            };
            let mut selection = selection.clone();
            selection.insert(of, x);
            let standing = ActiveGraph::of(&graph, selection);
            let at = format!("/or_groups/{group}/failed");
            let choices = standing.choices(&graph, x);
            let tried = standing
                .context(x)
                .map(|context| failed_in(context.clone(), choices));
            let atom = state.atoms.get_mut(&choice).map(Arc::make_mut);
            match (atom.and_then(|atom| atom.task_mut()), tried) {
                (Some(task), Some(tried)) => {
                    task.tries.push(tried);
                    task.status = AtomStatus::Failed;
                    let what = format!("`{choice}` has failed and is not tried again");
                    report.add(Fate::Carried, (&at, one.span), what);
                }
                _ => {
                    let what = format!(
                        "`{choice}` had failed; it is no single task, so it may be tried again"
                    );
                    report.add(Fate::Changed, (&at, one.span), what);
                }
            }
        }
    }
}

fn failed_in(context: crate::id::Digest, choices: BTreeMap<AtomId, AtomId>) -> Try {
    let mut tried = Try::new(context, choices);
    tried.attempts = 1;
    tried.ended = Some(TryEnd::Failed(FailureClass::Logical));
    tried
}

/// A result inside a choice that is not in force belongs to no tree that is there: it waits for that to be chosen.
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
    let standing = ActiveGraph::of(graph, selection);
    let mut atom = Arc::clone(&binding.of);
    let mut what = format!(
        "`{id}` is open: its result has no place ({})",
        binding.summary
    );
    if let (Some(context), Some(task)) = (standing.context(x), Arc::make_mut(&mut atom).task_mut())
    {
        let mut parked = (*binding).clone();
        parked.context = Some(context.clone());
        parked.of = Arc::new(nothing());
        let mut tried = Try::new(context.clone(), standing.choices(graph, x));
        tried.ended = Some(TryEnd::Parked(Arc::new(parked)));
        task.tries.push(tried);
        what = format!(
            "`{id}` is in a choice that is not selected: its result waits until that is chosen"
        );
    }
    report.change(&format!("/bindings/{id}"), what);
    state.atoms.insert(id.clone(), atom);
}
