//! Tries what a directory can do for a state file, in that very directory, even if there is no
//! state yet. The trial leaves nothing.
//!
//! Not here: what a commit relies on (`mode`), how the result is shown (`cli::doctor`).

use std::fs::File;
use std::io;
use std::path::Path;

use tempfile::TempDir;

use super::disk::RealDisk;
use super::mode::{self, Mode};
use crate::files;

/// Each answer as the system gives it.
#[derive(Debug)]
pub struct Probe {
    /// Whether a file can be made, written and made durable, with its name.
    pub durable: io::Result<()>,
    pub mode: io::Result<Mode>,
    pub lock: io::Result<()>,
}

pub fn probe(dir: &Path) -> io::Result<Probe> {
    let trial = tempfile::Builder::new().prefix(".descent-doctor-").tempdir_in(dir)?;
    Ok(Probe { durable: durable(&trial), mode: commit_mode(&trial), lock: lock(&trial) })
}

fn made(trial: &TempDir, name: &str) -> io::Result<File> {
    files::make_new(&trial.path().join(name))
}

fn durable(trial: &TempDir) -> io::Result<()> {
    use std::io::Write;
    let mut file = made(trial, "one")?;
    file.write_all(b"one\n")?;
    file.sync_all()?;
    files::move_to(&trial.path().join("one"), &trial.path().join("two"))?;
    files::sync_dir(trial.path())
}

fn commit_mode(trial: &TempDir) -> io::Result<Mode> {
    let [one, other] = ["this", "that"].map(|name| trial.path().join(name));
    mode::try_in(&RealDisk::in_dir(trial.path()), &one, &other)
}

/// Tries that one holder excludes another.
fn lock(trial: &TempDir) -> io::Result<()> {
    let one = made(trial, "lock")?;
    let other = File::open(trial.path().join("lock"))?;
    fs2::FileExt::try_lock_exclusive(&one)?;
    match fs2::FileExt::try_lock_exclusive(&other) {
        Ok(()) => Err(io::Error::other("two can hold the same lock")),
        Err(_) => Ok(()),
    }
}
