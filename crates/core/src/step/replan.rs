//! Changes of the plan by planners, where nothing is left to try (contract §9.20). The program picks the place for one
//! more planning step, and the measure admits it. Not here: what the planner makes of it (`planning`).
//!
//! Invariant: a change is one commit. Every result in force keeps its context, and nothing is in flight. Each change that
//! is tried, taken or not, lowers the measure by one attempt.

mod position;

use self::position::{Place, Proposal};
use super::{backtrack::BlockCause, gate, transaction::Transaction};
use crate::doc::prelude::*;
use crate::{
    fragment::delta::{self, AcceptedDelta},
    graph::Ix,
    id::AgentName,
    measure::{
        Measure,
        granted::{self, Room},
    },
    profile,
    search::{self, Facts},
    state::{
        ChangeGrant, EntryKind, atom,
        record::{ReplanEntry, ReplanPlace},
    },
};

/// Grants changes of the plan where a planner is configured, and takes them back where none is. A resume keeps them.
pub(super) fn grant(transaction: &mut Transaction) {
    let state = &transaction.state;
    let changes = changes_plans(transaction)
        && state.objective.constraints.planning.changes() > 0
        && !transaction.graph.is_empty();
    let known = state.run.grant.as_ref();
    let is_in_force = known.is_some_and(ChangeGrant::is_in_force);
    if changes == is_in_force {
        return;
    }
    let grant = if changes {
        Some(granted::anew(&transaction.graph, state))
    } else {
        known.map(ChangeGrant::anew)
    };
    transaction.counts_anew = true;
    transaction.run().grant = grant;
}

fn changes_plans(transaction: &Transaction) -> bool {
    let judging = profile::judging(&transaction.state);
    transaction.session.agents.changes_plans(judging)
}

/// Whether a planner or a refiner may change the plan once more.
pub(super) fn may_change(transaction: &Transaction) -> bool {
    changes_plans(transaction)
        && granted::changes_left(&transaction.state) > 0
        && profile::may_begin_pass(&transaction.state)
}

/// Whether a planner would be asked, but for the passes that are over.
pub(super) fn are_passes_over(transaction: &Transaction) -> bool {
    let state = &transaction.state;
    let has_steps = transaction.graph.plans().next().is_some();
    let may_plan = has_steps || changes_plans(transaction);
    may_plan && profile::are_passes_over(state) && atom::replans_left(state) > 0
}

/// Whether the control law ended planning while changes were left.
pub(super) fn is_given_up(transaction: &Transaction) -> bool {
    transaction.state.has_abandoned() && atom::replans_left(&transaction.state) > 0
}

/// A change of the plan that is tried next.
pub(super) struct NextChange {
    /// None where no place is admitted: the change is used up, and what it was granted is over for the next.
    proposal: Option<Box<Proposal>>,
    grant: ChangeGrant,
    entry: ReplanEntry,
}

/// The change in the first place that is admitted and opens a selection. Perhaps none opens one, because several atoms
/// failed: then one of them is planned anew in its own place, and the others are next. None where no place would open a
/// selection, whatever was admitted.
pub(super) fn next_change(transaction: &Transaction, blocked: &BlockCause) -> Option<NextChange> {
    let may_plan = transaction.session.agents.has_planner && may_change(transaction);
    let room = Room::of(transaction).filter(|_| may_plan)?;
    let failed = failed(transaction, blocked);
    let mut entry = entry_of(transaction, &failed);
    let (mut refused, mut second) = (None, None);
    for place in position::all(transaction, &failed) {
        for proposal in place.proposals(transaction, &entry.reason) {
            match admitted(transaction, &room, &proposal) {
                Ok(Admission { grant, opens_selection: true }) => {
                    let proposal = Some(Box::new(proposal));
                    return Some(NextChange { proposal, grant, entry });
                }
                // Under the id of what failed it is live under the selection in force.
                Ok(Admission { grant, .. })
                    if matches!(place, Place::Atom(_) | Place::Round(_)) =>
                {
                    second = second.or(Some((Box::new(proposal), grant)));
                }
                Ok(_) => {}
                Err(why) => refused = refused.or(Some(why)),
            }
        }
    }
    if let Some((proposal, grant)) = second {
        return Some(NextChange { proposal: Some(proposal), grant, entry });
    }
    // The plan as it is opens less than the room.
    let grant = room.admit(&transaction.state, &Measure::open(transaction)).ok()?;
    entry.refused = refused?;
    Some(NextChange { proposal: None, grant, entry })
}

