//! Probes: before an unknown task is tried, an agent finds out whether it can be done. Their estimates say whether a
//! speculation is worth it.
//!
//! Invariant: a context is probed once at most, and a finding closes nothing: it orders choices, and is told. Not here: the
//! reading of an answer (`finding`), the order of choices (`search`).

use super::{backtrack, failure::Failure, transaction::Transaction, usage};
use crate::doc::prelude::*;
use crate::{
    answer_forms,
    event::{Event, Outcome, StartReason},
    graph::{Ix, NodeKind, active},
    search::{
        self,
        ranking::{RememberedChoices, estimate},
    },
    state::{
        AtomStatus, EntryKind, Intent, Role, Try, UsageLimit, answer_records::ProbeAnswer,
        atom::ProbeRecord, record::ProbeEntry,
    },
    world::speculation::Speculation,
};

/// The probes that may start now: of live unknown tasks, and of the choices of live unknown groups side by side.
pub(super) fn due(transaction: &Transaction) -> Vec<Intent> {
    if !may_probe(transaction) {
        return Vec::new();
    }
    let graph = &transaction.graph;
    let wanted = graph.tasks_as_written().filter(|x| is_unknown(transaction, *x));
    let found = wanted.filter_map(|x| {
        let is_flying = transaction.attempts_of(graph.id(x)).next().is_some();
        probe_of(transaction, x).filter(|_| !is_flying)
    });
    found.collect()
}

/// Whether an attempt of a live task has to wait for a probe: its own, or one of another choice of its group.
pub(super) fn awaits(transaction: &Transaction, x: Ix) -> bool {
    let graph = &transaction.graph;
    if !may_probe(transaction) || !is_unknown(transaction, x) {
        return false;
    }
    // A choice that plans, or a group, gets no probe: nobody waits for one.
    let is_open = |y: Ix| {
        is_unknown(transaction, y)
            && (is_probing(transaction, y) || probe_of(transaction, y).is_some())
    };
    let group = graph.vertex(x).parent.filter(|group| graph.vertex(*group).is_unknown);
    let others = group.map(|group| graph.vertex(group).kids.as_slice());
    is_open(x) || others.unwrap_or_default().iter().any(|kid| is_open(*kid))
}

fn may_probe(transaction: &Transaction) -> bool {
    let agent = transaction.session.agents.in_role(Role::Probe);
    let can_pay = |agent| usage::can_pay(transaction, Role::Probe, agent);
    transaction.state.run.probes && agent.is_some_and(can_pay)
}

/// A task of an agent that is unknown itself, or a choice of an unknown group.
fn is_unknown(transaction: &Transaction, x: Ix) -> bool {
    let graph = &transaction.graph;
    let vertex = graph.vertex(x);
    let of_group = vertex.parent.is_some_and(|group| {
        graph.vertex(group).kind == NodeKind::Any && graph.vertex(group).is_unknown
    });
    let task = transaction.task_of(graph.id(x));
    vertex.kind == NodeKind::Task
        && (vertex.is_unknown || of_group)
        && task.is_some_and(|task| task.spec.action.is_none() && task.status == AtomStatus::Pending)
}

/// The probe of a task in its context, if it may still come.
fn probe_of(transaction: &Transaction, x: Ix) -> Option<Intent> {
    let (graph, active) = (&transaction.graph, &transaction.active);
    let parent = graph.vertex(x).parent;
    let beside = parent.filter(|group| graph.vertex(*group).is_unknown);
    let is_wanted = active.is_live(x)
        || beside.is_some_and(|group| active.is_live(group) && !transaction.solved()[group]);
    if !is_wanted
        || graph.is_behind_gate(x)
        || !graph.waits_for(x).all(|dep| transaction.solved()[dep])
    {
        return None;
    }
    let choices = active.choices(graph, x);
    let context = match active.context(x) {
        Some(context) => context.clone(),
        None => active::context_in(graph, x, &active.selection)?,
    };
    let tried = transaction.task_of(graph.id(x))?.tried(&context);
    let is_open =
        |tried: &Try| tried.probe.is_none() && tried.attempts == 0 && tried.ended.is_none();
    let atom = graph.id(x).clone();
    let probe = Intent { atom, context, choices, role: Role::Probe, ..Intent::default() };
    tried.is_none_or(is_open).then_some(probe)
}

fn is_probing(transaction: &Transaction, x: Ix) -> bool {
    let mut attempts = transaction.attempts_of(transaction.graph.id(x));
    attempts.any(|intent| intent.role == Role::Probe)
}

