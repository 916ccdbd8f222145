//! Brings bindings, attempts in flight and statuses into line with the selection in force. Results of another context
//! are parked, and those of this one come back. Results that were made from other inputs are made again. The rebuilt
//! tree is taken in.

use super::{
    attempt_end, probing,
    repair::{RepairCause, repair},
    transaction::Transaction,
};
use crate::doc::prelude::*;
use crate::{
    event::Event,
    graph::Ix,
    id::{AtomId, CommitId, Digest},
    state::{AtomStatus, Binding, Intent, ResultCommit, Role, Task, TryEnd},
    world::results,
};

pub(super) fn reconcile_results(transaction: &mut Transaction) {
    set_aside_stale(transaction);
    let is_all_new = !transaction.is_settled;
    if is_all_new {
        park_and_revive(transaction);
    }
    reopen_changed_inputs(transaction, is_all_new);
    transaction.is_settled = true;
    end_abandoned(transaction);
    statuses(transaction, is_all_new);
}

/// Sets aside fragments of another context, which wait for it, and fragments whose budget is over. Their steps are
/// leaves again.
fn set_aside_stale(transaction: &mut Transaction) {
    let graph = Arc::clone(&transaction.graph);
    for x in graph.plans() {
        let in_force = transaction.active.phase(&graph, x);
        let is_stale = transaction.active.is_live(x) && in_force.is_none_or(|phase| phase.is_out);
        let plan = transaction.plan_of(graph.id(x));
        if is_stale && plan.is_some_and(|plan| plan.in_force().is_some()) {
            transaction.set_plan_aside(graph.id(x));
        }
    }
}

fn park_and_revive(transaction: &mut Transaction) {
    let (graph, active) = (Arc::clone(&transaction.graph), Arc::clone(&transaction.active));
    for x in graph.tasks() {
        let id = graph.id(x);
        let in_force = active.context(x).filter(|_| active.is_live(x));
        let bound = transaction.state.bindings.get(id);
        if bound
            .is_some_and(|binding| !binding.is_by_person() && binding.context.as_ref() != in_force)
        {
            park(transaction, x, in_force.is_some());
        }
        if let Some(context) = in_force {
            revive(transaction, id, context);
        }
    }
}

fn park(transaction: &mut Transaction, x: Ix, is_live: bool) {
    let (graph, active) = (Arc::clone(&transaction.graph), Arc::clone(&transaction.active));
    let id = graph.id(x);
    let Some(binding) = transaction.unbind(id) else {
        return;
    };
    let tried = transaction.task_of(id).zip(binding.context.as_ref());
    let tried = tried.and_then(|(task, context)| task.tried(context));
    let has_its_choices = tried.is_some_and(|tried| tried.choices == active.choices(&graph, x));
    let is_changed = is_live && has_its_choices;
    transaction.announce(Event::Parked { atom: id.clone(), is_changed });
    transaction.park(id, Arc::unwrap_or_clone(binding));
}

fn revive(transaction: &mut Transaction, id: &AtomId, context: &Digest) {
    let tried = transaction.task_of(id).and_then(|task| task.tried(context));
    let Some(Some(TryEnd::Parked(parked))) = tried.map(|tried| tried.ended.clone()) else {
        return;
    };
    if let Some(task) = transaction.task_mut(id) {
        for tried in task.tries.iter_mut().filter(|tried| tried.context == *context) {
            tried.ended = None;
        }
        task.status = AtomStatus::Pending;
    }
    transaction.bind(id, |atom| Binding { of: atom, ..(*parked).clone() });
    transaction.announce(Event::Revived { atom: id.clone() });
}

/// Goes in topological order, so that an atom opened here does not count as solved for later ones.
fn reopen_changed_inputs(transaction: &mut Transaction, is_all_new: bool) {
    let (graph, active) = (Arc::clone(&transaction.graph), Arc::clone(&transaction.active));
    let rebound = transaction.take_rebound();
    let downstream =
        if is_all_new { BTreeSet::new() } else { bound_downstream(transaction, &rebound) };
    if !is_all_new && downstream.is_empty() {
        return;
    }
    for x in graph.order().iter().copied().filter(|x| is_all_new || downstream.contains(x)) {
        let id = graph.id(x);
        let Some(binding) =
            transaction.state.bindings.get(id).filter(|binding| !binding.is_by_person())
        else {
            continue;
        };
        if !graph.waits_for(x).all(|dep| transaction.solved()[dep]) {
            continue;
        }
        let now = results::inputs(&graph, &active, &transaction.state, x);
        if binding.inputs.as_ref().is_some_and(|inputs| *inputs != now) {
            let cause = RepairCause::of("what it was made from is another now");
            repair(transaction, id, cause);
        }
    }
}

