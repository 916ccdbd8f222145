//! The end of an agent's turn, where its protocol tells more than an exit code does.
//!
//! Invariant: a provider's limit, and an agent that cannot be used, cost no attempt.

use super::{attempt_end, transaction::Transaction, unusable, usage};
use crate::{
    event::{AgentEnd, Event, Outcome},
    id::{AttemptId, Epoch, UnixMillis},
    state::{AgentWait, FailureClass, Intent},
};

/// Waits at most in one attempt.
const WAITS_MAX: u32 = 24;
/// A wait whose end is not told.
const WAIT_MS: u64 = 300_000;
const WAIT_MIN_MS: u64 = 1_000;
const WAIT_MAX_MS: u64 = 86_400_000;

/// Takes the end of an attempt. Anything but an agent that is done, or a command, is judged here.
pub(super) fn ended(transaction: &mut Transaction, id: &AttemptId, epoch: Epoch, outcome: Outcome) {
    let intent = transaction.in_flight(id);
    let intent = intent.filter(|intent| intent.epoch == epoch).cloned();
    let end = outcome.agent_end.clone();
    match (intent, end.filter(|end| *end != AgentEnd::Done)) {
        (Some(intent), Some(end)) => {
            usage::ended(transaction, id, &outcome.usage);
            judge(transaction, &intent, &outcome, &end);
        }
        _ => attempt_end::ended(transaction, id, epoch, outcome),
    }
}

fn judge(transaction: &mut Transaction, intent: &Intent, outcome: &Outcome, end: &AgentEnd) {
    let id = &intent.id;
    // Nobody knows whether its effect outside happened.
    if intent.effect.is_once_only() {
        return attempt_end::lost(transaction, id);
    }
    match end {
        AgentEnd::Done => {}
        AgentEnd::Refused(_) | AgentEnd::OutOfTurns(_) => {
            let failure = attempt_end::by_outcome(outcome, FailureClass::Logical);
            attempt_end::failed(transaction, id, failure);
        }
        AgentEnd::Silent { .. } | AgentEnd::Protocol(_) => {
            attempt_end::passing(transaction, id, outcome);
        }
        AgentEnd::Limited { until } => {
            if !wait(transaction, intent, *until) {
                attempt_end::passing(transaction, id, outcome);
            }
        }
        AgentEnd::Unavailable {
            kind,
            words,
            variable,
        } => {
            let why = unusable::lack(intent, *kind, words, variable.as_deref());
            attempt_end::cut_off(transaction, id, &why);
            transaction.session.unavailable = Some(why);
        }
    }
}

/// Lets the atom wait until the provider takes more. False if it waited too often: then the end is a transient failure.
fn wait(transaction: &mut Transaction, intent: &Intent, until: Option<UnixMillis>) -> bool {
    let Some(tried) = transaction.tried(&intent.atom, &intent.context, &intent.choices) else {
        return true;
    };
    if tried.limited >= WAITS_MAX {
        return false;
    }
    tried.limited += 1;
    let wait = tried.limited;
    let now = transaction.now();
    let wait_ms = until.map_or(WAIT_MS, |until| until.0.saturating_sub(now.0));
    let wait_ms = wait_ms.clamp(WAIT_MIN_MS, WAIT_MAX_MS);
    let agent = intent.payer();
    let until = UnixMillis(now.0.saturating_add(wait_ms)).rfc3339();
    transaction.land(&intent.id);
    let until_ms = transaction.active_in(wait_ms);
    let waits = &mut transaction.session.agents_wait_until_ms;
    waits.insert(agent.clone(), until_ms);
    let atom = intent.atom.clone();
    transaction.run().waits.push(AgentWait {
        agent: agent.clone(),
        atom: atom.clone(),
        until: until.clone(),
        extra: Default::default(),
    });
    transaction.announce(Event::Limited {
        attempt: intent.id.clone(),
        atom,
        agent,
        until,
        wait,
        of: WAITS_MAX,
    });
    true
}
