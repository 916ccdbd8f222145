//! The end of an agent's turn, where its protocol tells more than an exit code does.

use alloc::{format, string::String};

use super::{advance, attempt_end, transaction::Transaction, usage};
use crate::{
    event::{AgentEnd, AgentLack, Event, Outcome},
    id::{AttemptId, Epoch},
    state::{FailureClass, Intent},
};

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
    if intent.effect.is_once_only() {
        return attempt_end::lost(transaction, &intent.id);
    }
    match end {
        AgentEnd::Done => {}
        AgentEnd::Refused(words) => failed(transaction, intent, outcome, "it refused", words),
        AgentEnd::OutOfTurns(words) => {
            failed(transaction, intent, outcome, "it was cut short", words);
        }
        AgentEnd::Silent { ms } => {
            let words = format!("it said nothing for {} s", ms / 1000);
            attempt_end::passing(transaction, &intent.id, outcome, words);
        }
        AgentEnd::Protocol(words) => {
            attempt_end::passing(transaction, &intent.id, outcome, words.clone());
        }
        AgentEnd::Limited { .. } => {
            let words = "its provider takes no more for now".into();
            attempt_end::passing(transaction, &intent.id, outcome, words);
        }
        AgentEnd::Unavailable {
            kind,
            words,
            variable,
        } => unavailable(transaction, intent, *kind, words, variable.as_deref()),
    }
}

fn failed(
    transaction: &mut Transaction,
    intent: &Intent,
    outcome: &Outcome,
    what: &str,
    words: &str,
) {
    let reason = match words.is_empty() {
        true => what.into(),
        false => format!("{what}: {words}"),
    };
    let failure = attempt_end::by_outcome(outcome, FailureClass::Logical);
    let failure = super::failure::Failure { reason, ..failure };
    attempt_end::failed(transaction, &intent.id, failure);
}

/// Nothing can be done with this agent until a person does something: the run ends, and the attempt costs nothing.
fn unavailable(
    transaction: &mut Transaction,
    intent: &Intent,
    kind: AgentLack,
    words: &str,
    variable: Option<&str>,
) {
    let name = intent
        .agent
        .as_ref()
        .map_or("the agent", |name| name.as_str());
    let what = match kind {
        AgentLack::Login => "is not logged in",
        AgentLack::Credit => "has no credit left",
        AgentLack::Key => "has no key, or a wrong one",
        AgentLack::Missing => "is not there",
    };
    let withheld = variable.map_or_else(String::new, |variable| {
        format!(" ({variable} is withheld: name it in the agent's `env`)")
    });
    let why = format!("{name} {what}: {words}{withheld}");
    if let Some(landed) = transaction.land(&intent.id) {
        transaction.announce(Event::Interrupted {
            attempt: landed.id,
            atom: landed.atom,
            why: format!("{name} {what}"),
        });
    }
    advance::unavailable(transaction, why);
}
