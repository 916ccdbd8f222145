//! The names of the files that a commit makes beside the state file.
//!
//! Invariant: a name tells what its file may hold, so that what a killed commit left can be judged.
//! Not here: making or judging them.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use descent_core::id::Digest;

use super::Place;

/// Told apart within the process; the process id does the rest, and creating fails on a clash.
static MADE: AtomicU64 = AtomicU64::new(0);

/// Hexadecimal digits of a digest in a name.
const DIGITS: usize = 16;

#[derive(Debug)]
pub(super) struct Names {
    pub(super) state: PathBuf,
    pub(super) bytes_max: u64,
    dir: PathBuf,
    file: String,
}

impl Names {
    pub(super) fn of(place: &Place, bytes_max: u64) -> Self {
        Self {
            state: place.state.clone(),
            bytes_max,
            dir: place.parent().to_owned(),
            file: place.file_name(),
        }
    }

    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    /// A file that is being written: never had the state's name, always ours.
    pub(super) fn fresh(&self) -> PathBuf {
        self.dir
            .join(format!("{}{}", self.fresh_prefix(), unique()))
    }

    pub(super) fn fresh_prefix(&self) -> String {
        format!(".{}.new-", self.file)
    }

    /// A file that lost the state's name when it held `bytes`, or was about to get it instead.
    pub(super) fn swapped(&self, bytes: &[u8]) -> PathBuf {
        let digest = short(bytes);
        self.dir
            .join(format!("{}{digest}-{}", self.swapped_prefix(), unique()))
    }

    pub(super) fn swapped_prefix(&self) -> String {
        format!(".{}.old-", self.file)
    }

    /// Whether a swapped-out file still holds what it held then.
    pub(super) fn is_unchanged(&self, path: &Path, bytes: &[u8]) -> bool {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let rest = name.strip_prefix(&self.swapped_prefix());
        rest.is_some_and(|rest| rest.starts_with(&short(bytes)))
    }

    /// What a person wrote and nothing could take up.
    pub(super) fn rescued(&self, n: u32) -> PathBuf {
        self.dir.join(format!("{}.rescued-{n}", self.file))
    }
}

fn unique() -> String {
    let n = MADE.fetch_add(1, Ordering::Relaxed);
    format!("{}-{n}", std::process::id())
}

fn short(bytes: &[u8]) -> String {
    let digest = Digest::of(bytes);
    let digits = digest.as_str().trim_start_matches("sha256:");
    digits.chars().take(DIGITS).collect()
}
