//! The directory of an attempt's own files, beside the state: made, or taken over from an attempt that is done.

use std::{
    collections::VecDeque,
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use descent_core::{id::AttemptId, state::Intent};

use crate::files;

pub(super) const PROMPT: &str = "prompt.md";
pub(super) const BINDINGS: &str = "bindings.json";
pub(super) const OUTCOME: &str = "outcome.json";
/// The folder that an attempt may write to. All else beside the state is closed to it.
pub(super) const OUT: &str = "out";

/// How many of the newest are left for people to look at.
const LEFT_MAX: usize = 16;

/// The files of an attempt that printed nothing and told no result.
const PLAIN_FILES: [&str; 3] = [PROMPT, BINDINGS, OUTCOME];

/// Directories of attempts of this loop that nobody needs any more: an action succeeded, which may be repeated for
/// free. A new attempt takes one over, since a new directory with new files costs more than writing into old ones.
#[derive(Debug, Clone, Default)]
pub struct UnneededDirs(Arc<Mutex<VecDeque<(AttemptId, PathBuf)>>>);

impl UnneededDirs {
    /// Offers the directory of an attempt whose outcome is recorded there.
    pub fn offer(&self, attempt: &AttemptId, dir: &Path) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.push_back((attempt.clone(), dir.to_owned()));
    }

    /// The oldest one. The outcome of an attempt in flight is not committed yet, so its record is still needed.
    #[must_use]
    pub fn take(&self, in_flight: &[Intent]) -> Option<PathBuf> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (oldest, _) = all.front().filter(|_| all.len() > LEFT_MAX)?;
        if in_flight.iter().any(|intent| intent.id == *oldest) {
            return None;
        }
        all.pop_front().map(|(_, dir)| dir)
    }
}

/// Makes an attempt's own directory and its parent; returns whether it is new, and so empty. It does not make the
/// directory beside the state. If that is gone, so is the state, and a new directory would keep it from being put back.
pub(super) fn make(dir: &Path) -> io::Result<bool> {
    // An attempt can write there, and may have put a link in its place.
    dir.parent().map_or(Ok(()), files::no_link)?;
    match files::make_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            dir.parent().map_or(Ok(false), files::make_dir)?;
            files::make_dir(dir)
        }
        made => made,
    }
}

/// The same where something else may be in its place: that is removed, a link without what it leads to.
pub(super) fn make_again(dir: &Path) -> io::Result<bool> {
    match files::plain_dir(dir) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            dir.parent().map_or(Ok(()), files::no_link)?;
            files::remove(dir)?;
        }
        _ => {}
    }
    make(dir)
}

/// Writes a file of that directory. It is durable when this returns, as are the directory and its parent, which may be as new.
pub(super) fn write_durably(path: &Path, bytes: &[u8]) -> io::Result<()> {
    files::write_durably(path, bytes)?;
    let mut above = path.ancestors().skip(1).take(2);
    above.try_for_each(files::sync_dir)
}

/// Reads a record of an attempt, where its directory is none of a link.
pub(super) fn read(
    attempts: &Path,
    intent: &Intent,
    name: &str,
    bytes_max: u64,
) -> Option<Vec<u8>> {
    let dir = attempts.join(intent.id.as_str());
    files::plain_dir(&dir).ok()?;
    files::read(&dir.join(name), bytes_max).ok()
}

/// Makes the folder of the result. Anything else in its place is removed, a link without what it leads to.
pub(super) fn make_out(dir: &Path) -> io::Result<()> {
    let out = dir.join(OUT);
    if files::plain_dir(&out).is_err() {
        files::remove(&out)?;
        files::make_dir(&out)?;
    }
    Ok(())
}

/// Gives `from` the name `dir` if it holds nothing but our own files, to be written over; returns whether it did.
pub(super) fn take_over(from: &Path, dir: &Path) -> bool {
    dir.parent().is_none_or(|above| files::no_link(above).is_ok())
        && files::holds_only(from, &PLAIN_FILES, OUT)
        && files::move_to(from, dir).is_ok()
}