/// Tries a change: one commit.
pub(super) fn change(transaction: &mut Transaction, change: NextChange) {
    let NextChange { proposal, grant, entry } = change;
    match proposal {
        Some(proposal) => take(transaction, *proposal, grant, entry),
        None => {
            let left = grant.left;
            transaction.run().grant = Some(grant);
            transaction.tell(EntryKind::Replan(ReplanEntry { left, ..entry }));
        }
    }
}

fn entry_of(transaction: &Transaction, failed: &[Ix]) -> ReplanEntry {
    let names = failed.iter().map(|x| transaction.graph.id(*x).clone());
    ReplanEntry {
        reason: match failed.first() {
            None => "the base case does not hold with every step done".to_string(),
            Some(x) => format!("{} failed for good", transaction.graph.id(*x)),
        },
        failed: names.collect(),
        ..ReplanEntry::default()
    }
}

/// Tries a refiner's change: one commit.
///
/// # Errors
/// Why it is not admitted. The change is used up all the same.
pub(super) fn refine(
    transaction: &mut Transaction,
    agent: &AgentName,
    blocked: &BlockCause,
    delta: Result<AcceptedDelta, String>,
) -> Result<(), String> {
    let room = Room::of(transaction).filter(|_| may_change(transaction));
    let Some(room) = room else {
        return Err("no change of the plan is left".to_string());
    };
    let failed = failed(transaction, blocked);
    let mut entry = ReplanEntry {
        place: ReplanPlace::Delta,
        by: Some(agent.clone()),
        ..entry_of(transaction, &failed)
    };
    let admitted = delta.and_then(|delta| {
        let (proposal, grant) = admitted_delta(transaction, &room, &delta)?;
        Ok((delta, proposal, grant))
    });
    match admitted {
        Ok((delta, proposal, grant)) => {
            if !delta.reasoning.is_empty() {
                entry.reason = format!("{}: {}", entry.reason, delta.reasoning);
            }
            entry.removed = delta.removed;
            entry.atoms = delta.added.into_iter().chain(delta.changed).collect();
            let touched = entry.atoms.clone();
            take(transaction, proposal, grant, entry);
            gate::close(transaction, &touched);
            gate::mark_tasks(transaction, delta.marks);
            gate::tell(transaction, &delta.asked);
            Ok(())
        }
        Err(why) => {
            let open = Measure::open(transaction);
            if let Ok(grant) = room.admit(&transaction.state, &open) {
                entry.left = grant.left;
                transaction.run().grant = Some(grant);
            }
            (entry.place, entry.refused) = (ReplanPlace::Nowhere, why.clone());
            transaction.tell(EntryKind::Replan(entry));
            Err(why)
        }
    }
}

/// A delta as a change that is admitted. Its planning steps get the largest grant that is.
fn admitted_delta(
    transaction: &Transaction,
    room: &Room,
    delta: &AcceptedDelta,
) -> Result<(Proposal, ChangeGrant), String> {
    let mut proposals = position::of_delta(transaction, delta).into_iter().peekable();
    let mut refused = match proposals.peek() {
        Some(_) => String::new(),
        None => "planners may add no more atoms".to_string(),
    };
    for proposal in proposals {
        match admitted(transaction, room, &proposal) {
            Ok(admission) if admission.opens_selection => return Ok((proposal, admission.grant)),
            Ok(_) => return Err("with it there is still nothing to try".to_string()),
            Err(why) => refused = why,
        }
    }
    Err(refused)
}

/// A change that fits.
struct Admission {
    /// The grant after it.
    grant: ChangeGrant,
    /// Whether it leaves a selection without a conflict.
    opens_selection: bool,
}

