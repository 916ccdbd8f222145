//! Starts attempts of tasks that are ready.
//!
//! Not here: whether anything may start at all (`advance`).

use super::{
    base_case, gate, phase, probing, summarise,
    transaction::Transaction,
    usage::{self, Reservation},
};
use crate::doc::prelude::*;
use crate::{
    event::StartReason,
    graph::{Ix, active::ActiveGraph, overlap},
    id::{AtomId, CommitId, Digest},
    measure,
    state::{AtomStatus, Intent, Role, SideEffect, Try, UsageLimit},
    world::{self, Unavailable, speculation::Speculation},
};

/// After so many interruptions an atom runs alone: it may be the cause.
const FRAGILE: u32 = 2;

pub(super) fn go_on(transaction: &mut Transaction) {
    if transaction.session.base_was_seen && transaction.is_line_settled() {
        let free = dispatch(transaction);
        if free > 0 {
            speculate(transaction, free);
        }
    }
    base_case::aim(transaction);
}

/// At a dead end, brings ready atoms of the selection in force to their end, and tries nothing else. True while that
/// goes on.
pub(super) fn bring_to_end(transaction: &mut Transaction) -> bool {
    let is_ready = |transaction: &Transaction| {
        startable(transaction, 0).next().is_some() || !probing::due(transaction).is_empty()
    };
    if is_ready(transaction) {
        if !transaction.session.base_was_seen {
            base_case::aim(transaction);
        } else if transaction.is_line_settled() {
            dispatch(transaction);
        }
    }
    // A plan that nobody looked at yet may bring more.
    let is_closed = gate::wanted(transaction).is_some();
    is_closed || is_ready(transaction) || !transaction.state.run.in_flight.is_empty()
}

/// Starts what is ready under the selection in force. Gives the slots that are left over.
fn dispatch(transaction: &mut Transaction) -> usize {
    let mut free = free_slots(transaction);
    let mut in_flight = transaction.state.run.in_flight.iter();
    if in_flight.any(|intent| interruptions(transaction, &intent.atom) >= FRAGILE) {
        return 0;
    }
    if free > 0 {
        free = probe(transaction, free);
    }
    if free == 0 {
        return 0;
    }
    let in_flight = &transaction.state.run.in_flight;
    let mut is_repairing =
        in_flight.iter().any(|intent| transaction.is_repair(&intent.atom, &intent.context));
    // Few of many ready atoms have a slot. So few are looked for, and more if these had to wait.
    let (mut from, mut most) = (0, free);
    loop {
        let some = ready(transaction, from, most);
        let is_all = some.len() < most;
        for (place, x) in some {
            if free == 0 {
                return 0;
            }
            from = place + 1;
            free = start_or_wait(transaction, x, free, &mut is_repairing);
        }
        if is_all {
            return free;
        }
        most = most.saturating_mul(8);
    }
}

/// Starts the probes that are due; gives the slots that are free afterwards.
fn probe(transaction: &mut Transaction, mut free: usize) -> usize {
    let agent = transaction.session.agents.in_role(Role::Probe);
    if agent.is_some_and(|agent| transaction.session.awaits_provider(agent)) {
        return free;
    }
    for probe in probing::due(transaction) {
        if free > 0 && is_due(transaction, &probe.atom, &probe.context) {
            probing::start(transaction, probe);
            free -= 1;
        }
    }
    free
}

/// The slots that are free afterwards.
fn start_or_wait(
    transaction: &mut Transaction,
    x: Ix,
    free: usize,
    is_repairing: &mut bool,
) -> usize {
    let id = transaction.graph.id(x);
    let is_fragile = interruptions(transaction, id) >= FRAGILE;
    let is_repair =
        transaction.active.context(x).is_some_and(|context| transaction.is_repair(id, context));
    let context = transaction.active.context(x);
    let is_over = context.is_some_and(|context| !may_start(transaction, x, context));
    let must_wait = is_over
        || is_fragile && !transaction.state.run.in_flight.is_empty()
        || is_repair && *is_repairing
        || is_in_the_way(transaction, id)
        || summarise::is_awaited(transaction, x);
    if must_wait {
        return free;
    }
    let active = Arc::clone(&transaction.active);
    start(transaction, x, &active, transaction.state.run.head.clone());
    *is_repairing |= is_repair;
    if is_fragile { 0 } else { free - 1 }
}

