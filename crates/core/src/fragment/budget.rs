//! The budget of a fragment: what it may use, what it hands on to planning steps inside, and how
//! that is shown.
//!
//! Invariant: the atoms of a fragment, with the grants of steps inside, take no more attempts than
//! its own step was granted. The same holds for the ways to resolve it.

use crate::doc::prelude::*;
use num_bigint::BigUint;

use super::{AcceptedFragment, FragmentRequest};
use crate::state::limits::FRAGMENT_ATOMS_MAX;
use crate::{
    doc::{Fault, Node},
    graph::{Graph, Ix},
    id::AtomId,
    state::{Constraints, Grant, GrantEntry, Intent, PhaseLimit, State, Usage, UsageLimit, usage},
    wording,
};

/// Checks that a fragment fits the grant of its step, and grants the rest to the steps inside it.
pub(super) fn fit(asked: FragmentRequest<'_>, taken: &mut AcceptedFragment) -> Vec<Fault> {
    let Some(grant) = grant_of(asked.state, asked.plan) else { return Vec::new() };
    let is_plan = |id: &&AtomId| taken.atoms.get(*id).is_some_and(|one| one.plan().is_some());
    let inner: Vec<AtomId> = taken.atoms.keys().filter(is_plan).cloned().collect();
    // The most alternatives come first: too many of them leave too few attempts.
    let mut alternatives = grant.alternatives.max(1);
    loop {
        let handed = Grant { atoms: 1, alternatives, rounds: grant.rounds.div_ceil(2) };
        hand_on(taken, &inner, handed);
        match share(asked, taken, &inner, grant) {
            Ok(atoms) => {
                hand_on(taken, &inner, Grant { atoms, ..handed });
                return Vec::new();
            }
            Err(faults) if inner.is_empty() || alternatives == 1 => return faults,
            Err(_) => alternatives /= 2,
        }
    }
}

fn grant_of(state: &State, plan: &AtomId) -> Option<Grant> {
    Some(state.atom(plan)?.plan()?.grant(&state.objective.constraints))
}

fn hand_on(taken: &mut AcceptedFragment, inner: &[AtomId], grant: Grant) {
    for id in inner {
        let plan = taken.atoms.get_mut(id).and_then(|atom| atom.plan_mut());
        if let Some(plan) = plan {
            plan.grant = Some(GrantEntry::of(grant));
        }
    }
}

/// The number of atoms left for each planning step inside, or the fault if there are too few.
fn share(
    asked: FragmentRequest<'_>,
    taken: &AcceptedFragment,
    inner: &[AtomId],
    grant: Grant,
) -> Result<u32, Vec<Fault>> {
    let state = super::with(asked, taken);
    let graph = Graph::of(&state);
    let constraints = &state.objective.constraints;
    let parts = taken.fragment.parts.iter().filter_map(|id| graph.ix(id));
    let ways: BigUint = parts.map(|x| graph.vertex(x).configurations.clone()).product();
    let mut faults = Vec::new();
    if ways > BigUint::from(grant.alternatives) {
        let most = grant.alternatives;
        let message = format!("it can be resolved in {ways} ways, {most} are granted");
        let hint = "offer fewer choices, or fewer planning steps";
        faults.push(Fault::at("budget", "/atoms", message, Some(hint)));
    }
    let of_task = constraints.max_attempts_of_any();
    let granted = BigUint::from(grant.atoms) * of_task;
    let inside = taken.atoms.keys().filter_map(|id| graph.ix(id));
    let used: BigUint = inside.map(|x| attempts(&state, &graph, x, of_task)).sum();
    // One atom for each step inside is counted already.
    if used > granted {
        let message = format!("its atoms take up to {used} attempts, {granted} are granted");
        let hint = if inner.is_empty() {
            "plan fewer tasks, or fewer choices that tasks wait for"
        } else {
            "plan fewer tasks, or write out what a step inside it would plan"
        };
        faults.push(Fault::at("budget", "/atoms", message, Some(hint)));
    }
    if !faults.is_empty() {
        return Err(faults);
    }
    let steps = inner.iter().filter_map(|id| graph.ix(id));
    let each = |x: Ix| &graph.vertex(x).contexts * grant.rounds.div_ceil(2) * of_task;
    let one_more: BigUint = steps.map(each).sum();
    let more = if one_more == BigUint::ZERO { BigUint::ZERO } else { (granted - used) / one_more };
    Ok(u32::try_from(more).unwrap_or(u32::MAX).saturating_add(1).min(grant.atoms))
}

