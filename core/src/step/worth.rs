//! Whether another choice is worth trying beside the selected one, by the estimates of probes.
//!
//! Invariant: it decides about starts alone. A running attempt goes on, and a result is taken whatever it was estimated at. Not
//! here: the order of choices (`search`).

use alloc::vec::Vec;

use super::{transaction::Transaction, usage};
use crate::{
    graph::Ix,
    search,
    state::{Try, UsageLimit, atom::ProbeRecord},
    world::speculation::Speculation,
};

/// A choice costs at most so many times what the selected one does. Then it is a third cheaper than both in a row at
/// least, which is what the group costs when the selected one fails.
const TIMES_MAX: u64 = 2;

/// The cost of a choice as its probe estimated it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Estimate {
    attempts: Option<u64>,
    ms: Option<u64>,
    micros: Option<u64>,
}

impl Estimate {
    fn of(probe: &ProbeRecord) -> Option<Self> {
        let found = Self {
            attempts: probe.attempts.map(u64::from),
            ms: probe.time.as_ref().map(|time| time.ms),
            micros: probe.cost_usd.map(|cost| cost.0),
        };
        (found != Self::default()).then_some(found)
    }

    fn parts(self) -> [Option<u64>; 3] {
        [self.attempts, self.ms, self.micros]
    }

    /// Whether no part that both tell is larger than it may be.
    fn is_near(self, selected: Self) -> bool {
        let pairs = self.parts().into_iter().zip(selected.parts());
        let mut known = pairs.filter_map(|(own, other)| Some((own?, other?)));
        known.all(|(own, other)| own <= other.saturating_mul(TIMES_MAX))
    }
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
        (Some(choice), Some(selected)) => choice.is_near(selected),
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
    let estimate = |kid| {
        let probe = newest_try(transaction, kid)?.probe.as_ref()?;
        Some((kid, Estimate::of(probe)?))
    };
    kids.filter(is_left).map(estimate).collect()
}

/// Whether all of them together stay within the rest of each limit. They run side by side, so the longest counts.
fn fit(transaction: &Transaction, estimates: &[(Ix, Estimate)]) -> bool {
    let run = &transaction.state.run;
    let constraints = &transaction.state.objective.constraints;
    let parts =
        |part: fn(&Estimate) -> Option<u64>| estimates.iter().filter_map(move |(_, one)| part(one));
    let within = |wanted: u64, used: u64, most: Option<u64>| {
        most.is_none_or(|most| used.saturating_add(wanted) <= most)
    };
    let claimed = usage::claimed(transaction, &run.spent.usage, run.in_flight.iter());
    let time_budget = constraints.budget.time.as_ref().map(|budget| budget.ms);
    within(
        parts(|one| one.attempts).fold(0, u64::saturating_add),
        run.iteration,
        constraints.budget.iterations,
    ) && within(parts(|one| one.ms).max().unwrap_or_default(), transaction.spent_ms(), time_budget)
        && within(
            parts(|one| one.micros).fold(0, u64::saturating_add),
            claimed.of(UsageLimit::Cost),
            constraints.usage(UsageLimit::Cost),
        )
}
