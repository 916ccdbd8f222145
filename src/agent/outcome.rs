//! What an attempt came to, on the disk before anybody acts on it: a loop that comes after a crash takes it from there.
//!
//! Invariant: the name holds a whole record or none; a record that is torn, or of another attempt, epoch or context,
//! is as good as none.
#![allow(clippy::disallowed_methods)] // door: files of an attempt

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read, Write},
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

use descent_core::{
    event::{
        Outcome,
        record::{self, Record},
    },
    state::Intent,
};

use super::{AgentError, report};

pub(super) const NAME: &str = "outcome.json";
const HALF: &str = "outcome.json.new";
const BYTES_MAX: u64 = 8 << 20;

/// Records an outcome in the attempt's own directory; it is durable when this returns.
pub fn record(dir: &Path, intent: &Intent, outcome: &Outcome) -> Result<(), AgentError> {
    let outcome = outcome.clone();
    let text = Record { intent, outcome }.text();
    write(dir, text.as_bytes()).map_err(|source| AgentError::Unwritable {
        path: dir.to_owned(),
        source,
    })
}

fn write(dir: &Path, bytes: &[u8]) -> io::Result<()> {
    super::inputs::make(dir)?;
    let half = dir.join(HALF);
    super::inputs::remove(&half)?;
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&half)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&half, dir.join(NAME))?;
    // The directory itself may be as new as the file, and the one that holds it.
    let mut above = dir.ancestors().take(3);
    above.try_for_each(|dir| File::open(dir)?.sync_all())
}

/// How the attempt of this very intent ended, where that was recorded whole.
pub fn finished(attempts: &Path, intent: &Intent) -> Option<Outcome> {
    let path = attempts.join(intent.id.as_str()).join(NAME);
    let mut bytes = Vec::new();
    let file = report::open(&path).ok()??;
    file.take(BYTES_MAX).read_to_end(&mut bytes).ok()?;
    match record::read(intent, &bytes) {
        Ok(outcome) => Some(outcome),
        Err(void) => {
            tracing::info!(path = %path.display(), %void, "the record of an attempt is void");
            None
        }
    }
}