/// Whether a probe in flight is of use: its task is open, in a context that today's plan has.
pub(super) fn stays(transaction: &Transaction, intent: &Intent) -> bool {
    let (graph, active) = (&transaction.graph, &transaction.active);
    let Some(x) = transaction.graph.ix(&intent.atom) else {
        return false;
    };
    transaction.task_of(&intent.atom).is_some()
        && search::is_valid_now(graph, active, x, &intent.context, &intent.choices)
}

/// Starts a probe: an attempt that changes nothing.
pub(super) fn start(transaction: &mut Transaction, probe: Intent) {
    let Some(agent) = transaction.session.agents.in_role(Role::Probe).cloned() else {
        return;
    };
    if transaction.tried(&probe.atom, &probe.context, &probe.choices).is_none() {
        return;
    }
    let description = format!("can it be done? {}", transaction.title_of(&probe.atom));
    let new = Intent {
        base: transaction.state.run.head.clone(),
        reserved: transaction.state.run.estimate(Role::Probe, Some(&agent)),
        agent: Some(agent),
        ..probe
    };
    transaction.begin(new, 1, description, StartReason::Probe);
}

/// A probe reports success: its finding is kept, or it found nothing out.
pub(super) fn finished(transaction: &mut Transaction, intent: &Intent, outcome: &Outcome) {
    let printed = outcome.stdout.as_deref().unwrap_or_default();
    let read = match &outcome.report_fault {
        Some(fault) => Err(fault.clone()),
        None => answer_forms::object(printed).and_then(|node| answer_forms::read(&node)),
    };
    let found = read.map_err(|fault| format!("its answer cannot be used: {fault}"));
    keep(transaction, intent, found, outcome.duration_ms);
}

/// A probe failed: nothing was found out, and its task is tried as if it had not been unknown.
pub(super) fn failed(transaction: &mut Transaction, intent: &Intent, failure: &Failure) {
    let why = format!("it failed: {}", failure.reason);
    keep(transaction, intent, Err(why), failure.outcome.duration_ms);
}

fn keep(
    transaction: &mut Transaction,
    intent: &Intent,
    found: Result<ProbeAnswer, String>,
    ms: u64,
) {
    transaction.land(&intent.id);
    transaction.run().iteration += 1;
    transaction.run().spent.attempts += 1;
    let (feasible, findings, estimate) = match found {
        Ok(found) => (Some(found.feasible), found.findings, found.cost_estimate),
        Err(why) => (None, why, None),
    };
    if let Some(tried) = transaction.tried(&intent.atom, &intent.context, &intent.choices) {
        tried.transient = 0;
        tried.probe = Some(ProbeRecord {
            attempt: intent.id.clone(),
            feasible,
            estimate: estimate.unwrap_or_default(),
            extra: Default::default(),
        });
    }
    transaction.record(EntryKind::Probe(ProbeEntry {
        atom: intent.atom.clone(),
        attempt: intent.id.clone(),
        context: Some(intent.context.clone()),
        agent: intent.agent.clone(),
        feasible,
        findings: findings.clone(),
    }));
    transaction.announce(Event::Probed {
        attempt: intent.id.clone(),
        atom: intent.atom.clone(),
        ms: Some(ms),
        feasible,
        findings,
    });
}

/// Takes the choice that probes speak for, of an unknown group that nothing was tried of yet. True if the selection
/// changed.
pub(super) fn prefer(transaction: &mut Transaction) -> bool {
    if !transaction.state.run.probes {
        return false;
    }
    let graph = Arc::clone(&transaction.graph);
    let groups = graph.groups().filter(|group| {
        graph.vertex(*group).is_unknown
            && transaction.active.is_live(*group)
            && !transaction.solved()[*group]
    });
    let groups: Vec<Ix> = groups.collect();
    groups.into_iter().any(|group| prefer_in(transaction, group))
}

fn prefer_in(transaction: &mut Transaction, group: Ix) -> bool {
    let graph = Arc::clone(&transaction.graph);
    let kids = &graph.vertex(group).kids;
    let id = |kid: &Ix| graph.id(*kid);
    let is_untried = |kid: &Ix| {
        search::tries(&transaction.state, id(kid))
            .iter()
            .all(|tried| tried.attempts == 0 && tried.ended.is_none())
    };
    let are_open = |kid: &Ix| is_probing(transaction, *kid) || awaits(transaction, *kid);
    if kids.iter().any(are_open) || !kids.iter().all(is_untried) {
        return false;
    }
    let remembered = RememberedChoices::of(&graph, &transaction.state);
    let Some(in_force) = transaction.active.selection.get(&group).copied() else {
        return false;
    };
    let state = &transaction.state;
    let rank = |kid: &&Ix| remembered.rank_beside(&graph, state, **kid, in_force);
    let Some(best) = kids.iter().min_by_key(rank).copied() else {
        return false;
    };
    let is_better = rank(&&best) < rank(&&in_force);
    is_better && backtrack::take(transaction, group, best, "probes speak for it")
}

