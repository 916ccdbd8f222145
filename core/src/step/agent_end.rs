//! The end of an agent's turn, where its protocol tells more than an exit code does.
//!
//! Invariant: a provider's limit, and an agent that cannot be used, cost no attempt.

use alloc::string::String;

use super::{attempt_end, transaction::Transaction, usage};
use crate::{
    event::{AgentEnd, Event, Outcome},
    id::{AgentName, AtomId, AttemptId, Epoch, UnixMillis},
    state::{AgentWait, FailureClass, Intent},
    world::Unavailable,
};

/// Waits at most in one attempt.
pub(super) const WAITS_MAX: u32 = 24;
/// The first wait of an attempt whose end is not told; each further one is twice as long.
const UNTOLD_MS: u64 = 300_000;
const UNTOLD_MAX_MS: u64 = 3_600_000;
/// The first wait for an end that has passed; each further one of the attempt is at least twice as long.
const PASSED_MS: u64 = 1_000;
const PASSED_MAX_MS: u64 = 300_000;
const WAIT_MAX_MS: u64 = 86_400_000;

/// Takes the end of an attempt. Anything but an agent that is done, or a command, is judged here.
pub(super) fn ended(transaction: &mut Transaction, id: &AttemptId, epoch: Epoch, outcome: Outcome) {
    transaction.session.arrived.remove(id);
    let intent = transaction.in_flight(id);
    let intent = intent.filter(|intent| intent.epoch == epoch).cloned();
    let end = outcome.agent_end.clone();
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
        AgentEnd::Unavailable {
            kind,
            words,
            variable,
        } => {
            let agent = intent.payer();
            let cause = Unavailable::lack(&agent, *kind, words, variable.as_deref());
            attempt_end::cut_off(transaction, id, &cause.why);
            transaction.session.unavailable = Some(cause);
        }
    }
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
    let wait = tried.limited;
    let wait_ms = wait_ms(transaction.now(), told, wait);
    let agent = intent.payer();
    transaction.land(&intent.id);
    let until = wait_for(transaction, &intent.atom, &agent, wait_ms);
    transaction.announce(Event::Limited {
        attempt: intent.id.clone(),
        atom: intent.atom.clone(),
        agent,
        until,
        wait,
        of: WAITS_MAX,
    });
    true
}

/// The length of a wait. An agent that tells no time, or keeps telling a time in the past, is asked less and less often.
pub(super) fn wait_ms(now: UnixMillis, told: Option<UnixMillis>, wait: u32) -> u64 {
    let doubled = |first: u64| first << wait.saturating_sub(1).min(16);
    match told {
        None => doubled(UNTOLD_MS).min(UNTOLD_MAX_MS),
        Some(until) => {
            let least = doubled(PASSED_MS).min(PASSED_MAX_MS);
            let left = until.0.saturating_sub(now.0);
            left.clamp(least, WAIT_MAX_MS)
        }
    }
}

/// Notes the wait of an agent. Its latest end holds for all of its atoms, and is given.
fn wait_for(transaction: &mut Transaction, atom: &AtomId, agent: &AgentName, ms: u64) -> String {
    let until_ms = transaction.active_in(ms);
    let ends = &mut transaction.session.agents_wait_until_ms;
    let before = ends.get(agent).copied().unwrap_or(0);
    let is_latest = until_ms >= before;
    ends.insert(agent.clone(), until_ms.max(before));
    let told = UnixMillis(transaction.now().0.saturating_add(ms)).rfc3339();
    let waits = &mut transaction.run().waits;
    let mut of_agent = waits.iter_mut().filter(|wait| wait.agent == *agent);
    let until = match is_latest {
        true => {
            of_agent.for_each(|wait| wait.until.clone_from(&told));
            told
        }
        false => of_agent.next().map_or(told, |wait| wait.until.clone()),
    };
    waits.push(AgentWait {
        agent: agent.clone(),
        atom: Some(atom.clone()),
        role: None,
        until: until.clone(),
        extra: Default::default(),
    });
    until
}
