//! Brings bindings, attempts in flight and statuses into line with the selection in force: results of another
//! context are parked, those of this one come back, and what was made from other inputs is made again.

use alloc::{collections::BTreeSet, sync::Arc, vec::Vec};

use super::{attempt_end, repair::repair, transaction::Transaction};
use crate::{
    event::Event,
    graph::Ix,
    id::{AtomId, Digest},
    state::{AtomStatus, Binding, PlanningStep, Task, TryEnd},
    world::results,
};

pub(super) fn settle(draft: &mut Transaction) {
    set_aside_stale(draft);
    let is_all_new = !draft.is_settled;
    if is_all_new {
        park_and_revive(draft);
    }
    reopen_changed_inputs(draft, is_all_new);
    draft.is_settled = true;
    end_abandoned(draft);
    statuses(draft, is_all_new);
}

/// A fragment of another context waits until that comes back, and one whose budget is over stands for nothing any more:
/// the step is a leaf again.
fn set_aside_stale(draft: &mut Transaction) {
    let graph = Arc::clone(&draft.graph);
    for x in graph.plans() {
        let in_force = draft.standing.phase(&graph, x);
        let is_stale = draft.standing.is_live(x) && in_force.is_none_or(|phase| phase.is_out);
        let plan = draft.plan_of(graph.id(x));
        if is_stale && plan.is_some_and(|plan| plan.in_force().is_some()) {
            draft.change_plan(graph.id(x), PlanningStep::set_aside);
            let selection = draft.selection();
            draft.set_selection(selection);
        }
    }
}

fn park_and_revive(draft: &mut Transaction) {
    let (graph, standing) = (Arc::clone(&draft.graph), Arc::clone(&draft.standing));
    for x in graph.tasks() {
        let id = graph.id(x);
        let in_force = standing.context(x).filter(|_| standing.is_live(x));
        let bound = draft.state.bindings.get(id);
        if bound
            .is_some_and(|binding| !binding.is_by_person() && binding.context.as_ref() != in_force)
        {
            park(draft, id);
        }
        if let Some(context) = in_force {
            revive(draft, id, context);
        }
    }
}

fn park(draft: &mut Transaction, id: &AtomId) {
    let Some(binding) = draft.unbind(id) else {
        return;
    };
    draft.say(Event::Parked { atom: id.clone() });
    draft.park(id, Arc::unwrap_or_clone(binding));
}

fn revive(draft: &mut Transaction, id: &AtomId, context: &Digest) {
    let tried = draft.task_of(id).and_then(|task| task.tried(context));
    let Some(Some(TryEnd::Parked(parked))) = tried.map(|tried| tried.ended.clone()) else {
        return;
    };
    if let Some(task) = draft.task(id) {
        for tried in task
            .tries
            .iter_mut()
            .filter(|tried| tried.context == *context)
        {
            tried.ended = None;
        }
        task.status = AtomStatus::Pending;
    }
    draft.bind(id, |atom| Binding {
        of: atom,
        ..(*parked).clone()
    });
    draft.say(Event::Revived { atom: id.clone() });
}

/// In topological order, so that what is opened here is not solved for those after it.
fn reopen_changed_inputs(draft: &mut Transaction, is_all_new: bool) {
    let (graph, standing) = (Arc::clone(&draft.graph), Arc::clone(&draft.standing));
    let rebound = core::mem::take(&mut draft.rebound);
    let downstream = if is_all_new {
        BTreeSet::new()
    } else {
        bound_downstream(draft, &rebound)
    };
    if !is_all_new && downstream.is_empty() {
        return;
    }
    for x in graph
        .order()
        .iter()
        .copied()
        .filter(|x| is_all_new || downstream.contains(x))
    {
        let id = graph.id(x);
        let Some(binding) = draft
            .state
            .bindings
            .get(id)
            .filter(|binding| !binding.is_by_person())
        else {
            continue;
        };
        if !graph.waits_for(x).all(|dep| draft.solved()[dep]) {
            continue;
        }
        let now = results::inputs(&graph, &standing, &draft.state, x);
        if binding.inputs.as_ref().is_some_and(|inputs| *inputs != now) {
            repair(draft, id, "what it was made from is another now");
        }
    }
}

/// The bound tasks that were made from these results, or from what was made from them.
fn bound_downstream(draft: &Transaction, results: &BTreeSet<Ix>) -> BTreeSet<Ix> {
    let graph = &draft.graph;
    let mut found = BTreeSet::new();
    let mut todo: Vec<Ix> = results.iter().copied().collect();
    while let Some(x) = todo.pop() {
        let holders = core::iter::once(x).chain(graph.above(x));
        let users = holders
            .flat_map(|y| graph.needed_by(y))
            .flat_map(|user| graph.subtree(*user));
        for user in users {
            if draft.state.bindings.contains_key(graph.id(user)) && found.insert(user) {
                todo.push(user);
            }
        }
    }
    found
}

/// Attempts whose context is not in force any more are ended, at no cost.
fn end_abandoned(draft: &mut Transaction) {
    let prospects = draft.prospects();
    let ground = draft.ground(&prospects);
    let abandoned: Vec<_> = draft
        .state
        .run
        .in_flight
        .iter()
        .filter(|intent| {
            let is_in_force = ground.is_in_force(intent) || ground.prospect_of(intent).is_some();
            !is_in_force || !draft.state.atoms.contains_key(&intent.atom)
        })
        .map(|intent| intent.id.clone())
        .collect();
    for id in abandoned {
        attempt_end::cut_off(draft, &id, "its context was abandoned");
    }
}

/// `failed` tells of the context in force; the tries tell of each.
fn statuses(draft: &mut Transaction, is_all_new: bool) {
    let graph = Arc::clone(&draft.graph);
    let mut failed = BTreeSet::new();
    let wanted = wanted_statuses(draft, draft.suspects(is_all_new), &mut failed);
    debug_assert_eq!(
        wanted,
        wanted_statuses(draft, draft.suspects(true), &mut BTreeSet::new()),
        "an atom that was not touched stands otherwise than it did"
    );
    draft.set_suspects(failed);
    for (x, status) in wanted {
        if let Some(task) = draft.task(graph.id(x)) {
            task.status = status;
        }
    }
}

fn wanted_statuses(
    draft: &Transaction,
    suspects: Vec<(Ix, &Task)>,
    failed: &mut BTreeSet<AtomId>,
) -> Vec<(Ix, AtomStatus)> {
    let mut wanted = Vec::new();
    for (x, task) in suspects {
        let has_failed = draft.has_failed(x, task);
        if has_failed {
            failed.insert(draft.graph.id(x).clone());
        }
        match (&task.status, has_failed) {
            (AtomStatus::Pending, true) => wanted.push((x, AtomStatus::Failed)),
            (AtomStatus::Failed | AtomStatus::Invalid(_), false) => {
                wanted.push((x, AtomStatus::Pending))
            }
            _ => {}
        }
    }
    wanted
}
