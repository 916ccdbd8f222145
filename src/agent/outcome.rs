//! The outcome of an attempt, on disk before anybody acts on it: after a crash the next loop takes
//! it from there.
//!
//! Invariant: a record counts as missing if it is torn, empty, or of another attempt, epoch or
//! context. A synced record is never torn.

use std::path::Path;

use descent_core::{
    event::{
        AgentEnd, Outcome,
        record::{self, OutcomeRecord},
    },
    state::Intent,
    verdict::CommandEnd,
};

use super::{
    AgentError,
    directory::{self, OUTCOME, make_again},
};
use crate::{files, secrets};

const BYTES_MAX: u64 = 8 << 20;

/// The outcome with names in the place of secrets. A plan or an answer that holds one is refused whole.
pub(super) fn without_secrets(mut outcome: Outcome) -> Outcome {
    if let Some(fault) = outcome.stdout.as_deref().and_then(secrets::fault_of) {
        outcome.stdout = Some(String::new());
        outcome.report_fault.get_or_insert(fault);
    }
    let texts = [&mut outcome.last_line, &mut outcome.report_fault];
    let texts = texts.into_iter().flatten();
    let texts = texts.chain(words_of(&mut outcome.agent_end));
    let texts = texts.chain(match &mut outcome.how {
        CommandEnd::NotRun(why) => Some(why),
        CommandEnd::Exit(_) | CommandEnd::Signal(_) | CommandEnd::TimedOut => None,
    });
    texts.chain([&mut outcome.excerpt]).for_each(secrets::hide_in);
    outcome
}

fn words_of(end: &mut Option<AgentEnd>) -> Option<&mut String> {
    match end.as_mut()? {
        AgentEnd::Refused(words)
        | AgentEnd::OutOfTurns(words)
        | AgentEnd::CutShort(words)
        | AgentEnd::Protocol(words)
        | AgentEnd::Down(words)
        | AgentEnd::TooLong(words)
        | AgentEnd::Unavailable { words, .. } => Some(words),
        AgentEnd::Done | AgentEnd::Silent { .. } | AgentEnd::Limited { .. } => None,
    }
}

/// Records an outcome in the attempt's own directory. If the loop is killed afterwards, the next
/// one finds it. If repeating the attempt would cost something, the record is durable when this
/// returns.
pub fn record(
    dir: &Path,
    intent: &Intent,
    outcome: &Outcome,
    is_paid: bool,
) -> Result<(), AgentError> {
    let outcome = outcome.clone();
    let record = OutcomeRecord { intent, outcome };
    let text = record.text();
    let path = dir.join(OUTCOME);
    let written = make_again(dir).and_then(|_| match record.outlasts_power(is_paid) {
        true => directory::write_durably(&path, text.as_bytes()),
        // After a kill the kernel has the whole record or a part, and a part is void. So no temporary name is needed.
        false => files::write_over(&path, text.as_bytes()),
    });
    // From here on the outcome counts, and another attempt under this number asks anew.
    let written = written.and_then(|()| super::model::kept::forget(dir));
    written.map_err(|source| AgentError::Unwritable { path: dir.to_owned(), source })
}

/// The outcome of the attempt with this very intent, if it was recorded whole.
pub fn finished(attempts: &Path, intent: &Intent) -> Option<Outcome> {
    let bytes = directory::read(attempts, intent, OUTCOME, BYTES_MAX)?;
    match record::read(intent, &bytes) {
        Ok(outcome) => Some(outcome),
        Err(void) => {
            tracing::info!(attempt = %intent.id, %void, "the record of an attempt is void");
            None
        }
    }
}