/// The consequences of a change, or why it is refused.
fn admitted(
    transaction: &Transaction,
    room: &Room,
    proposal: &Proposal,
) -> Result<Admission, String> {
    let mut state = transaction.state.clone();
    for (id, atom) in &proposal.atoms {
        state.atoms.insert(id.clone(), Arc::new(atom.clone()));
    }
    for id in &proposal.removed {
        state.atoms.remove(id);
    }
    let facts = Facts::of(state);
    if !keeps_results(&facts, transaction) {
        return Err("it would open what is done".to_string());
    }
    let open = Measure::open(&facts);
    let grant = room.admit(&transaction.state, &open)?;
    let conflicts = search::conflicts(&facts);
    let space = facts.space(&conflicts, false);
    let opens = search::choose(space, &facts.active.selection);
    Ok(Admission { grant, opens_selection: opens.is_some() })
}

/// Whether every result in force has the context that it has.
fn keeps_results(facts: &Facts, before: &Facts) -> bool {
    let mut bound = facts.state.bindings.keys();
    bound.all(|id| {
        let was = before.graph.ix(id).and_then(|x| before.active.context(x));
        let now = facts.graph.ix(id).map(|x| facts.active.context(x));
        // Another round parks the results of the last: they keep their contexts.
        now.is_some_and(|now| was.is_none() || now.is_none() || now == was)
    })
}

fn take(transaction: &mut Transaction, proposal: Proposal, grant: ChangeGrant, entry: ReplanEntry) {
    let left = grant.left;
    transaction.add_atoms(proposal.atoms);
    transaction.remove_atoms(&proposal.removed);
    let run = transaction.run();
    run.grant = Some(grant);
    run.begin_pass();
    transaction.rebuild();
    transaction.recount_refuted();
    let (atom, place) = (proposal.step, proposal.place);
    transaction.tell(EntryKind::Replan(ReplanEntry { atom, place, left, ..entry }));
}

/// The tasks that failed for good: first those that no choice has to do with, each with the newest failure first. Empty
/// where the base case is what failed.
fn failed(transaction: &Transaction, blocked: &BlockCause) -> Vec<Ix> {
    if matches!(blocked, BlockCause::Refuted) {
        return Vec::new();
    }
    let all = transaction.dirty_tasks(true);
    let in_force = all.iter().filter(|(x, task)| transaction.has_failed(*x, task));
    let mut failed: Vec<Ix> = in_force.map(|(x, _)| *x).collect();
    if failed.is_empty() {
        let has_failed = |x: &Ix| {
            let tries = search::tries(&transaction.state, transaction.graph.id(*x));
            let mut gone = tries.iter().filter(|tried| tried.has_failed());
            gone.any(|tried| {
                let known = (*x, tried.context.clone());
                transaction.valid_contexts.contains(&known)
            })
        };
        failed = transaction.graph.tasks().filter(has_failed).collect();
    }
    let newest = |x: &Ix| {
        let id = transaction.graph.id(*x);
        let mut failures = transaction.state.failures();
        failures.position(|(_, failure)| failure.atom == *id)
    };
    let has_choice = |x: &Ix| {
        let (graph, active) = (&transaction.graph, &transaction.active);
        !search::conflict(graph, *x, &active.choices(graph, *x)).is_empty()
    };
    failed.sort_by_key(|x| (has_choice(x), newest(x).unwrap_or(usize::MAX), *x));
    failed
}

/// Whether tasks that are added or changed can open a selection: for what failed for good, outside of a group that may
/// grow, none can.
pub(super) fn may_refine(transaction: &Transaction, blocked: &BlockCause) -> bool {
    let (graph, active) = (&transaction.graph, &transaction.active);
    let failed = failed(transaction, blocked);
    let mut in_force = failed.into_iter().filter(|x| active.is_live(*x));
    in_force.all(|x| {
        let choices = search::conflict(graph, x, &active.choices(graph, x));
        let mut groups = choices.keys().filter_map(|id| graph.ix(id));
        delta::may_change(&transaction.state, graph, x).is_ok()
            || groups.any(|group| delta::may_grow(graph, group))
    })
}
