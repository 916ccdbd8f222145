//! The end of an agent's turn, where its protocol tells more than an exit code does.
//!
//! Invariant: a provider's limit, one that is down, and an agent that cannot be used, cost no attempt.

use super::{
    attempt_end,
    provider_wait::{self, WAITS_MAX},
    transaction::Transaction,
    usage,
};
use crate::{
    event::{AgentEnd, Event, Outcome},
    id::{AttemptId, Epoch},
    state::{FailureClass, Intent, record::TRIED_MAX},
    world::Unavailable,
};

/// Takes the end of an attempt. Anything but an agent that is done, or a command, is judged here.
pub(super) fn ended(transaction: &mut Transaction, id: &AttemptId, epoch: Epoch, outcome: Outcome) {
    transaction.session.arrived.remove(id);
    let intent = transaction.in_flight(id);
    let Some(intent) = intent.filter(|intent| intent.epoch == epoch).cloned() else {
        transaction.announce(Event::Discarded { attempt: id.clone() });
        return;
    };
    let end = outcome.agent_end.clone();
    if !end.as_ref().is_some_and(AgentEnd::is_of_provider) {
        provider_wait::answered(transaction, &intent.payer());
    }
    usage::ended(transaction, id, &outcome);
    let outcome = with_earlier_turns(&intent, outcome);
    match end.filter(|end| *end != AgentEnd::Done) {
        Some(end) => judge(transaction, &intent, &outcome, &end),
        None if outcome.is_success() => attempt_end::finished(transaction, &intent, outcome),
        None => attempt_end::by_exit(transaction, &intent, &outcome),
    }
}

/// Adds the tools that earlier turns of the attempt called.
fn with_earlier_turns(intent: &Intent, mut outcome: Outcome) -> Outcome {
    let earlier = intent.turn.iter().flat_map(|turn| turn.tried.iter().cloned());
    outcome.tried.splice(0..0, earlier);
    let old = outcome.tried.len().saturating_sub(TRIED_MAX);
    outcome.tried.drain(..old);
    outcome
}

fn judge(transaction: &mut Transaction, intent: &Intent, outcome: &Outcome, end: &AgentEnd) {
    // Nobody knows whether its effect outside happened.
    if intent.effect.is_once_only() {
        let failure = attempt_end::by_outcome(outcome, FailureClass::Environmental);
        return attempt_end::refused(transaction, intent, failure);
    }
    match end {
        AgentEnd::Done => {}
        AgentEnd::Refused(_) | AgentEnd::OutOfTurns(_) | AgentEnd::CutShort(_) => {
            if let Some(doubt) = outcome.doubt() {
                attempt_end::doubted(transaction, intent, outcome.clone(), &doubt);
            }
        }
        AgentEnd::Silent { .. } | AgentEnd::Protocol(_) => {
            attempt_end::passing(transaction, intent, outcome);
        }
        AgentEnd::TooLong(_) => {
            let has_worked = outcome.usage.calls > 0 || !outcome.changed.is_empty();
            let class =
                if has_worked { FailureClass::Logical } else { FailureClass::Environmental };
            let failure = attempt_end::by_outcome(outcome, class);
            // A prompt that does not fit at its beginning never does.
            attempt_end::fail(transaction, intent, failure, !has_worked);
        }
        AgentEnd::Limited { .. } | AgentEnd::Down(_) => wait(transaction, intent, outcome, end),
        AgentEnd::Unavailable { kind, words, variable } => {
            let agent = intent.payer();
            let cause = Unavailable::lack(&agent, *kind, words, variable.as_deref());
            attempt_end::cut_off(transaction, intent, &cause.why);
            transaction.session.unavailable = Some(cause);
        }
    }
}

/// Lets the atom wait for its provider.
fn wait(transaction: &mut Transaction, intent: &Intent, outcome: &Outcome, end: &AgentEnd) {
    let (agent, atom) = (intent.payer(), Some(intent.atom.clone()));
    let begun = provider_wait::begin(transaction, agent, atom, None, end, &outcome.usage);
    let (wait, n) = match begun {
        Ok(begun) => begun,
        Err(end) => return judge(transaction, intent, outcome, &end),
    };
    transaction.land(&intent.id);
    transaction.announce(Event::Limited {
        attempt: intent.id.clone(),
        atom: intent.atom.clone(),
        agent: wait.agent,
        until: wait.until,
        wait: n,
        of: WAITS_MAX,
        reason: wait.because,
    });
}
