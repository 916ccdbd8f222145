//! The kernel locks: `commit.lock` for milliseconds, `run.lock` for a loop's life, `redirect.lock` while a redirect is
//! asked for, all on sidecars; others on a file that their user names.
//!
//! Invariant: an open file holds the lock, so it dies with its holder. The files are never
//! unlinked, and their content is for messages alone. Not here: what is done under a lock.

use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use descent_core::id::RunId;
use rustix::process::Pid;

use super::{Store, StoreError};
use descent_system::files;

/// How long a commit waits for others.
pub const COMMIT_WAIT_MS: u64 = 10_000;
/// Testing whether the lease is held takes it for an instant, which must not make a loop's start
/// fail.
const LEASE_WAIT_MS: u64 = 50;
/// A loop that was killed while it started a process leaves its descriptors to the child until its
/// `execve`. Even a busy machine takes no longer than this for it.
const DEAD_LEASE_WAIT_MS: u64 = 2_000;
const WAIT_STEP_MS_MAX: u64 = 32;
const HOLDER_BYTES_MAX: u64 = 4096;

/// An exclusive lock on a file, held until it is dropped.
#[derive(Debug)]
pub struct FileLock {
    file: File,
    path: PathBuf,
}

impl FileLock {
    /// Whether others still meet this lock: the file may have been removed.
    pub(super) fn is_whole(&self) -> bool {
        is_at(&self.file, &self.path).unwrap_or(false)
    }
}

impl Drop for FileLock {
    /// A process that is being started has a copy of the descriptor for an instant.
    fn drop(&mut self) {
        let _ = fs2::FileExt::unlock(&self.file);
    }
}

/// The right to run the one loop of a state, until it is dropped.
#[derive(Debug)]
pub struct Lease {
    _held: Vec<LockFiles>,
}

#[derive(Debug)]
struct LockFiles {
    _file: File,
    /// The directory of the sidecars. It is locked too, so that removing the file frees nothing.
    /// `None` if the file system cannot lock directories.
    _dir: Option<File>,
}

const RUN_LOCK: &str = "run.lock";
/// The start of a holder's line.
const HOLDER_PID: &str = "pid ";

impl Store {
    /// Takes the right to run the loop of this run. Others learn which one it is before its first commit.
    pub fn lease_for(&self, run: &RunId) -> Result<Lease, StoreError> {
        self.lease(&format!("run\n{run}"))
    }

    /// Takes the right to run the loop. `info` is for others: a line with since when and which command.
    pub fn lease(&self, info: &str) -> Result<Lease, StoreError> {
        self.place.make_dir()?;
        self.place.has_plain_sidecars()?;
        let lease = lease(self.place.lease_dirs(), info)?;
        // A loop that was killed left some.
        self.put_away();
        Ok(lease)
    }

    /// Whether a loop holds the lease.
    pub fn is_live(&self) -> bool {
        self.held_lease_dir().is_some()
    }