/// Maximum of attempts of an atom of a fragment, over the contexts that it can see.
fn attempts(state: &State, graph: &Graph, x: Ix, of_task: u32) -> BigUint {
    let constraints = &state.objective.constraints;
    let atom = state.atom(graph.id(x));
    let Some(atom) = atom.filter(|atom| atom.task().is_some()) else { return BigUint::ZERO };
    let most = constraints.max_attempts(atom.task().is_some_and(|task| task.spec.action.is_some()));
    let once = match atom.plan() {
        None => BigUint::from(most),
        Some(plan) => {
            let grant = plan.grant(constraints);
            grant.round(most, of_task) * grant.rounds
        }
    };
    &graph.vertex(x).contexts * once
}

/// A limit of a planning step, and what is left of it.
struct LimitLeft {
    left: u64,
    of: u64,
}

impl LimitLeft {
    fn after(of: u64, used: u64) -> Self {
        Self { left: of.saturating_sub(used), of }
    }
}

/// A limit for a fragment of this step, wherever it comes from: its own budget, those of the fragments around it, and
/// that of the run.
fn limits_of<'a>(
    asked: FragmentRequest<'a>,
    limit: PhaseLimit,
) -> impl Iterator<Item = LimitLeft> + 'a {
    let run = &asked.state.run;
    let plan = move |id: &AtomId| asked.state.atoms.get(id)?.plan();
    let inside = move |plan| in_flight(asked, plan);
    let own = plan(asked.plan).and_then(|one| one.budget.as_ref()?.of(limit));
    let around = asked.graph.ix(asked.plan).into_iter().flat_map(|x| asked.graph.phases_above(x));
    let around = around.filter_map(move |(x, phase, _)| {
        let (step, first) = (plan(asked.graph.id(x))?, asked.graph.id(phase.first()));
        let fragment = step.fragments().find(|one| one.first() == Some(first))?;
        let used = match limit.usage() {
            Some(limit) => of_usage(&fragment.usage, inside(x), limit),
            None if limit == PhaseLimit::Attempts => {
                u64::from(fragment.attempts) + inside(x).count() as u64
            }
            None => {
                run.spent.active.ms.saturating_sub(fragment.since_ms.unwrap_or(run.spent.active.ms))
            }
        };
        Some(LimitLeft::after(step.budget.as_ref()?.of(limit)?, used))
    });
    own.map(|of| LimitLeft::after(of, 0)).into_iter().chain(around).chain(of_run(asked, limit))
}

/// The run's limit, without what is reserved for attempts in flight.
fn of_run(asked: FragmentRequest<'_>, limit: PhaseLimit) -> Option<LimitLeft> {
    let (run, constraints) = (&asked.state.run, &asked.state.objective.constraints);
    let (of, used) = match limit.usage() {
        Some(limit) => {
            let used = of_usage(&run.spent.usage, run.in_flight.iter(), limit);
            (wording::for_work(asked.state, limit), used)
        }
        None if limit == PhaseLimit::Attempts => (
            constraints.budget.iterations,
            run.iteration.saturating_add(run.in_flight.len() as u64),
        ),
        None => {
            let budget = constraints.budget.time.as_ref();
            (budget.map(|budget| budget.ms), run.spent.active.ms)
        }
    };
    Some(LimitLeft::after(of?, used))
}

/// The smallest remainder of a limit.
fn left(asked: FragmentRequest<'_>, limit: PhaseLimit) -> Option<u64> {
    limits_of(asked, limit).map(|one| one.left).min()
}

/// The limits of which a fifth is left at most, wherever they come from.
fn little(asked: FragmentRequest<'_>) -> Vec<PhaseLimit> {
    let is_little =
        |limit: &PhaseLimit| limits_of(asked, *limit).any(|one| usage::is_little(one.left, one.of));
    PhaseLimit::WORDS.into_iter().map(|(_, limit)| limit).filter(is_little).collect()
}

/// Attempts in flight inside a planning step, with its own planning attempt.
fn in_flight<'a>(asked: FragmentRequest<'a>, plan: Ix) -> impl Iterator<Item = &'a Intent> {
    let is_inside = move |id: &AtomId| {
        let x = asked.graph.ix(id);
        x.is_some_and(|x| asked.graph.above(x).any(|y| y == plan))
    };
    asked.state.run.in_flight.iter().filter(move |intent| is_inside(&intent.atom))
}

fn of_usage<'i>(
    settled: &Usage,
    in_flight: impl Iterator<Item = &'i Intent>,
    limit: UsageLimit,
) -> u64 {
    let reserved: u64 = in_flight.map(|intent| intent.reserved.of(limit)).sum();
    settled.of(limit).saturating_add(reserved)
}

