//! The one door to child processes. Here: the programs of attempts and checks, run by a shell,
//! each with all that it starts; `tool` has our own helpers.
//!
//! Invariant: when [`run`] has returned, or was dropped, nothing that the job started runs on
//! (but for what the kernel can't end), and memory stayed bounded whatever the job wrote.
//! A spawn never copies our memory: no `pre_exec`, no `uid`, so it stays a vfork.
//! Not here: what a job is for, what its output means.
#![allow(clippy::disallowed_methods)] // door: processes, their logs, and how long they take

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, ChildStdout, Command};
use tokio_util::sync::CancellationToken;

pub mod capture;
pub mod editor;
pub mod environment;
pub mod orphans;
pub mod programs;
pub(crate) mod registry;
mod table;
#[cfg(all(test, target_os = "linux"))]
mod tests;
pub mod tool;

pub use capture::{Captured, Whole};
pub use orphans::{become_subreaper, end_recorded, sweep};
pub use programs::Programs;
pub(crate) use table::{boot_id, entry};

use capture::Sink;
use orphans::Kin;
use registry::Registered;

const SHELL: &str = "/bin/sh";
/// How long output is still read after the leader has ended and its remains were killed.
const DRAIN_MAX: Duration = Duration::from_millis(200);
/// How long a killed leader is waited for; one that hangs in the kernel is given up.
const REAP_MAX: Duration = Duration::from_secs(2);
const CHUNK_BYTES: usize = 64 * 1024;

/// One program to run.
#[derive(Debug, Clone)]
pub struct Job {
    /// Run as `/bin/sh -c command`.
    pub command: String,
    pub cwd: PathBuf,
    /// The whole environment; only the mark is added.
    pub env: Vec<(OsString, OsString)>,
    pub timeout: Duration,
    /// Inherited by all that the job starts, to find it again. Unique to the job.
    pub mark: String,
    /// 0: standard output is not kept whole, and the order of both streams is exact.
    pub whole_stdout_bytes_max: usize,
    /// All output goes there too, up to 8 MiB. A file that is there already is replaced.
    pub log: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    Exit(i32),
    Signal(i32),
    TimedOut,
    Cancelled,
}

#[derive(Debug)]
pub struct Ended {
    pub how: How,
    /// Until the leader ended, or was to end.
    pub duration: Duration,
    /// Standard output and error in order of arrival.
    pub output: Captured,
    /// If it was asked for.
    pub stdout: Option<Whole>,
}

/// Enough to find a job again after our own death.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Started {
    pub pid: u32,
    pub start_ticks: u64,
    pub boot_id: String,
    pub mark: String,
}

