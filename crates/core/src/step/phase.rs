//! The budget of a phase: what its fragment has used, what may still start, and how the phase ends (contract §5).
//!
//! Invariant: an end is decided once. A phase is resolved without its open parts only if nothing outside was tried
//! under its fragment before. So no context in which something was tried becomes another.

use super::{
    transaction::Transaction,
    usage::{self, LimitedUsage, Reservation},
};
use crate::doc::prelude::*;
use crate::{
    graph::{Ix, PlannedPhase},
    id::{AtomId, Digest},
    search,
    state::{
        AtomStatus, EntryKind, Extra, Fragment, Intent, PhaseBudget, PhaseEnd, PhaseLimit,
        PlanningStep, Task, Try, UsageLimit, final_result::DroppedPart, record::DropEntry,
    },
};

/// Counts an ended attempt in each fragment around its atom.
pub(super) fn count(transaction: &mut Transaction, atom: &AtomId) {
    recount(transaction, atom, |attempts| attempts.saturating_add(1));
}

/// Takes such a count back.
pub(super) fn give_back(transaction: &mut Transaction, atom: &AtomId) {
    recount(transaction, atom, |attempts| attempts.saturating_sub(1));
}

fn recount(transaction: &mut Transaction, atom: &AtomId, count: fn(u32) -> u32) {
    let is_limited = |budget: &PhaseBudget| budget.attempts.is_some();
    transaction.change_fragments_around(atom, is_limited, |fragment| {
        fragment.attempts = count(fragment.attempts);
    });
}

/// Whether the budgets above an atom leave room for an attempt. A repair was paid for already.
pub(super) fn may_start(transaction: &Transaction, x: Ix, context: &Digest) -> bool {
    let mut phases = transaction.graph.phases_above(x).peekable();
    if phases.peek().is_none() || transaction.is_repair(transaction.graph.id(x), context) {
        return true;
    }
    phases.all(|(plan, phase, _)| {
        let Some(seen) = PhaseUsage::of(transaction, plan, phase) else {
            return true;
        };
        let in_flight = seen.attempts() + seen.in_flight(false).count() as u64;
        let is_room = |limit, used| seen.budget.of(limit).is_none_or(|most| used < most);
        is_room(PhaseLimit::Attempts, in_flight)
            && is_room(PhaseLimit::Time, seen.ms())
            && seen.lacking(x).is_none()
    })
}

/// Starts the clocks of new fragments, and ends phases whose budget is over. True if one ended.
pub(super) fn end_over(transaction: &mut Transaction) -> bool {
    begin_clocks(transaction);
    let graph = Arc::clone(&transaction.graph);
    let over = in_force(transaction).into_iter().find_map(|(plan, phase)| {
        let over = PhaseUsage::of(transaction, plan, phase)?.over()?;
        Some((plan, phase.first(), over))
    });
    let Some((plan, first, (limit, used))) = over else {
        return false;
    };
    let Some(phase) = graph.phase_of(plan, first) else {
        return false;
    };
    let stands = phase.remaining();
    let open = stands.iter().filter(|part| !transaction.solved()[**part]);
    let open: Vec<AtomId> = open.map(|part| graph.id(*part).clone()).collect();
    let is_partial = open.len() < stands.len() && may_be_partial(transaction, plan, first);
    let before = phase.dropped.iter().map(|part| graph.id(*part).clone());
    let now = open.iter().filter(|_| is_partial).cloned();
    let end = PhaseEnd {
        limit,
        used,
        missing: before.chain(now).collect(),
        has_failed: !is_partial,
        extra: Extra::default(),
    };
    let (atom, first) = (graph.id(plan).clone(), graph.id(first));
    transaction.change_plan(&atom, |plan| {
        if let Some(fragment) = plan.fragment_mut(first) {
            fragment.ended = Some(end);
        }
        if !is_partial {
            plan.set_aside();
        }
    });
    transaction.rebuild();
    transaction.tell(EntryKind::Drop(DropEntry {
        atom,
        limit: Some(limit),
        used,
        partial: is_partial,
        missing: open,
    }));
    true
}

fn begin_clocks(transaction: &mut Transaction) {
    let now_ms = transaction.spent_ms();
    let waits = |plan: &&PlanningStep| {
        let has_budget = plan.budget.as_ref().is_some_and(|one| one.time.is_some());
        // A fork counts its time anew, so the clock starts again.
        let is_behind = |since_ms: Option<u64>| since_ms.is_none_or(|since_ms| since_ms > now_ms);
        has_budget && plan.in_force().is_some_and(|one| is_behind(one.since_ms))
    };
    let live = in_force(transaction).into_iter();
    let live = live.map(|(plan, _)| transaction.graph.id(plan).clone());
    let begin: Vec<AtomId> =
        live.filter(|id| transaction.plan_of(id).filter(waits).is_some()).collect();
    for id in begin {
        transaction.change_plan(&id, |plan| {
            if let Some(fragment) = plan.in_force_mut() {
                fragment.since_ms = Some(now_ms);
            }
        });
    }
}

