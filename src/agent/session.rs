//! The session of an agent, on disk before its first prompt is sent. After a kill of the loop the
//! agent goes on with it.
//!
//! Invariant: a record counts as missing unless it is whole, and of this attempt in this context. An
//! id that could be read as an option is neither kept nor taken up.

use std::{io, path::Path};

use descent_core::state::Intent;
use serde::{Deserialize, Serialize};

use super::directory;
use crate::secrets;

pub(super) const NAME: &str = "session.json";
const BYTES_MAX: u64 = 4096;
/// Bytes of any id of an agent at most.
pub(super) const ID_BYTES_MAX: usize = 200;

/// Whether an agent may be given this id again. It becomes an argument of some, so it must not look like an option.
pub(super) fn is_fit(id: &str) -> bool {
    let is_length = !id.is_empty() && id.len() <= ID_BYTES_MAX;
    let is_plain = !id.starts_with('-') && !id.chars().any(char::is_control);
    is_length && is_plain && secrets::fault_of(id).is_none()
}

/// A session that an attempt began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionRecord {
    attempt: String,
    context: String,
    /// The workspace that it works in.
    pub slot: usize,
    pub agent: String,
    /// The id by which the agent knows it.
    pub session: String,
}

impl SessionRecord {
    pub(super) fn new(intent: &Intent, slot: usize, agent: &str, session: &str) -> Self {
        Self {
            attempt: intent.id.to_string(),
            context: intent.context.to_string(),
            slot,
            agent: agent.to_owned(),
            session: session.to_owned(),
        }
    }

    pub(super) fn write(&self, dir: &Path) -> io::Result<()> {
        directory::write_durably(&dir.join(NAME), &serde_json::to_vec(self)?)
    }
}

/// The session of that attempt.
pub fn session(attempts: &Path, intent: &Intent) -> Option<SessionRecord> {
    let bytes = directory::read(attempts, intent, NAME, BYTES_MAX)?;
    let record: SessionRecord = serde_json::from_slice(&bytes).ok()?;
    let is_its_own =
        record.attempt == intent.id.as_str() && record.context == intent.context.as_str();
    (is_its_own && is_fit(&record.session)).then_some(record)
}

#[cfg(test)]
#[allow(clippy::disallowed_methods)] // door: tests
mod tests {
    use super::*;
    use crate::agent::tests::intent;

    #[test]
    fn a_record_with_an_id_that_looks_like_an_option_is_none() {
        let attempts = tempfile::tempdir().unwrap();
        let (intent, dir) = (intent(), attempts.path().join("A1.7"));
        std::fs::create_dir(&dir).unwrap();
        for (id, is_fit) in [
            ("0-1", true),
            ("ses_-a", true),
            ("-c", false),
            ("--dangerously-skip-permissions", false),
            ("", false),
            ("a\nb", false),
            (&"a".repeat(201), false),
        ] {
            SessionRecord::new(&intent, 0, "a", id).write(&dir).unwrap();
            let found = session(attempts.path(), &intent);
            assert_eq!(found.is_some(), is_fit, "{id:?}");
        }
    }
}