/// Why nothing was started.
#[derive(Debug, thiserror::Error)]
pub enum SpawnError {
    #[error("the working directory {} is not there", .0.display())]
    NoDirectory(PathBuf),
    #[error("there is no shell at {SHELL}")]
    NoShell,
    #[error("the command and its environment are too long for the system")]
    TooLong(#[source] io::Error),
    #[error("the system has no room for another process")]
    NoRoom(#[source] io::Error),
    #[error("the command or its environment contains a NUL byte")]
    Nul(#[source] io::Error),
    #[error("the log {} cannot be written", path.display())]
    Log { path: PathBuf, source: io::Error },
    #[error("the command cannot be started")]
    Other(#[source] io::Error),
}

impl SpawnError {
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            SpawnError::NoDirectory(_) => "it was removed while it was in use: run again",
            SpawnError::NoShell => "commands are run by a POSIX shell: install one there",
            SpawnError::TooLong(_) => "put the command into a script and name that",
            SpawnError::NoRoom(_) => {
                "lower the parallelism, or raise the limits on processes (`ulimit -u`), \
                 open files (`ulimit -n`) or memory"
            }
            SpawnError::Nul(_) => "remove the NUL byte",
            SpawnError::Log { .. } => "check the directory's permissions and the free space",
            SpawnError::Other(_) => "the cause below is the system's own word",
        }
    }

    fn from_spawn(error: io::Error, cwd: &Path) -> SpawnError {
        match error.raw_os_error().map(Errno::from_raw_os_error) {
            Some(Errno::TOOBIG) => SpawnError::TooLong(error),
            Some(Errno::AGAIN | Errno::NOMEM | Errno::MFILE | Errno::NFILE) => {
                SpawnError::NoRoom(error)
            }
            _ if !cwd.is_dir() => SpawnError::NoDirectory(cwd.to_owned()),
            _ if !Path::new(SHELL).exists() => SpawnError::NoShell,
            _ if error.kind() == io::ErrorKind::InvalidInput => SpawnError::Nul(error),
            _ => SpawnError::Other(error),
        }
    }
}

/// Runs a job to its end, its timeout or its cancellation. `on_started` is told where it runs
/// before anything else happens; it is not called if the job was cancelled before it began.
///
/// When the leader has ended, all that it started is killed, at once and without a warning:
/// its group, then what escaped from that. Dropping the future does the same in the background.
///
/// # Errors
/// When nothing could be started.
pub async fn run(
    job: &Job,
    cancel: &CancellationToken,
    on_started: impl FnOnce(&Started),
) -> Result<Ended, SpawnError> {
    let mut sink = Sink::new(job.whole_stdout_bytes_max, open_log(job)?);
    if cancel.is_cancelled() {
        return Ok(ended(How::Cancelled, Duration::ZERO, sink));
    }
    let Spawned {
        mut child,
        mut output,
        leash,
    } = spawn(job)?;
    let since = Instant::now();
    on_started(&leash.started(&job.mark));
    let how = tokio::select! {
        biased;
        () = cancel.cancelled() => How::Cancelled,
        () = tokio::time::sleep(job.timeout) => How::TimedOut,
        status = child.wait() => how(status),
        () = output.read_on(&mut sink) => How::Cancelled,
    };
    let duration = since.elapsed();
    leash.release(&mut child, how).await;
    // Whoever holds a pipe open now is beyond our reach: it may not hold us up.
    let _ = tokio::time::timeout(DRAIN_MAX, output.read_to_end(&mut sink)).await;
    Ok(ended(how, duration, sink))
}

fn ended(how: How, duration: Duration, sink: Sink) -> Ended {
    Ended {
        how,
        duration,
        output: sink.output,
        stdout: sink.stdout,
    }
}

fn how(status: io::Result<ExitStatus>) -> How {
    // Without a status (somebody else reaped our child) all that is known is that it ended badly.
    let Ok(status) = status else {
        return How::Signal(9);
    };
    match (status.code(), status.signal()) {
        (Some(code), _) => How::Exit(code),
        (None, signal) => How::Signal(signal.unwrap_or(9)),
    }
}

fn open_log(job: &Job) -> Result<Option<File>, SpawnError> {
    let open = |path: &PathBuf| {
        File::create(path).map_err(|source| SpawnError::Log {
            path: path.clone(),
            source,
        })
    };
    job.log.as_ref().map(open).transpose()
}

struct Spawned {
    child: Child,
    output: Output,
    leash: Leash,
}

fn spawn(job: &Job) -> Result<Spawned, SpawnError> {
    let failed = |error| SpawnError::from_spawn(error, &job.cwd);
    let (merged, writer) = pipe().map_err(failed)?;
    let (apart, stdout) = if job.whole_stdout_bytes_max > 0 {
        let (reader, writer) = pipe().map_err(failed)?;
        (Some(reader), writer)
    } else {
        (None, writer.try_clone().map_err(failed)?)
    };
    let pipes = [Some(&merged), apart.as_ref()]
        .into_iter()
        .flatten()
        .filter_map(inode)
        .collect();
    let mut command = Command::new(SHELL);
    command
        .arg("-c")
        .arg(&job.command)
        .current_dir(&job.cwd)
        .process_group(0);
    command
        .env_clear()
        .envs(job.env.iter().map(|(name, value)| (name, value)));
    command.env(table::MARK, &job.mark);
    command.stdin(Stdio::null()).stdout(stdout).stderr(writer);
    let (child, registered) = registry::spawn(Some(&job.mark), || {
        let child = command.spawn()?;
        Ok((
            child
                .id()
                .expect("BUG: a child that was never waited for has its id"),
            child,
        ))
    })
    .map_err(failed)?;
    // From here on, whatever fails, dropping the leash ends the child.
    let leash = Leash::new(registered, &job.mark, pipes);
    let apart = apart.map(reader).transpose().map_err(failed)?;
    let output = Output {
        merged: Some(reader(merged).map_err(failed)?),
        apart,
    };
    Ok(Spawned {
        child,
        output,
        leash,
    })
}

fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let (reader, writer) = io::pipe()?;
    Ok((reader.into(), writer.into()))
}

fn inode(pipe: &OwnedFd) -> Option<u64> {
    rustix::fs::fstat(pipe.as_fd()).ok().map(|stat| stat.st_ino)
}

/// The runtime's only reader of a pipe that it didn't make itself.
fn reader(pipe: OwnedFd) -> io::Result<ChildStdout> {
    ChildStdout::from_std(pipe.into())
}

/// The pipes that a job writes to. One is closed here when it has come to its end.
struct Output {
    /// Standard error, and standard output unless it comes apart.
    merged: Option<ChildStdout>,
    apart: Option<ChildStdout>,
}

impl Output {
    /// Never returns: to be read beside something that ends.
    async fn read_on(&mut self, sink: &mut Sink) {
        self.read_to_end(sink).await;
        std::future::pending().await
    }

