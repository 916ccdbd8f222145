//! The budget of a phase: what its fragment has used, what may still start, and how the phase ends (contract §5).
//!
//! Invariant: an end is decided once. A phase is resolved without its open parts only if nothing outside was tried
//! under its fragment before. So no context in which something was tried becomes another.

use alloc::{sync::Arc, vec::Vec};

use super::{
    transaction::Transaction,
    usage::{self, Reservation, Sums},
};
use crate::{
    graph::{Ix, PlannedPhase},
    id::{AtomId, Digest},
    search,
    state::{
        AtomStatus, EntryKind, Extra, Intent, PhaseBudget, PhaseEnd, PhaseLimit, PlanningStep,
        Task, Try, Usage, UsageLimit, final_result::DroppedPart, record::DropEntry,
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
    let graph = Arc::clone(&transaction.graph);
    let Some(x) = graph.ix(atom) else { return };
    for (plan, phase, _) in graph.phases_above(x) {
        let (plan, first) = (graph.id(plan), graph.id(phase.first()));
        let has_budget = budget(transaction, plan).is_some_and(|one| one.attempts.is_some());
        if has_budget {
            transaction.change_plan(plan, |plan| {
                if let Some(fragment) = plan.fragment_mut(first) {
                    fragment.attempts = count(fragment.attempts);
                }
            });
        }
    }
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
        let in_flight =
            u64::from(seen.attempts) + seen.in_flight(transaction, false).count() as u64;
        let is_room = |limit, used| seen.budget.of(limit).is_none_or(|most| used < most);
        is_room(PhaseLimit::Attempts, in_flight)
            && is_room(PhaseLimit::Time, seen.ms)
            && seen.lacking(transaction, x).is_none()
    })
}

/// Starts the clocks of new fragments, and ends phases whose budget is over. True if one ended.
pub(super) fn end_over(transaction: &mut Transaction) -> bool {
    begin_clocks(transaction);
    let graph = Arc::clone(&transaction.graph);
    let over = in_force(transaction).into_iter().find_map(|(plan, phase)| {
        let seen = PhaseUsage::of(transaction, plan, phase)?;
        Some((plan, phase.first(), seen.over(transaction)?))
    });
    let Some((plan, first, (limit, used))) = over else {
        return false;
    };
    let Some(phase) = graph.phase_of(plan, first) else {
        return false;
    };
    let stands = phase.remaining();
    let open: Vec<AtomId> = stands
        .iter()
        .filter(|part| !transaction.solved()[**part])
        .map(|part| graph.id(*part).clone())
        .collect();
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
    close(transaction, graph.id(plan), graph.id(first), end, &open);
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

fn close(
    transaction: &mut Transaction,
    plan: &AtomId,
    first: &AtomId,
    end: PhaseEnd,
    open: &[AtomId],
) {
    let (is_partial, limit, used) = (!end.has_failed, end.limit, end.used);
    transaction.change_plan(plan, |plan| {
        if let Some(fragment) = plan.fragment_mut(first) {
            fragment.ended = Some(end);
        }
        if !is_partial {
            plan.set_aside();
        }
    });
    transaction.rebuild();
    transaction.tell(EntryKind::Drop(DropEntry {
        atom: plan.clone(),
        limit: Some(limit),
        used,
        partial: is_partial,
        missing: open.to_vec(),
    }));
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
    let one = |plan: Ix, part: Ix| {
        let (plan, part) = (graph.id(plan), graph.id(part));
        let atom = transaction.state.atom(part);
        DroppedPart {
            atom: part.clone(),
            of: plan.clone(),
            description: atom.map_or("", |atom| atom.title(part)).into(),
            extra: Extra::default(),
        }
    };
    let phases = in_force(transaction).into_iter();
    let parts =
        phases.flat_map(|(plan, phase)| phase.dropped.iter().map(move |part| (plan, *part)));
    parts.map(|(plan, part)| one(plan, part)).collect()
}

fn budget<'d>(transaction: &'d Transaction, plan: &AtomId) -> Option<&'d PhaseBudget> {
    transaction.plan_of(plan)?.budget.as_ref()
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
    plan: Ix,
    phase: &'d PlannedPhase,
    budget: &'d PhaseBudget,
    attempts: u32,
    /// Active time since its clock began.
    ms: u64,
    usage: &'d Usage,
}

impl<'d> PhaseUsage<'d> {
    fn of(transaction: &'d Transaction, plan: Ix, phase: &'d PlannedPhase) -> Option<Self> {
        let step = transaction.plan_of(transaction.graph.id(plan))?;
        let first = transaction.graph.id(phase.first());
        let fragment = step.fragments().find(|one| one.first() == Some(first))?;
        let since_ms = fragment.since_ms;
        Some(Self {
            plan,
            phase,
            budget: step.budget.as_ref()?,
            attempts: fragment.attempts,
            usage: &fragment.usage,
            ms: since_ms.map_or(0, |since_ms| transaction.spent_ms().saturating_sub(since_ms)),
        })
    }

    fn holds(&self, transaction: &Transaction, x: Ix) -> bool {
        let mut phases = transaction.graph.phases_above(x);
        phases.any(|(plan, phase, _)| plan == self.plan && phase.first() == self.phase.first())
    }

