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

/// How many of the newest are left for people to look at.
const LEFT_MAX: usize = 16;

/// The files of an attempt that wrote and printed nothing for us.
const PLAIN_FILES: [&str; 3] = [PROMPT, BINDINGS, OUTCOME];

/// Directories of attempts of this loop that nobody needs any more: an action succeeded, which may be repeated for
/// free. A new attempt takes one over, since making and removing five files costs more than all else that a step writes.
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

/// The content of a directory that was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MadeDir {
    /// Nothing.
    New,
    /// Files of an earlier attempt, to be written over.
    TakenOver,
    /// An earlier try of the attempt may have left anything.
    Old,
}

/// Makes an attempt's own directory and its parent. It does not make the directory beside the state. If that is gone, so
/// is the state, and a new directory would keep it from being put back.
pub(super) fn make(dir: &Path) -> io::Result<MadeDir> {
    // An attempt can write there, and may have put a link in its place.
    dir.parent().map_or(Ok(()), files::no_link)?;
    let is_new = match files::make_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            dir.parent().map_or(Ok(false), files::make_dir)?;
            files::make_dir(dir)
        }
        made => made,
    }?;
    Ok(match is_new {
        true => MadeDir::New,
        false => MadeDir::Old,
    })
}

/// Gives `from` the name `dir` if it holds nothing but our own files; else makes `dir`.
pub(super) fn take_over(from: &Path, dir: &Path) -> io::Result<MadeDir> {
    dir.parent().map_or(Ok(()), files::no_link)?;
    match files::holds_only(from, &PLAIN_FILES) && files::move_to(from, dir).is_ok() {
        true => Ok(MadeDir::TakenOver),
        false => make(dir),
    }
}