/// Uses slots that are left over to try other choices side by side with the selected one.
fn speculate(transaction: &mut Transaction, free: usize) {
    // An atom that waits for a provider keeps its slot: nothing is tried in its place.
    let mut free = free.saturating_sub(transaction.state.run.waits.len());
    for speculation in Arc::clone(transaction.speculations()).iter() {
        for (x, head) in startable_beside(transaction, speculation) {
            if free == 0 || !probing::is_worth(transaction, speculation) {
                break;
            }
            let context = speculation.active.context(x);
            if context.is_none_or(|context| !may_start(transaction, x, context)) {
                continue;
            }
            start(transaction, x, &speculation.active, head);
            free -= 1;
        }
    }
}

/// The tasks that may start in a speculation whose tree is there to begin on.
fn startable_beside(
    transaction: &Transaction,
    speculation: &Speculation,
) -> Vec<(Ix, Option<CommitId>)> {
    let Some(head) = speculation.head(&transaction.landing_context()) else {
        return Vec::new();
    };
    let found = transaction.graph.tasks_as_written().filter(|x| {
        let id = transaction.graph.id(*x);
        let is_due = |context| is_due(transaction, id, context);
        speculation.is_startable(&transaction.graph, &transaction.state, *x)
            && speculation.active.context(*x).is_some_and(is_due)
            && transaction.attempts_of(id).next().is_none()
            && !probing::awaits(transaction, *x)
            && interruptions(transaction, id) < FRAGILE
    });
    found.map(|x| (x, head.clone())).collect()
}

fn free_slots(transaction: &Transaction) -> usize {
    world::slots(&transaction.state, &transaction.session)
        .saturating_sub(transaction.state.run.in_flight.len())
}

fn start(transaction: &mut Transaction, x: Ix, active: &ActiveGraph, base: Option<CommitId>) {
    let graph = Arc::clone(&transaction.graph);
    let atom = graph.id(x).clone();
    let Some(context) = active.context(x).cloned() else {
        return;
    };
    let (role, agent) = usage::agent_of(transaction, &atom);
    if let Some(agent) = agent.as_ref().filter(|agent| usage::is_unlimited(transaction, agent)) {
        transaction.session.unavailable = Some(Unavailable::without_cost(agent));
        return;
    }
    let choices = active.choices(&graph, x);
    let because = because(transaction, &atom, &context, active);
    let Some(tried) = transaction.tried(&atom, &context, &choices) else {
        return;
    };
    let n = tried.attempts + 1;
    let (effect, of) = match transaction.task_of(&atom) {
        Some(task) => (task.spec.effect, measure::attempts_max(&transaction.state, task)),
        None => (SideEffect::Tree, n),
    };
    let reserved = Reservation::of(transaction, &atom).usage;
    let description = transaction.title_of(&atom);
    let new = Intent { atom, context, choices, n, effect, base, ..Intent::default() };
    let new = Intent { role, agent, reserved, ..new };
    transaction.begin(new, of.max(n), description, because);
}

/// Why an attempt in this context starts now.
fn because(
    transaction: &Transaction,
    atom: &AtomId,
    context: &Digest,
    active: &ActiveGraph,
) -> StartReason {
    let Some(task) = transaction.task_of(atom) else {
        return StartReason::Ready;
    };
    let tried = task.tried(context);
    let has = |count: fn(&Try) -> u32| tried.is_some_and(|tried| count(tried) > 0);
    let state = &transaction.state;
    let is_cold = || {
        let n = tried.map_or(0, |tried| tried.attempts) + 1;
        measure::has_cold_try(state, task) && n == measure::attempts_max(state, task)
    };
    match () {
        () if has(|tried| tried.repairs) => StartReason::Repair,
        () if has(|tried| tried.transient) => StartReason::Transient,
        () if is_cold() => StartReason::Cold,
        () if has(|tried| tried.attempts) => StartReason::Failed,
        () if task.interruptions > 0 => StartReason::Interrupted,
        () if !core::ptr::eq(active, &*transaction.active) => StartReason::Speculation,
        () if tried.is_some() || task.tries.is_empty() => StartReason::Ready,
        () if !task.spec.guidance.is_empty() => StartReason::Guided,
        () => StartReason::NewContext,
    }
}

/// The first startable atoms from this place on that do not wait for a backoff, with their places.
fn ready(transaction: &Transaction, from: usize, most: usize) -> Vec<(usize, Ix)> {
    let is_due = |(_, x): &(usize, Ix)| {
        let context = transaction.active.context(*x);
        context.is_some_and(|context| is_due(transaction, transaction.graph.id(*x), context))
    };
    startable(transaction, from).filter(is_due).take(most).collect()
}

fn is_due(transaction: &Transaction, id: &AtomId, context: &Digest) -> bool {
    let session = &transaction.session;
    let is_over = |until_ms: &u64| *until_ms <= session.active_ms;
    let (waits, of_agents) = (&session.waits_until_ms, &session.provider_waits);
    let is_due = waits.is_empty() || waits.get(&(id.clone(), context.clone())).is_none_or(is_over);
    let agent_is_due = || {
        let (_, agent) = usage::agent_of(transaction, id);
        !agent.is_some_and(|agent| session.awaits_provider(&agent))
    };
    is_due && (of_agents.is_empty() || agent_is_due())
}