/// The bound tasks that depend on these results, directly or not.
fn bound_downstream(transaction: &Transaction, results: &BTreeSet<Ix>) -> BTreeSet<Ix> {
    let graph = &transaction.graph;
    let mut found = BTreeSet::new();
    let mut todo: Vec<Ix> = results.iter().copied().collect();
    while let Some(x) = todo.pop() {
        let holders = core::iter::once(x).chain(graph.above(x));
        let users = holders.flat_map(|y| graph.needed_by(y)).flat_map(|user| graph.subtree(*user));
        for user in users {
            if transaction.state.bindings.contains_key(graph.id(user)) && found.insert(user) {
                todo.push(user);
            }
        }
    }
    found
}

/// Ends attempts whose context is no longer in force, without counting them.
fn end_abandoned(transaction: &mut Transaction) {
    let landing_context = transaction.landing_context();
    let is_in_use = |intent: &Intent| match intent.role {
        Role::Probe => probing::stays(transaction, intent),
        _ => {
            let is_in_force = landing_context.is_in_force(intent)
                || landing_context.speculation_of(intent).is_some();
            is_in_force && transaction.state.atoms.contains_key(&intent.atom)
        }
    };
    let in_flight = transaction.state.run.in_flight.iter();
    let abandoned: Vec<_> = in_flight.filter(|intent| !is_in_use(intent)).cloned().collect();
    for intent in abandoned {
        attempt_end::cut_off(transaction, &intent, "what it was started for has changed");
    }
}

/// `failed` concerns the context in force; the tries record every context.
fn statuses(transaction: &mut Transaction, is_all_new: bool) {
    let graph = Arc::clone(&transaction.graph);
    let mut failed = BTreeSet::new();
    let wanted = wanted_statuses(transaction, transaction.dirty_tasks(is_all_new), &mut failed);
    debug_assert_eq!(
        wanted,
        wanted_statuses(transaction, transaction.dirty_tasks(true), &mut BTreeSet::new()),
        "an atom that was not touched stands otherwise than it did"
    );
    transaction.set_suspects(failed);
    for (x, status) in wanted {
        if let Some(task) = transaction.task_mut(graph.id(x)) {
            task.status = status;
        }
    }
}

fn wanted_statuses(
    transaction: &Transaction,
    dirty_tasks: Vec<(Ix, &Task)>,
    failed: &mut BTreeSet<AtomId>,
) -> Vec<(Ix, AtomStatus)> {
    let mut wanted = Vec::new();
    for (x, task) in dirty_tasks {
        let has_failed = transaction.has_failed(x, task);
        if has_failed || transaction.is_resting(x, task) {
            failed.insert(transaction.graph.id(x).clone());
        }
        match (&task.status, has_failed) {
            (AtomStatus::Pending, true) => wanted.push((x, AtomStatus::Failed)),
            (AtomStatus::Failed | AtomStatus::Invalid(_), false) => {
                wanted.push((x, AtomStatus::Pending))
            }
            (AtomStatus::Pending, false)
            | (AtomStatus::Failed | AtomStatus::Invalid(_), true)
            | (AtomStatus::NeedsGuidance | AtomStatus::InDoubt(_), _) => {}
        }
    }
    wanted
}

// Takes in the tree that was rebuilt after a backtrack, from the commits that the selection wants.

/// Whether it has an effect outside and is not made again, whatever becomes of its inputs.
fn is_settled_outside(binding: &Binding) -> bool {
    let task = binding.of.task();
    binding.inputs.is_none() && task.is_some_and(|task| !task.spec.effect.is_in_tree())
}

/// Records the rebuilt tree; results that no longer apply are made again.
pub(super) fn built(
    transaction: &mut Transaction,
    head: CommitId,
    line: Vec<ResultCommit>,
    dropped: &[AtomId],
) {
    let kept = line.len();
    let stays: BTreeSet<&AtomId> = line.iter().map(|placed| &placed.atom).collect();
    let before = transaction.state.run.line.iter().map(|placed| placed.atom.clone());
    let taken_back: Vec<AtomId> = before.filter(|atom| !stays.contains(atom)).collect();
    for placed in &line {
        let (bound, commit) = (transaction.state.bindings.get(&placed.atom), &placed.commit);
        if bound.is_some_and(|binding| binding.commit.as_ref() != Some(commit)) {
            let set = |binding: &mut Binding| binding.commit = Some(commit.clone());
            transaction.change_binding(&placed.atom, set);
        }
    }
    for atom in dropped {
        // A person's result stays, though its change to the tree is gone; so does what happened outside before the run
        // got another start.
        let binding = transaction.state.bindings.get(atom);
        if binding.is_some_and(|binding| binding.is_by_person() || is_settled_outside(binding)) {
            transaction.change_binding(atom, |binding| binding.commit = None);
        } else {
            let files = binding.map(|binding| binding.artifacts.clone()).unwrap_or_default();
            let why = "its commit no longer applies";
            let cause = RepairCause { conflict: &files, ..RepairCause::of(why) };
            repair(transaction, atom, cause);
        }
    }
    let run = transaction.run();
    run.line = line.into();
    run.head = Some(head.clone());
    transaction.announce(Event::Rebuilt { kept, taken_back, head });
}