    /// Takes the right to ask for a redirect; `None` if another process has it.
    pub fn ask_redirect(&self) -> Result<Option<FileLock>, StoreError> {
        self.place.make_dir()?;
        match lock_within(&self.place.redirect_lock(), 0) {
            Ok(lock) => Ok(Some(lock)),
            Err(StoreError::LockTimeout { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Whether a process that asked for a redirect lives.
    pub fn is_redirect_asked(&self) -> bool {
        is_locked(&self.place.redirect_lock())
    }

    /// The line that the holder of the lease wrote about itself.
    pub fn holder(&self) -> Option<String> {
        self.held_lease_dir().and_then(holder)
    }

    /// The run whose loop holds the lease, if it says so.
    pub fn live_run(&self) -> Option<RunId> {
        self.held_lease_dir().and_then(run_of_holder)
    }

    fn held_lease_dir(&self) -> Option<&Path> {
        self.place.lease_dirs().find(|dir| is_held(dir))
    }
}

/// Waits for the lock on that file, which is made if it is missing, in a directory that exists.
///
/// # Errors
/// [`StoreError::LockTimeout`] after 10 seconds; refusals of the system.
pub fn exclusive(path: &Path) -> Result<FileLock, StoreError> {
    lock_within(path, COMMIT_WAIT_MS)
}

pub(super) fn lock_within(path: &Path, wait_ms: u64) -> Result<FileLock, StoreError> {
    let held = wait(wait_ms, || take(path)).map_err(|error| StoreError::io("lock", path, error))?;
    let path = path.to_owned();
    match held {
        Some(file) => Ok(FileLock { file, path }),
        None => Err(StoreError::LockTimeout { path }),
    }
}

/// `info` is one line for other processes that meet the lease: since when, which command.
pub(super) fn lease<'d>(
    dirs: impl Iterator<Item = &'d Path>,
    info: &str,
) -> Result<Lease, StoreError> {
    let held = dirs.map(|dir| lease_in(dir, info)).collect::<Result<_, _>>()?;
    Ok(Lease { _held: held })
}

fn lease_in(dir: &Path, info: &str) -> Result<LockFiles, StoreError> {
    let path = &dir.join(RUN_LOCK);
    let failed = |error| StoreError::io("lock", path, error);
    let mut held = wait(LEASE_WAIT_MS, || take_both(path, dir)).map_err(failed)?;
    if held.is_none() && holder_pid(dir).is_some_and(is_dead) {
        held = wait(DEAD_LEASE_WAIT_MS, || take_both(path, dir)).map_err(failed)?;
    }
    let Some((mut file, dir)) = held else {
        let holder = holder(dir).unwrap_or_else(|| "unknown".to_owned());
        return Err(StoreError::LeaseHeld { holder });
    };
    let lines = format!("{HOLDER_PID}{}, {}\n", std::process::id(), info.trim());
    // A full disk must not keep a loop from starting. Without these lines others know less of it.
    let _ = file.set_len(0).and_then(|()| file.write_all(lines.as_bytes()));
    Ok(LockFiles { _file: file, _dir: dir })
}

/// Whether somebody holds the lease; the question creates nothing.
pub(super) fn is_held(dir: &Path) -> bool {
    is_locked(&dir.join(RUN_LOCK)) || files::open_dir(dir).is_ok_and(|dir| is_contended_now(&dir))
}

/// Whether somebody holds the lock on that file; the question creates nothing.
pub(super) fn is_locked(path: &Path) -> bool {
    files::open(path).is_ok_and(|file| is_contended_now(&file))
}

fn is_contended_now(file: &File) -> bool {
    fs2::FileExt::try_lock_shared(file).is_err_and(|error| is_contended(&error))
}

/// The line that the holder wrote about itself; it may be dead.
pub(super) fn holder(dir: &Path) -> Option<String> {
    line(dir, 0)
}

/// The run whose loop wrote its line there last.
pub(super) fn run_of_holder(dir: &Path) -> Option<RunId> {
    line(dir, 1).map(RunId::new)
}

fn line(dir: &Path, n: usize) -> Option<String> {
    let bytes = files::read_some(&dir.join(RUN_LOCK), HOLDER_BYTES_MAX).ok()?;
    let text = String::from_utf8(bytes).ok()?;
    let line = text.lines().nth(n)?.trim();
    (!line.is_empty()).then(|| line.to_owned())
}

fn holder_pid(dir: &Path) -> Option<Pid> {
    let holder = holder(dir)?;
    let (pid, _) = holder.strip_prefix(HOLDER_PID)?.split_once(',')?;
    // A person may have written anything here; no process has a number below one.
    pid.parse().ok().filter(|pid| *pid > 0).and_then(Pid::from_raw)
}

/// A process that we may not signal is alive.
fn is_dead(pid: Pid) -> bool {
    rustix::process::test_kill_process(pid) == Err(rustix::io::Errno::SRCH)
}

/// `None` after `wait_ms`. Waits are jittered, so that many waiters do not act in step.
fn wait<T>(wait_ms: u64, mut take: impl FnMut() -> io::Result<Option<T>>) -> io::Result<Option<T>> {
    let chance = RandomState::new();
    let mut waited_ms = 0;
    let mut step_ms = 1;
    loop {
        if let Some(taken) = take()? {
            return Ok(Some(taken));
        }
        if waited_ms >= wait_ms {
            return Ok(None);
        }
        let jittered_ms = 1 + chance.hash_one(waited_ms) % step_ms;
        std::thread::sleep(Duration::from_millis(jittered_ms));
        waited_ms += jittered_ms;
        step_ms = (step_ms * 2).min(WAIT_STEP_MS_MAX);
    }
}

fn take_both(path: &Path, dir: &Path) -> io::Result<Option<(File, Option<File>)>> {
    let Some(file) = take(path)? else {
        return Ok(None);
    };
    let dir = files::open_dir(dir)?;
    match fs2::FileExt::try_lock_exclusive(&dir) {
        Ok(()) => Ok(Some((file, Some(dir)))),
        Err(error) if is_contended(&error) => Ok(None),
        Err(_) => Ok(Some((file, None))),
    }
}

fn take(path: &Path) -> io::Result<Option<File>> {
    let file = files::open_or_make(path)?;
    match fs2::FileExt::try_lock_exclusive(&file) {
        // If the sidecars were removed meanwhile, nobody else would see our lock.
        Ok(()) => Ok(is_at(&file, path)?.then_some(file)),
        Err(error) if is_contended(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let ours = file.metadata()?;
    let there = path.symlink_metadata();
    Ok(there.is_ok_and(|there| (there.dev(), there.ino()) == (ours.dev(), ours.ino())))
}

fn is_contended(error: &io::Error) -> bool {
    error.raw_os_error() == fs2::lock_contended_error().raw_os_error()
        || error.kind() == io::ErrorKind::WouldBlock
}