/// A step inside gets no more than is left to the fragment around it.
pub(super) fn handed(
    asked: FragmentRequest<'_>,
    taken: &AcceptedFragment,
    at: impl Fn(&AtomId) -> String,
) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (id, atom) in &taken.atoms {
        let Some(budget) = atom.plan().and_then(|plan| plan.budget.as_ref()) else { continue };
        let units = [
            (PhaseLimit::Attempts, "attempts"),
            (PhaseLimit::Time, "ms"),
            (PhaseLimit::Calls, "model calls"),
            (PhaseLimit::Tokens, "tokens"),
            (PhaseLimit::Cost, "millionths of a dollar"),
        ];
        for (limit, unit) in units {
            let (Some(wanted), Some(left)) = (budget.of(limit), left(asked, limit)) else {
                continue;
            };
            if wanted > left {
                let message = format!("its budget is {wanted} {unit}, {left} are left");
                let hint = "leave it out: the step has what is left then";
                let at = format!("{}/budget", at(id));
                faults.push(Fault::at("budget", &at, message, Some(hint)));
            }
        }
    }
    faults
}

/// The remaining budget of a planning step, as it is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remaining {
    /// Its numbers, each with its key in `DESCENT_BUDGET` and its words in the prompt.
    pub rows: Vec<(&'static str, u64, &'static str)>,
    /// The limits of which a fifth is left at most.
    pub little: Vec<PhaseLimit>,
}

impl Remaining {
    pub fn of(asked: FragmentRequest<'_>) -> Self {
        let constraints: &Constraints = &asked.state.objective.constraints;
        let grant =
            grant_of(asked.state, asked.plan).unwrap_or_else(|| Grant::of_person(constraints));
        let planned = u32::try_from(asked.graph.planned(asked.state)).unwrap_or(u32::MAX);
        let in_all = constraints.planning.atoms().saturating_sub(planned);
        let live = u32::try_from(super::live_plans(asked)).unwrap_or(u32::MAX);
        let step = asked.state.atom(asked.plan).and_then(|atom| atom.plan());
        let tried = step.and_then(|step| Some(step.task.tried(asked.context)?.rounds));
        let replans = crate::state::atom::replans_left(asked.state);
        let refinements = grant.rounds.saturating_sub(tried.unwrap_or(0)).saturating_sub(1);
        let refinements = refinements.min(u32::try_from(replans).unwrap_or(u32::MAX));
        // The closing atom counts among them.
        let closing = u32::from(super::form::closing_atom(asked).is_some());
        let small = |count: u32| Some(u64::from(count));
        let left = |limit| left(asked, limit);
        let atoms = in_all.min(FRAGMENT_ATOMS_MAX).saturating_sub(closing);
        let tasks = grant.atoms.saturating_sub(closing);
        let phases = constraints.planning.phases().saturating_sub(live);
        let rows = [
            ("atoms", small(atoms), "atoms in the fragment"),
            ("depth", small(super::depth_max(asked)), "how deep it may nest"),
            (
                "tasks_in_contexts",
                small(tasks),
                "tasks, each counted once for every combination of choices that it waits for",
            ),
            (
                "alternatives",
                small(grant.alternatives),
                "ways in which its choices may be combined",
            ),
            ("phases", small(phases), "planning steps inside it"),
            (
                "refinements",
                small(refinements),
                "times that it may be planned again, should it fail",
            ),
            (
                "attempts",
                left(PhaseLimit::Attempts),
                "attempts of all its atoms together; then what is open of it is dropped",
            ),
            (
                "time_ms",
                left(PhaseLimit::Time),
                "milliseconds of active time from when it is planned; then what is open of it is dropped",
            ),
            ("calls", left(PhaseLimit::Calls), "model calls of all its atoms together"),
            (
                "tokens",
                left(PhaseLimit::Tokens),
                "tokens that all its atoms together read and write",
            ),
            (
                "cost_micro_usd",
                left(PhaseLimit::Cost),
                "millionths of a dollar that all its atoms together cost",
            ),
        ];
        let rows = rows.into_iter().filter_map(|(key, count, what)| Some((key, count?, what)));
        Self { rows: rows.collect(), little: little(asked) }
    }

    /// The value of `DESCENT_BUDGET`.
    pub fn text(&self) -> String {
        let rows = self.rows.iter().map(|(key, count, _)| (*key, Node::uint(*count)));
        crate::doc::write_compact(&Node::object(rows.collect()))
    }
}
