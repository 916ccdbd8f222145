//! The end of an agent's turn, where its protocol tells more than an exit code does.
//!
//! Invariant: a provider's limit, one that is down, and an agent that cannot be used, cost no attempt.

use alloc::{format, string::ToString};

use super::{
    attempt_end,
    provider_wait::{self, ProviderWait, WAITS_MAX},
    transaction::Transaction,
    usage,
};
use crate::{
    event::{AgentEnd, AgentLack, Event, Outcome},
    id::{AttemptId, Epoch, UnixMillis},
    state::{AgentWait, FailureClass, Intent},
    world::Unavailable,
};

/// Takes the end of an attempt. Anything but an agent that is done, or a command, is judged here.
pub(super) fn ended(transaction: &mut Transaction, id: &AttemptId, epoch: Epoch, outcome: Outcome) {
    transaction.session.arrived.remove(id);
    let intent = transaction.in_flight(id);
    let intent = intent.filter(|intent| intent.epoch == epoch).cloned();
    let end = outcome.agent_end.clone();
    if let Some(intent) = intent
        .as_ref()
        .filter(|_| !matches!(end, Some(AgentEnd::Down(_))))
    {
        transaction.session.outages.remove(&intent.payer());
    }
    match (intent, end.filter(|end| *end != AgentEnd::Done)) {
        (Some(intent), Some(end)) => {
            usage::ended(transaction, id, &outcome);
            judge(transaction, &intent, &outcome, &end);
        }
        _ => attempt_end::ended(transaction, id, epoch, outcome),
    }
}

fn judge(transaction: &mut Transaction, intent: &Intent, outcome: &Outcome, end: &AgentEnd) {
    let id = &intent.id;
    // Nobody knows whether its effect outside happened.
    if intent.effect.is_once_only() {
        let failure = attempt_end::by_outcome(outcome, FailureClass::Environmental);
        return attempt_end::refused(transaction, id, failure);
    }
    match end {
        AgentEnd::Done => {}
        AgentEnd::Refused(_) | AgentEnd::OutOfTurns(_) | AgentEnd::CutShort(_) => {
            if let Some(doubt) = outcome.doubt() {
                attempt_end::doubted(transaction, intent, outcome.clone(), &doubt);
            }
        }
        AgentEnd::Silent { .. } | AgentEnd::Protocol(_) => {
            attempt_end::passing(transaction, id, outcome);
        }
        AgentEnd::Limited { until } => {
            if !wait(transaction, intent, *until) {
                attempt_end::passing(transaction, id, outcome);
            }
        }
        AgentEnd::TooLong(_) => {
            let has_worked = outcome.usage.calls > 0 || !outcome.changed.is_empty();
            let class = match has_worked {
                true => FailureClass::Logical,
                false => FailureClass::Environmental,
            };
            let failure = attempt_end::by_outcome(outcome, class);
            // A prompt that does not fit at its beginning never does.
            attempt_end::fail(transaction, id, failure, !has_worked);
        }
        AgentEnd::Down(words) => {
            match provider_wait::of_outage(transaction, &intent.payer(), &outcome.usage) {
                Ok(wait) => land_to_wait(transaction, intent, wait, &end.text()),
                Err(waited) => {
                    let (down, words) = (AgentLack::Down, format!("{waited}: {words}"));
                    let cause = Unavailable::lack(&intent.payer(), down, &words, None);
                    unavailable(transaction, id, cause);
                }
            }
        }
        AgentEnd::Unavailable {
            kind,
            words,
            variable,
        } => {
            let agent = intent.payer();
            let cause = Unavailable::lack(&agent, *kind, words, variable.as_deref());
            unavailable(transaction, id, cause);
        }
    }
}

fn unavailable(transaction: &mut Transaction, id: &AttemptId, cause: Unavailable) {
    attempt_end::cut_off(transaction, id, &cause.why);
    transaction.session.unavailable = Some(cause);
}

/// Lets the atom wait until the provider takes more. False if it waited too often: then the end is a transient failure.
fn wait(transaction: &mut Transaction, intent: &Intent, told: Option<UnixMillis>) -> bool {
    let Some(tried) = transaction.tried(&intent.atom, &intent.context, &intent.choices) else {
        return true;
    };
    if tried.limited >= WAITS_MAX {
        return false;
    }
    tried.limited += 1;
    let n = tried.limited;
    let ms = provider_wait::of_limit_ms(transaction.now(), told, n);
    land_to_wait(transaction, intent, ProviderWait { ms, n }, "");
    true
}

fn land_to_wait(transaction: &mut Transaction, intent: &Intent, wait: ProviderWait, because: &str) {
    let agent = intent.payer();
    transaction.land(&intent.id);
    let of_atom = AgentWait {
        atom: Some(intent.atom.clone()),
        ..provider_wait::new(&agent, because)
    };
    let until = provider_wait::begin(transaction, of_atom, wait.ms);
    transaction.announce(Event::Limited {
        attempt: intent.id.clone(),
        atom: intent.atom.clone(),
        agent,
        until,
        wait: wait.n,
        of: WAITS_MAX,
        reason: because.to_string(),
    });
}