    /// Its attempts in flight: repairs, or all others.
    fn in_flight<'s>(
        &'s self,
        transaction: &'s Transaction,
        repairs: bool,
    ) -> impl Iterator<Item = &'s Intent> {
        let intents = transaction.state.run.in_flight.iter();
        intents.filter(move |intent| {
            let x = transaction.ix(&intent.atom);
            x.is_some_and(|x| self.holds(transaction, x))
                && transaction.is_repair(&intent.atom, &intent.context) == repairs
        })
    }

    /// The limit that is reached with parts open, and how much was used. `None` while an attempt is under way that must
    /// not be cut off, or while a repair can be made.
    fn over(&self, transaction: &Transaction) -> Option<(PhaseLimit, u64)> {
        let reached = |limit, used| {
            Some((limit, used)).filter(|_| self.budget.of(limit).is_some_and(|most| used >= most))
        };
        let by_time = reached(PhaseLimit::Time, self.ms);
        let by_attempts = || {
            let attempts = u64::from(self.attempts);
            reached(PhaseLimit::Attempts, attempts)
                .filter(|_| self.in_flight(transaction, false).next().is_none())
        };
        let over = by_time.or_else(by_attempts).or_else(|| self.over_by_usage(transaction))?;
        let is_open = self.phase.remaining().iter().any(|part| !transaction.solved()[*part]);
        let must_finish = |intent: &Intent| transaction.must_finish(intent);
        let is_bound = self.in_flight(transaction, false).any(must_finish)
            || self.in_flight(transaction, true).next().is_some();
        let waits = self.awaits_repair(transaction) || self.is_in_doubt(transaction);
        (is_open && !is_bound && !waits).then_some(over)
    }

    /// Its attempts in flight, repairs among them.
    fn all_in_flight<'s>(
        &'s self,
        transaction: &'s Transaction,
    ) -> impl Iterator<Item = &'s Intent> {
        let others = self.in_flight(transaction, false);
        others.chain(self.in_flight(transaction, true))
    }

    /// The first limit of usage that leaves too little for an attempt.
    fn lacking(&self, transaction: &Transaction, x: Ix) -> Option<UsageLimit> {
        if !self.budget.limits_usage() {
            return None;
        }
        let wanted = Reservation::of(transaction, transaction.graph.id(x));
        let claims = usage::claimed(transaction, self.usage, self.all_in_flight(transaction));
        let mut limits = UsageLimit::ALL.into_iter();
        limits.find(|limit| {
            let most = self.budget.of(PhaseLimit::of_usage(*limit));
            most.is_some_and(|most| !wanted.fits(*limit, claims.of(*limit), most))
        })
    }

    /// The limit of usage that is reached, or that leaves too little for each part that is ready. An attempt that
    /// only has to land is awaited, for that costs nothing.
    fn over_by_usage(&self, transaction: &Transaction) -> Option<(PhaseLimit, u64)> {
        if !self.budget.limits_usage() {
            return None;
        }
        let mut in_flight = self.all_in_flight(transaction);
        if in_flight.any(|intent| usage::is_landing(transaction, intent)) {
            return None;
        }
        let sums = Sums::of(transaction, self.usage, self.all_in_flight(transaction));
        let mut limits = UsageLimit::ALL.into_iter();
        let reached = limits.find(|limit| {
            let most = self.budget.of(PhaseLimit::of_usage(*limit));
            most.is_some_and(|most| sums.reach(*limit, most))
        });
        match reached {
            Some(limit) => Some((PhaseLimit::of_usage(limit), sums.all(limit))),
            None => self.stuck(transaction),
        }
    }

    /// The limit of usage that no part can start under, and how much would be used with the next one.
    fn stuck(&self, transaction: &Transaction) -> Option<(PhaseLimit, u64)> {
        if self.all_in_flight(transaction).next().is_some() {
            return None;
        }
        let mut found = None;
        for x in self.ready(transaction) {
            let limit = self.lacking(transaction, x)?;
            let wanted = Reservation::of(transaction, transaction.graph.id(x)).usage;
            let used = self.usage.of(limit).saturating_add(wanted.of(limit).max(1));
            found = found.or(Some((PhaseLimit::of_usage(limit), used)));
        }
        found
    }

    /// Its tasks that could start if no budget limited them.
    fn ready(&self, transaction: &Transaction) -> impl Iterator<Item = Ix> {
        let (graph, active) = (&transaction.graph, &transaction.active);
        let parts = self.phase.remaining();
        let inside = parts.iter().flat_map(|part| graph.subtree(*part));
        let ready = inside.filter(|x| {
            let is_pending = |task: &Task| {
                let tried = active.context(*x).and_then(|context| task.tried(context));
                task.status == AtomStatus::Pending && !tried.is_some_and(Try::has_failed)
            };
            let mut waits_for = graph.waits_for(*x);
            active.is_leaf(graph, *x)
                && transaction.task_of(graph.id(*x)).is_some_and(is_pending)
                && waits_for.all(|dep| transaction.solved()[dep])
        });
        let ready: Vec<Ix> = ready.collect();
        ready.into_iter()
    }

    /// Whether a person must be asked first: a dropped doubt is never asked about again.
    fn is_in_doubt(&self, transaction: &Transaction) -> bool {
        let mut open = transaction.graph.paired(&transaction.state.atoms);
        open.any(|(x, atom)| {
            let is_in_doubt = |task: &Task| matches!(task.status, AtomStatus::InDoubt(_));
            atom.task().is_some_and(is_in_doubt)
                && transaction.active.is_live(x)
                && self.holds(transaction, x)
        })
    }

    /// Whether a repair could be made now. A repair whose prerequisites may not start any more is not awaited.
    fn awaits_repair(&self, transaction: &Transaction) -> bool {
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
