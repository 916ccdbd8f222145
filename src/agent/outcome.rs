//! What an attempt came to, on the disk before anybody acts on it: a loop that comes after a crash takes it from there.
//!
//! Invariant: a record that is torn, empty, or of another attempt, epoch or context, is as good as none; one that is
//! synced is never torn.
#![allow(clippy::disallowed_methods)] // door: files of an attempt

use std::{fs, io, path::Path};

use descent_core::{
    event::{
        Outcome,
        record::{self, OutcomeRecord},
    },
    state::Intent,
};

use super::AgentError;
use crate::files;

pub(super) const NAME: &str = "outcome.json";
const HALF: &str = "outcome.json.new";
const BYTES_MAX: u64 = 8 << 20;

/// Records an outcome in the attempt's own directory. Killed from here on, the loop finds it again; where making it again
/// would cost something, it is durable when this returns.
pub fn record(
    dir: &Path,
    intent: &Intent,
    outcome: &Outcome,
    is_paid: bool,
) -> Result<(), AgentError> {
    let outcome = outcome.clone();
    let record = OutcomeRecord { intent, outcome };
    let text = record.text();
    let written = match record.outlasts_power(is_paid) {
        true => write_durably(dir, text.as_bytes()),
        false => write(dir, text.as_bytes()),
    };
    written.map_err(|source| AgentError::Unwritable {
        path: dir.to_owned(),
        source,
    })
}

/// A kill leaves all of it in the kernel's hands, or a part, which is void; so it needs no other name first.
fn write(dir: &Path, bytes: &[u8]) -> io::Result<()> {
    super::inputs::make(dir)?;
    files::write_anew(&dir.join(NAME), bytes)
}

fn write_durably(dir: &Path, bytes: &[u8]) -> io::Result<()> {
    super::inputs::make(dir)?;
    let half = dir.join(HALF);
    files::write_anew(&half, bytes)?;
    files::open(&half)?.sync_all()?;
    fs::rename(&half, dir.join(NAME))?;
    // The directory itself may be as new as the file, and the one that holds it.
    let mut above = dir.ancestors().take(3);
    above.try_for_each(files::sync_dir)
}

/// How the attempt of this very intent ended, where that was recorded whole.
pub fn finished(attempts: &Path, intent: &Intent) -> Option<Outcome> {
    let dir = attempts.join(intent.id.as_str());
    files::plain_dir(&dir).ok()?;
    let path = dir.join(NAME);
    let bytes = files::read(&path, BYTES_MAX).ok()?;
    match record::read(intent, &bytes) {
        Ok(outcome) => Some(outcome),
        Err(void) => {
            tracing::info!(path = %path.display(), %void, "the record of an attempt is void");
            None
        }
    }
}
