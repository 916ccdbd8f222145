//! The session of an agent, on disk before its first prompt is sent. After a kill of the loop the
//! agent goes on with it.
//!
//! Invariant: a record counts as missing unless it is whole, and of this attempt in this context.

use std::{io, path::Path};

use descent_core::state::Intent;
use serde::{Deserialize, Serialize};

use crate::files;

pub(super) const NAME: &str = "session.json";
const BYTES_MAX: u64 = 4096;

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
        files::write_durably(&dir.join(NAME), &serde_json::to_vec(self)?)?;
        // The directory and its parent may be as new as the file.
        let mut above = dir.ancestors().take(2);
        above.try_for_each(files::sync_dir)
    }
}

/// The session of that attempt.
pub fn session(attempts: &Path, intent: &Intent) -> Option<SessionRecord> {
    let dir = attempts.join(intent.id.as_str());
    files::plain_dir(&dir).ok()?;
    let bytes = files::read(&dir.join(NAME), BYTES_MAX).ok()?;
    let record: SessionRecord = serde_json::from_slice(&bytes).ok()?;
    let is_its_own =
        record.attempt == intent.id.as_str() && record.context == intent.context.as_str();
    is_its_own.then_some(record)
}
