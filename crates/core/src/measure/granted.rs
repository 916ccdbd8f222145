//! The grants of changes of the plan that planners may still make (contract §9.20), and how a change is admitted.
//! The changes that rests make.
//!
//! Invariant: a change that is tried, taken or not, lowers the measure by exactly one attempt; so the bound that was told
//! holds whatever planners do.

use crate::doc::prelude::*;
use num_bigint::BigUint;

use super::{ChangesBound, Measure, attempts_max, attempts_of_any, may_turn, probes_max};
use crate::{
    graph::{Graph, Ix},
    search::Facts,
    state::{ChangeGrant, DecimalText, State, Task, atom, limits::FRAGMENT_ATOMS_MAX},
};

/// Verdicts that each change is granted at least.
const VERDICTS_MIN: u32 = 1_024;

/// The grants of all changes that are left, and what is over.
pub fn of(state: &State) -> Measure {
    in_force(state).map_or_else(Measure::default, |grant| all_changes(grant) + over(grant))
}

/// How many changes planners may still make.
pub fn changes_left(state: &State) -> u32 {
    in_force(state).map_or(0, |grant| grant.left)
}

/// The grant by a plan in which nothing was tried. Each change gets twice what the largest fragment takes, and no
/// less than the whole plan: an alternative more in an early group opens many contexts.
pub fn anew(graph: &Graph, state: &State) -> ChangeGrant {
    let constraints = &state.objective.constraints;
    let fragment = BigUint::from(FRAGMENT_ATOMS_MAX) * attempts_of_any(state) * 2_u32;
    let untried = untried(graph, state);
    let tried = state.run.grant.as_ref().map_or(0, |grant| grant.tried);
    let used = atom::replans(state).saturating_add(u64::from(tried));
    let left = u64::from(constraints.planning.changes()).saturating_sub(used);
    let extra = state.run.grant.as_ref().map(|grant| grant.extra.clone());
    ChangeGrant {
        attempts: Some(text(&fragment.max(untried.attempts))),
        verdicts: Some(text(&untried.verdicts.max(VERDICTS_MIN.into()))),
        over: None,
        left: u32::try_from(left).unwrap_or(u32::MAX),
        tried,
        extra: extra.unwrap_or_default(),
    }
}

/// The measure of the plan with nothing tried; atoms of fragments count by the grant of their step.
fn untried(graph: &Graph, state: &State) -> Measure {
    let attempts = |x: Ix| {
        let atom = state.atom(graph.id(x)).filter(|_| graph.planned_by(x).is_none());
        let Some((atom, task)) = atom.and_then(|atom| Some((atom, atom.task()?))) else {
            return BigUint::ZERO;
        };
        let most = attempts_max(state, task);
        let constraints = &state.objective.constraints;
        let each = match atom.plan().map(|plan| plan.grant(constraints)) {
            Some(grant) => grant.round(most, attempts_of_any(state)) * grant.rounds,
            None => BigUint::from(most + probes_max(graph, state, x)),
        };
        &graph.vertex(x).contexts * each
    };
    Measure { attempts: graph.tasks().map(attempts).sum(), verdicts: graph.selections().clone() }
}

/// The most that a changed plan may open: what is open now, one grant, and what is over, less one attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Room(Measure);

impl Room {
    /// `None` where no change is left.
    pub fn of(seen: &Facts) -> Option<Self> {
        let grant = in_force(&seen.state).filter(|grant| grant.left > 0)?;
        let room = Measure::open(seen) + each(grant) + over(grant);
        Some(Self(Measure { attempts: room.attempts - 1_u32, ..room }))
    }

    /// The grant after a change to a plan that opens so much; else the component that is over, what it would open, and
    /// what is left.
    pub fn admit(&self, state: &State, open: &Measure) -> Result<ChangeGrant, String> {
        let Self(room) = self;
        for (what, opens, left) in [
            ("attempts", &open.attempts, &room.attempts),
            ("verdicts", &open.verdicts, &room.verdicts),
        ] {
            if opens > left {
                return Err(format!("it would open {opens} {what}, {left} are left to a change"));
            }
        }
        let grant = state.run.grant.clone().unwrap_or_default();
        let left = grant.left.saturating_sub(1);
        let over = Measure {
            attempts: &room.attempts - &open.attempts,
            verdicts: &room.verdicts - &open.verdicts,
        };
        Ok(ChangeGrant {
            over: (left > 0).then(|| over.record()),
            left,
            tried: grant.tried.saturating_add(1),
            ..grant
        })
    }
}