    /// May be dropped and called again; nothing that was read gets lost.
    async fn read_to_end(&mut self, sink: &mut Sink) {
        let mut first = vec![0; CHUNK_BYTES];
        let mut second = vec![0; if self.apart.is_some() { CHUNK_BYTES } else { 0 }];
        while self.merged.is_some() || self.apart.is_some() {
            tokio::select! {
                count = read(&mut self.merged, &mut first) => sink.take(&first[..count], false),
                count = read(&mut self.apart, &mut second) => sink.take(&second[..count], true),
            }
        }
    }
}

/// Waits for ever on a pipe that is closed.
async fn read<R: AsyncRead + Unpin>(from: &mut Option<R>, buffer: &mut [u8]) -> usize {
    let Some(open) = from else {
        return std::future::pending().await;
    };
    let count = open.read(buffer).await.unwrap_or(0);
    if count == 0 {
        *from = None;
    }
    count
}

/// What holds a running job: dropping it kills the job and all that descends from it.
struct Leash {
    kin: Kin,
    /// Nothing once the leader has been reaped.
    registered: Option<Registered>,
}

impl Leash {
    fn new(registered: Registered, mark: &str, pipes: Vec<u64>) -> Leash {
        let Registered {
            pid: leader,
            start_ticks,
        } = registered;
        let kin = Kin {
            leader,
            start_ticks,
            mark: mark.to_owned(),
            pipes,
        };
        Leash {
            kin,
            registered: Some(registered),
        }
    }

    fn started(&self, mark: &str) -> Started {
        Started {
            pid: self.kin.leader,
            start_ticks: self.kin.start_ticks,
            boot_id: table::boot_id(),
            mark: mark.to_owned(),
        }
    }

    /// Ends the job for good, whether the leader has ended by itself or not.
    async fn release(mut self, child: &mut Child, how: How) {
        if matches!(how, How::TimedOut | How::Cancelled) {
            orphans::fell(self.kin.leader, self.kin.start_ticks);
            if tokio::time::timeout(REAP_MAX, child.wait()).await.is_err() {
                return;
            }
        }
        // The leader was reaped in this very poll. Its id can be somebody else's only if its group
        // is empty and the kernel has gone once around all ids since.
        orphans::kill_group(self.kin.leader);
        self.registered = None;
        if !self.kin.is_gone() {
            let kin = self.kin.clone();
            // It fails only if the runtime ends, and then its thread goes on by itself.
            let _ = tokio::task::spawn_blocking(move || kin.end()).await;
        }
    }
}

impl Drop for Leash {
    fn drop(&mut self) {
        let Some(registered) = self.registered.take() else {
            return;
        };
        orphans::fell(self.kin.leader, self.kin.start_ticks);
        let kin = self.kin.clone();
        let finish = move || {
            wait_until_reaped(&kin);
            drop(registered);
            kin.end();
        };
        // Without a thread what is left is what escaped from the tree before this moment.
        let _ = std::thread::Builder::new()
            .name("orphans".to_owned())
            .spawn(finish);
    }
}

/// The runtime reaps the child that was dropped; until then its id has to stay on the list.
fn wait_until_reaped(kin: &Kin) {
    let until = Instant::now() + REAP_MAX;
    let is_there =
        || table::entry(kin.leader).is_some_and(|now| now.start_ticks == kin.start_ticks);
    while is_there() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(2));
    }
}
