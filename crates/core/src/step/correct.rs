//! The correcting turn (contract §9.37): an agent whose work does not hold is told why, and goes on in its session, before its
//! attempt is over.
//!
//! Invariant: a turn is durable before it begins, and an attempt has `corrections` of them at most. So the number of
//! attempts stays, and the measure with it. A result outside of the tree is never made twice.

use super::{failure::Failure, transaction::Transaction, usage};
use crate::{
    event::{Event, Merge},
    state::{CorrectingTurn, EntryKind, FailureClass, Intent, Role, record::TurnEntry},
};

/// Whether the agent of an attempt whose checks do not hold may correct its work.
pub(super) fn may_go_on(transaction: &Transaction, intent: &Intent, failure: &Failure) -> bool {
    let constraints = &transaction.state.objective.constraints;
    let Some(task) = transaction.task_of(&intent.atom) else { return false };
    let own_ms = task.spec.timeout.as_ref().map(|length| length.ms);
    let most_ms = own_ms.unwrap_or_else(|| constraints.attempt_timeout_ms());
    failure.class == FailureClass::Logical
        && failure.outcome.goes_on
        && intent.role == Role::Worker
        && !intent.effect.is_once_only()
        && intent.turn_n() < constraints.corrections()
        && failure.outcome.duration_ms < most_ms
        && usage::reached(transaction).is_none()
}

/// Gives the attempt back to its agent, with the failure that it is told.
pub(super) fn begin_turn(
    transaction: &mut Transaction,
    intent: &Intent,
    failure: Failure,
    merge: &Merge,
) {
    let of = transaction.state.objective.constraints.corrections();
    let n = intent.turn_n() + 1;
    let onto = transaction.landing_context().landing(intent).flatten();
    let is_moved = onto.is_some() && onto != intent.base;
    let outcome = failure.outcome;
    let (attempt, atom, reason) = (intent.id.clone(), intent.atom.clone(), failure.reason.clone());
    transaction.announce(Event::Correcting {
        attempt: attempt.clone(),
        atom: atom.clone(),
        ms: Some(outcome.duration_ms),
        turn: n,
        of,
        reason: reason.clone(),
    });
    transaction.record(EntryKind::Turn(TurnEntry { atom, attempt, turn: n, of, reason }));
    let turn = CorrectingTurn {
        n,
        reason: failure.reason,
        output: outcome.excerpt,
        whole: outcome.whole,
        ms: outcome.duration_ms,
        usage: outcome.usage,
        tried: outcome.tried,
        candidate: match merge {
            Merge::Clean { commit, .. } if is_moved => Some(commit.clone()),
            _ => None,
        },
        ..CorrectingTurn::default()
    };
    transaction.session.progress.remove(&intent.id);
    transaction.session.checks_wait_until_ms.remove(&intent.id);
    let in_flight = &mut transaction.run().in_flight;
    if let Some(own) = in_flight.iter_mut().find(|one| one.id == intent.id) {
        own.base = onto.or_else(|| own.base.take());
        own.turn = Some(turn);
    }
}