/// The grant after a step was planned again: its own is over for later changes.
pub fn after_round(state: &State) -> Option<ChangeGrant> {
    let grant = in_force(state)?;
    let left = grant.left.saturating_sub(1);
    let over = (left > 0).then(|| (each(grant) + over(grant)).record());
    Some(ChangeGrant { over, left, ..grant.clone() })
}

/// Tasks and planning steps that changes may still add.
pub(super) fn tasks_left(graph: &Graph, state: &State) -> u64 {
    let changes = changes_left(state);
    if changes == 0 {
        return 0;
    }
    let most = u64::from(state.objective.constraints.planning.atoms());
    most.saturating_sub(graph.planned(state)) + u64::from(changes)
}

pub(super) fn bound(state: &State) -> Option<ChangesBound> {
    let grant = in_force(state).filter(|grant| grant.left > 0)?;
    Some(ChangesBound { left: grant.left, attempts_each: each(grant).attempts })
}

/// Attempts and verdicts of a whole measure without the grants of changes that are left.
pub(super) fn without_changes(state: &State, measure: &Measure) -> Measure {
    let granted = in_force(state).map_or_else(Measure::default, all_changes);
    Measure {
        attempts: &measure.attempts - granted.attempts,
        verdicts: &measure.verdicts - granted.verdicts,
    }
}

fn in_force(state: &State) -> Option<&ChangeGrant> {
    state.run.grant.as_ref().filter(|grant| grant.is_in_force())
}

/// The grants of all changes that are left.
fn all_changes(grant: &ChangeGrant) -> Measure {
    let each = each(grant);
    Measure { attempts: each.attempts * grant.left, verdicts: each.verdicts * grant.left }
}

fn each(grant: &ChangeGrant) -> Measure {
    Measure { attempts: number(&grant.attempts), verdicts: number(&grant.verdicts) }
}

fn over(grant: &ChangeGrant) -> Measure {
    grant.over.as_ref().map_or_else(Measure::default, |over| Measure {
        attempts: number(&over.attempts),
        verdicts: number(&over.verdicts),
    })
}

fn number(count: &Option<DecimalText>) -> BigUint {
    count.as_ref().and_then(|count| count.as_str().parse().ok()).unwrap_or_default()
}

pub(super) fn text(count: &BigUint) -> DecimalText {
    format!("{count}").into()
}

// The changes of the choices that rests make (contract §9.34).

/// The changes of the choices that are still to come for rests.
pub(super) fn turns_left(seen: &Facts, measure: &Measure) -> BigUint {
    let after = after(seen).filter(|_| may_turn(seen));
    let resting = BigUint::from(counted(seen, |task| {
        task.tries.iter().filter(|tried| tried.is_resting()).count() as u64
    }));
    let Some(after) = after else { return resting };
    let made = counted(seen, |task| {
        let open = task.tries.iter().filter(|tried| tried.ended.is_none() && tried.rest.is_none());
        open.map(|tried| u64::from(tried.attempts)).sum()
    });
    (&measure.attempts + made) / after * 2_u32 + resting
}

/// The fewest failures after which anything may rest, known or still to be planned.
fn after(seen: &Facts) -> Option<u32> {
    let (graph, state) = (&seen.graph, &seen.state);
    let may_come = graph.plans().next().is_some() || changes_left(state) > 0;
    let unknown = [true, false].into_iter().filter(|_| may_come);
    let unknown = unknown.filter_map(|is_action| rests_after(state, is_action));
    let tasks = graph.tasks().filter_map(|x| seen.task(x));
    let known = tasks.filter(|task| task.spec.effect.is_in_tree());
    known.filter_map(|task| rests_after(state, task.spec.action.is_some())).chain(unknown).min()
}

/// The failures after which a task rests. An action whose only attempt left is a cold one rests too.
fn rests_after(state: &State, is_action: bool) -> Option<u32> {
    let constraints = &state.objective.constraints;
    let waits_for_cold = state.run.cold_tries && is_action && constraints.rest != Some(false);
    let before_cold = waits_for_cold.then(|| constraints.max_attempts(is_action));
    before_cold.into_iter().chain(constraints.rests_after(is_action)).min()
}

fn counted(seen: &Facts, count: impl Fn(&Task) -> u64) -> u64 {
    seen.graph.tasks().filter_map(|x| seen.task(x)).map(count).sum()
}
