//! The names of the files that a commit makes beside the state file.
//!
//! Invariant: a name tells what its file may hold, so that the remains of a killed commit can be
//! judged. Not here: making or judging them.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use descent_core::id::{Digest, Serial};
use descent_core::state::State;
use twox_hash::XxHash3_64;

use super::StatePlace;

/// Distinguishes names within the process; the process id does the rest, and creating fails on a
/// clash.
static MADE: AtomicU64 = AtomicU64::new(0);

const FRESH: &str = "new-";
const SWAPPED: &str = "old-";
const TAKEN: &str = "edit-";
const LATE: &str = "late-";
/// Digits of a seal in a name: enough to identify a commit.
const SEAL_DIGITS: usize = 16;

/// A commit, as the name of a save that it adopted tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Taker {
    pub(super) serial: Serial,
    digits: String,
}

impl Taker {
    pub(super) fn of(state: &State) -> Self {
        let seal = state.seal.as_ref().map_or("", Digest::as_str);
        let digits = seal.trim_start_matches("sha256:");
        Self { serial: state.serial, digits: digits.chars().take(SEAL_DIGITS).collect() }
    }
}

#[derive(Debug)]
pub(super) struct Names {
    pub(super) state: PathBuf,
    pub(super) bytes_max: u64,
    dir: PathBuf,
    /// The directory that takes in what a command leaves in `dir`.
    away: PathBuf,
    file: String,
}

impl Names {
    pub(super) fn of(place: &StatePlace, bytes_max: u64) -> Self {
        Self {
            state: place.state.clone(),
            bytes_max,
            dir: place.parent().to_owned(),
            away: place.dir.clone(),
            file: place.file_name(),
        }
    }

    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    pub(super) fn away(&self) -> &Path {
        &self.away
    }

    /// A file that is being written: it never had the state's name, and is always ours.
    pub(super) fn fresh(&self) -> PathBuf {
        self.dir.join(format!("{}{FRESH}{}", self.prefix(), unique()))
    }

    /// The prefix of all names that commits make beside the state; other files may share it.
    pub(super) fn prefix(&self) -> String {
        format!(".{}.", self.file)
    }

    pub(super) fn is_fresh(&self, path: &Path) -> bool {
        self.name_after(path, FRESH).is_some()
    }

    /// A file that held `bytes` when it lost the state's name, or was about to get it instead.
    pub(super) fn swapped(&self, bytes: &[u8]) -> PathBuf {
        let (prefix, digest) = (self.prefix(), short(bytes));
        self.dir.join(format!("{prefix}{SWAPPED}{digest}-{}", unique()))
    }

    /// Like [`Names::swapped`], for a person's save that `taker` adopted. The save keeps this name
    /// until the commit is durable.
    pub(super) fn taken(&self, bytes: &[u8], taker: &Taker) -> PathBuf {
        let (prefix, digest, Serial(serial)) = (self.prefix(), short(bytes), taker.serial);
        let by = format!("{serial}-{}", taker.digits);
        self.dir.join(format!("{prefix}{TAKEN}{digest}-{by}-{}", unique()))
    }

    pub(super) fn taker(&self, path: &Path) -> Option<Taker> {
        let rest = self.name_after(path, TAKEN)?;
        let mut parts = rest.split('-').skip(1);
        Some(Taker {
            serial: Serial(parts.next()?.parse().ok()?),
            digits: parts.next()?.to_owned(),
        })
    }

    /// The second name of a late save that gets the state's name again.
    pub(super) fn late(&self) -> PathBuf {
        self.dir.join(format!("{}{LATE}{}", self.prefix(), unique()))
    }

    pub(super) fn is_late(&self, path: &Path) -> bool {
        self.name_after(path, LATE).is_some()
    }

    pub(super) fn is_swapped(&self, path: &Path) -> bool {
        self.swapped_rest(path).is_some()
    }

    /// Whether a swapped-out file still holds what it held then.
    pub(super) fn is_unchanged(&self, path: &Path, digest: u64) -> bool {
        let rest = self.swapped_rest(path);
        rest.is_some_and(|rest| rest.starts_with(&hex(digest)))
    }

    fn swapped_rest(&self, path: &Path) -> Option<String> {
        self.name_after(path, SWAPPED).or_else(|| self.name_after(path, TAKEN))
    }

    fn name_after(&self, path: &Path, kind: &str) -> Option<String> {
        let name = path.file_name()?.to_string_lossy();
        let rest = name.strip_prefix(&self.prefix())?.strip_prefix(kind)?;
        Some(rest.to_owned())
    }

    /// A person's save that no commit could adopt.
    pub(super) fn rescued(&self, n: u32) -> PathBuf {
        self.dir.join(format!("{}.rescued-{n}", self.file))
    }
}

fn unique() -> String {
    let n = MADE.fetch_add(1, Ordering::Relaxed);
    format!("{}-{n}", std::process::id())
}

/// The digest tells an edit from chance, at every commit of a large state; it need not resist an
/// adversary.
fn short(bytes: &[u8]) -> String {
    hex(XxHash3_64::oneshot(bytes))
}

fn hex(digest: u64) -> String {
    format!("{digest:016x}")
}