/// Whether the phase may be resolved in part. The target of the step must accept a partial result. Nothing that waits
/// for it may have been tried with this fragment, as happens when a resolved phase was opened again.
fn may_be_partial(transaction: &Transaction, plan: Ix, first: Ix) -> bool {
    let (graph, state) = (&transaction.graph, &transaction.state);
    let (plan_id, first) = (graph.id(plan), graph.id(first));
    let target = transaction.plan_of(plan_id).and_then(|plan| plan.convergence_target.as_ref());
    let target = target.and_then(|id| state.atom(id));
    let mut tries = graph.tasks().flat_map(|x| search::tries(state, graph.id(x)));
    target.is_some_and(|atom| atom.accepts_partial)
        && !tries.any(|tried| tried.choices.get(plan_id) == Some(first))
        && !transaction.refuted.iter().any(|whole| whole.get(plan_id) == Some(first))
}

/// The missing parts of the result: those that budgets left open, each with the step that planned it.
pub(super) fn dropped(transaction: &Transaction) -> Vec<DroppedPart> {
    let graph = &transaction.graph;
    let phases = in_force(transaction).into_iter();
    let parts = phases.flat_map(|(plan, phase)| phase.dropped.iter().map(move |x| (plan, *x)));
    let parts = parts.map(|(plan, x)| {
        let part = graph.id(x);
        let atom = transaction.state.atom(part);
        DroppedPart {
            atom: part.clone(),
            of: graph.id(plan).clone(),
            description: atom.map_or("", |atom| atom.title(part)).into(),
            extra: Extra::default(),
        }
    });
    parts.collect()
}

/// The live planning steps with a fragment in force, inner ones first.
fn in_force(transaction: &Transaction) -> Vec<(Ix, &PlannedPhase)> {
    let (graph, active) = (&transaction.graph, &transaction.active);
    let of = |plan: &Ix| Some((*plan, active.phase(graph, *plan)?));
    let inner_first = graph.order().iter();
    let mut found: Vec<(Ix, &PlannedPhase)> = Vec::new();
    if graph.plans().next().is_some() {
        found.extend(inner_first.filter_map(of));
    }
    found
}

/// The part of its budget that a fragment has used.
struct PhaseUsage<'d> {
    transaction: &'d Transaction,
    plan: Ix,
    phase: &'d PlannedPhase,
    budget: &'d PhaseBudget,
    fragment: &'d Fragment,
}

impl<'d> PhaseUsage<'d> {
    fn of(transaction: &'d Transaction, plan: Ix, phase: &'d PlannedPhase) -> Option<Self> {
        let step = transaction.plan_of(transaction.graph.id(plan))?;
        let first = transaction.graph.id(phase.first());
        let fragment = step.fragments().find(|one| one.first() == Some(first))?;
        let budget = step.budget.as_ref()?;
        Some(Self { transaction, plan, phase, budget, fragment })
    }

    fn attempts(&self) -> u64 {
        u64::from(self.fragment.attempts)
    }

    /// Active time since its clock began.
    fn ms(&self) -> u64 {
        let now_ms = self.transaction.spent_ms();
        self.fragment.since_ms.map_or(0, |since_ms| now_ms.saturating_sub(since_ms))
    }

    fn holds(&self, x: Ix) -> bool {
        let mut phases = self.transaction.graph.phases_above(x);
        phases.any(|(plan, phase, _)| plan == self.plan && phase.first() == self.phase.first())
    }

