//! The abilities of a file system for a state, with one or without, and so the fate of a save in the instant of a commit.
//!
//! Invariant: abilities are found by trying them in the very directory, never from a name. Trial files are cleared
//! away. Not here: how a commit reacts (`swap`, which meets the same refusals call by call).

use std::{fs::File, io, path::Path};

use tempfile::TempDir;

use super::{
    StoreError,
    disk::{Disk, RealDisk, is_unsupported},
    names::Names,
};
use descent_system::files;

/// How well a commit and a save at the same instant get along here, the best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    Full,
    NoLease,
    NoExchange,
    RenameOnly,
}

impl Mode {
    pub fn is_degraded(self) -> bool {
        self != Self::Full
    }

    /// Its name, and the consequence for a person who edits the state file.
    pub fn words(self) -> [&'static str; 2] {
        match self {
            Self::Full => ["full", "no save is lost, whenever and however an editor makes it"],
            Self::NoLease => [
                "no-lease",
                "no read leases: a save in place that takes longer than 2 s, begun before a commit, can be lost",
            ],
            Self::NoExchange => [
                "no-exchange",
                "no exchange of names: a save by rename within microseconds of a commit can be lost",
            ],
            Self::RenameOnly => [
                "rename-only",
                "neither exchange of names nor hard links: a save within milliseconds of a commit can be lost",
            ],
        }
    }
}

/// The commit lock is held: what carries an unfinished name is nobody else's.
pub(super) fn mode_of_state(disk: &dyn Disk, names: &Names) -> Result<Mode, StoreError> {
    let (one, other) = (names.fresh(), names.fresh());
    let probed = try_in(disk, &one, &other);
    let _ = disk.unlink(&one);
    let _ = disk.unlink(&other);
    probed.map_err(|error| StoreError::io("try", names.dir(), error))
}

/// With files of these names, which the caller clears away.
pub(super) fn try_in(disk: &dyn Disk, one: &Path, other: &Path) -> io::Result<Mode> {
    drop(disk.create(one, 0o600)?);
    let has_links = disk.link(one, other).is_ok();
    if has_links {
        disk.unlink(other)?;
    }
    drop(disk.create(other, 0o600)?);
    let has_exchange = is_there(disk.exchange(one, other))?;
    let opened = disk.open(one)?;
    let has_leases = disk.lease(&opened).is_ok();
    Ok(match (has_exchange, has_links, has_leases) {
        (true, _, true) => Mode::Full,
        (true, _, false) => Mode::NoLease,
        (false, true, _) => Mode::NoExchange,
        (false, false, _) => Mode::RenameOnly,
    })
}

fn is_there(tried: io::Result<()>) -> io::Result<bool> {
    match tried {
        Ok(()) => Ok(true),
        Err(error) if is_unsupported(&error) => Ok(false),
        Err(error) => Err(error),
    }
}

// Tries what a directory can do for a state file, in that very directory, even if there is no state
// yet. The trial leaves nothing.

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
    let [one, other] = ["this", "that"].map(|name| trial.path().join(name));
    let mode = try_in(&RealDisk::in_dir(trial.path()), &one, &other);
    Ok(Probe { durable: durable(&trial), mode, lock: lock(&trial) })
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