// Whether another choice is worth trying beside the selected one, by the estimates of probes.
//
// Invariant: it decides about starts alone. A running attempt goes on, and a result is taken whatever it was
// estimated at.

/// A choice costs at most so many times what the selected one does. Then it is a third cheaper than both in a row at
/// least, which is what the group costs when the selected one fails.
const TIMES_MAX: u64 = 2;

/// Cost, time and attempts of a choice as its probe estimated them.
type Estimate = [Option<u64>; 3];

/// Whether no part that both tell is larger than it may be.
fn is_near(choice: Estimate, selected: Estimate) -> bool {
    let pairs = choice.into_iter().zip(selected);
    let mut known = pairs.filter_map(|(own, other)| Some((own?, other?)));
    known.all(|(own, other)| own <= other.saturating_mul(TIMES_MAX))
}

/// Without an estimate of each choice that is left, the flag of the group decides alone. A choice that a probe calls
/// infeasible is tried after the others.
pub(super) fn is_worth(transaction: &Transaction, speculation: &Speculation) -> bool {
    if is_infeasible(transaction, speculation.choice) {
        return false;
    }
    let selected = transaction.active.selection.get(&speculation.group);
    let estimates = estimates_left(transaction, speculation.group);
    let (Some(selected), Some(estimates)) = (selected, estimates) else {
        return true;
    };
    let of = |choice: Ix| estimates.iter().find(|(kid, _)| *kid == choice).map(|(_, one)| *one);
    let is_near = match (of(speculation.choice), of(*selected)) {
        (Some(choice), Some(selected)) => is_near(choice, selected),
        _ => true,
    };
    is_near && fit(transaction, &estimates)
}

fn is_infeasible(transaction: &Transaction, choice: Ix) -> bool {
    let probe = newest_try(transaction, choice).and_then(|tried| tried.probe.as_ref());
    probe.is_some_and(|probe| probe.feasible == Some(false))
}

fn newest_try(transaction: &Transaction, choice: Ix) -> Option<&Try> {
    search::tries(&transaction.state, transaction.graph.id(choice)).last()
}

/// The estimate of each choice that did not fail for good and may be feasible; none if one of them has none.
fn estimates_left(transaction: &Transaction, group: Ix) -> Option<Vec<(Ix, Estimate)>> {
    let kids = transaction.graph.vertex(group).kids.iter().copied();
    let has_failed = |kid| newest_try(transaction, kid).is_some_and(|tried| tried.ended.is_some());
    let is_left = |kid: &Ix| !has_failed(*kid) && !is_infeasible(transaction, *kid);
    let known = |kid| {
        let known = estimate(newest_try(transaction, kid)?.probe.as_ref()?);
        (known != Estimate::default()).then_some((kid, known))
    };
    kids.filter(is_left).map(known).collect()
}

/// Whether all of them together stay within the rest of each limit. They run side by side, so the longest counts.
fn fit(transaction: &Transaction, estimates: &[(Ix, Estimate)]) -> bool {
    let run = &transaction.state.run;
    let constraints = &transaction.state.objective.constraints;
    let within = |wanted: u64, used: u64, most: Option<u64>| {
        most.is_none_or(|most| used.saturating_add(wanted) <= most)
    };
    let costs = estimates.iter().filter_map(|(_, [cost, ..])| *cost);
    let times = estimates.iter().filter_map(|(_, [_, ms, _])| *ms);
    let attempts = estimates.iter().filter_map(|(_, [.., attempts])| *attempts);
    let (cost, attempts) =
        (costs.fold(0, u64::saturating_add), attempts.fold(0, u64::saturating_add));
    let time_budget = constraints.budget.time.as_ref().map(|budget| budget.ms);
    let claimed = usage::claimed(transaction, UsageLimit::Cost);
    within(attempts, run.iteration, constraints.budget.iterations)
        && within(times.max().unwrap_or_default(), transaction.spent_ms(), time_budget)
        && within(cost, claimed, constraints.usage(UsageLimit::Cost))
}