    /// Its attempts in flight: repairs, or all others.
    fn in_flight(&self, repairs: bool) -> impl Iterator<Item = &'d Intent> {
        let transaction = self.transaction;
        transaction.state.run.in_flight.iter().filter(move |intent| {
            transaction.graph.ix(&intent.atom).is_some_and(|x| self.holds(x))
                && transaction.is_repair(&intent.atom, &intent.context) == repairs
        })
    }

    /// The limit that is reached with parts open, and how much was used. `None` while an attempt is under way that must
    /// not be cut off, or while a repair can be made.
    fn over(&self) -> Option<(PhaseLimit, u64)> {
        let transaction = self.transaction;
        let reached = |limit, used| {
            Some((limit, used)).filter(|_| self.budget.of(limit).is_some_and(|most| used >= most))
        };
        let by_time = reached(PhaseLimit::Time, self.ms());
        let by_attempts = || {
            reached(PhaseLimit::Attempts, self.attempts())
                .filter(|_| self.in_flight(false).next().is_none())
        };
        let over = by_time.or_else(by_attempts).or_else(|| self.over_by_usage())?;
        let is_open = self.phase.remaining().iter().any(|part| !transaction.solved()[*part]);
        let must_finish = |intent: &Intent| transaction.must_finish(intent);
        let is_bound =
            self.in_flight(false).any(must_finish) || self.in_flight(true).next().is_some();
        let waits = self.awaits_repair() || self.is_in_doubt();
        (is_open && !is_bound && !waits).then_some(over)
    }

    /// The limits of usage of its budget, if it has some.
    fn limits(&self) -> Option<LimitedUsage<'d>> {
        let most = UsageLimit::ALL.map(|limit| self.budget.of(PhaseLimit::of_usage(limit)));
        self.budget.limits_usage().then(|| LimitedUsage {
            transaction: self.transaction,
            settled: &self.fragment.usage,
            in_flight: self.in_flight(false).chain(self.in_flight(true)).collect(),
            asked: None,
            most,
        })
    }

    /// The first limit of usage that leaves too little for an attempt.
    fn lacking(&self, x: Ix) -> Option<UsageLimit> {
        let atom = self.transaction.graph.id(x);
        self.limits()?.lacking(&Reservation::of(self.transaction, atom))
    }

    /// The limit of usage that is reached, or that leaves too little for each part that is ready. An attempt that
    /// only has to land is awaited, for that costs nothing.
    fn over_by_usage(&self) -> Option<(PhaseLimit, u64)> {
        let limits = self.limits()?;
        let mut in_flight = limits.in_flight.iter();
        if in_flight.any(|intent| usage::is_landing(self.transaction, intent)) {
            return None;
        }
        let (limit, used) = limits.reached().or_else(|| self.stuck(&limits))?;
        Some((PhaseLimit::of_usage(limit), used))
    }

    /// The limit of usage that no part can start under, and how much would be used with the next one.
    fn stuck(&self, limits: &LimitedUsage<'_>) -> Option<(UsageLimit, u64)> {
        if !limits.in_flight.is_empty() {
            return None;
        }
        let mut found = None;
        for x in self.ready() {
            let wanted = Reservation::of(self.transaction, self.transaction.graph.id(x));
            let limit = limits.lacking(&wanted)?;
            let used = limits.settled.of(limit).saturating_add(wanted.usage.of(limit).max(1));
            found = found.or(Some((limit, used)));
        }
        found
    }

    /// Its tasks that could start if no budget limited them.
    fn ready(&self) -> impl Iterator<Item = Ix> {
        let (graph, active) = (&self.transaction.graph, &self.transaction.active);
        let parts = self.phase.remaining().into_iter();
        let inside = parts.flat_map(|part| graph.subtree(part));
        inside.filter(|x| {
            let is_pending = |task: &Task| {
                let tried = active.context(*x).and_then(|context| task.tried(context));
                task.status == AtomStatus::Pending && !tried.is_some_and(Try::has_failed)
            };
            let mut waits_for = graph.waits_for(*x);
            active.is_leaf(graph, *x)
                && self.transaction.task_of(graph.id(*x)).is_some_and(is_pending)
                && waits_for.all(|dep| self.transaction.solved()[dep])
        })
    }

    /// Whether a person must be asked first: a dropped doubt is never asked about again.
    fn is_in_doubt(&self) -> bool {
        let mut live = self.transaction.live_tasks();
        live.any(|(x, task)| matches!(task.status, AtomStatus::InDoubt(_)) && self.holds(x))
    }

    /// Whether a repair could be made now. A repair whose prerequisites may not start any more is not awaited.
    fn awaits_repair(&self) -> bool {
        let transaction = self.transaction;
        let parts = self.phase.remaining();
        let mut inside = parts.iter().flat_map(|part| transaction.graph.subtree(*part));
        inside.any(|x| {
            let (id, context) = (transaction.graph.id(x), transaction.active.context(x));
            let tried =
                context.and_then(|context| transaction.state.atoms.get(id)?.task()?.tried(context));
            let mut waits_for = transaction.graph.waits_for(x);
            transaction.active.is_leaf(&transaction.graph, x)
                && waits_for.all(|dep| transaction.solved()[dep])
                && tried.is_some_and(|tried| tried.repairs > 0 && !tried.has_failed())
        })
    }
}