/// Tasks that are live, pending and not in flight, with all prerequisites resolved, each with its place among all tasks.
/// A planning step with fragments to choose from does not start.
fn startable(transaction: &Transaction, from: usize) -> impl Iterator<Item = (usize, Ix)> {
    let is_paid =
        |(_, x): &(usize, Ix)| usage::lacking(transaction, transaction.graph.id(*x)).is_none();
    unpaid(transaction, from).filter(is_paid)
}

/// The same, whatever the limits of usage.
fn unpaid(transaction: &Transaction, from: usize) -> impl Iterator<Item = (usize, Ix)> {
    let in_flight: BTreeSet<&AtomId> =
        transaction.state.run.in_flight.iter().map(|intent| &intent.atom).collect();
    let graph = &transaction.graph;
    let solved = transaction.solved();
    // Cheap questions come first: where thousands wait, most of them wait for others.
    graph
        .tasks_as_written()
        .enumerate()
        .skip(from)
        .filter(move |(_, x)| {
            transaction.active.is_live(*x)
                && !solved[*x]
                && graph.waits_for(*x).all(|dep| solved[dep])
                && transaction.active.is_leaf(graph, *x)
                && transaction.task_of(graph.id(*x)).is_some_and(|task| {
                    task.status == AtomStatus::Pending && !transaction.is_resting(*x, task)
                })
        })
        .filter(move |(_, x)| {
            let context = transaction.active.context(*x);
            !in_flight.contains(graph.id(*x))
                && !transaction.is_undecided(*x)
                && !graph.is_behind_gate(*x)
                && !probing::awaits(transaction, *x)
                && context.is_some_and(|context| phase::may_start(transaction, *x, context))
        })
}

/// Whether the budgets of the phases above and of the run leave room for an attempt.
fn may_start(transaction: &Transaction, x: Ix, context: &Digest) -> bool {
    phase::may_start(transaction, x, context)
        && usage::lacking(transaction, transaction.graph.id(x)).is_none()
}

/// The limit of usage that leaves too little for all that could start, with nothing in flight that could leave more.
pub(super) fn lacks(transaction: &Transaction) -> Option<UsageLimit> {
    let constraints = &transaction.state.objective.constraints;
    let is_idle = constraints.limits_usage() && transaction.state.run.in_flight.is_empty();
    if !is_idle || is_any_ready(transaction) {
        return None;
    }
    let atoms = unpaid(transaction, 0).map(|(_, x)| transaction.graph.id(x));
    atoms.filter_map(|atom| usage::lacking(transaction, atom)).min()
}

/// Whether something may start now or after its backoff, with a slot to start it in.
pub(super) fn can_start(transaction: &Transaction) -> bool {
    free_slots(transaction) > 0 && is_any_ready(transaction)
}

fn is_any_ready(transaction: &Transaction) -> bool {
    startable(transaction, 0).next().is_some()
        || can_speculate(transaction)
        || !probing::due(transaction).is_empty()
}

fn can_speculate(transaction: &Transaction) -> bool {
    let speculations = transaction.speculations();
    let mut worthy =
        speculations.iter().filter(|speculation| probing::is_worth(transaction, speculation));
    worthy.any(|speculation| {
        let landing_context = transaction.landing_context();
        let mut tasks = transaction.graph.tasks();
        let may_start = |x: Ix| {
            let context = speculation.active.context(x);
            context.is_some_and(|context| may_start(transaction, x, context))
        };
        (speculation.wants_staging(&landing_context)
            || speculation.head(&landing_context).is_some())
            && tasks.any(|x| {
                speculation.is_startable(&transaction.graph, &transaction.state, x) && may_start(x)
            })
    })
}

/// Whether an attempt in flight touches the same files as this atom.
fn is_in_the_way(transaction: &Transaction, atom: &AtomId) -> bool {
    let workspace = transaction.state.objective.constraints.workspace();
    let Some(task) = transaction.task_of(atom).filter(|task| !task.touches.is_empty()) else {
        return false;
    };
    let in_flight = transaction.state.run.in_flight.iter();
    let mut others = in_flight.filter_map(|intent| transaction.task_of(&intent.atom));
    others.any(|other| overlap::clash(&task.touches, &other.touches, workspace))
}

fn interruptions(transaction: &Transaction, atom: &AtomId) -> u32 {
    transaction.task_of(atom).map_or(0, |task| task.interruptions)
}
