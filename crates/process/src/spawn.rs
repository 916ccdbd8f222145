//! The start of a job: its pipes, its tag, its group, and the handle of its first process; and why a start fails.
//!
//! Invariant: any failure after the first process exists ends that process.
#![allow(clippy::disallowed_methods)] // door: processes

use std::{
    io,
    os::{
        fd::{AsFd, OwnedFd},
        unix::net::UnixStream,
    },
    path::{Path, PathBuf},
};

use rustix::io::Errno;
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use super::{
    Fence, Job, Output, SHELL,
    cgroup::Leaf,
    guard,
    guard::FenceTask,
    handle::JobHandle,
    methods::{self, JobEnding},
    orphans::JobProcesses,
    process_table,
    registry::{self, RegistryEntry},
    tag::Tag,
};
use descent_system::failure::{Lack, lack_at_start, lack_of};

pub(super) struct SpawnedJob {
    pub(super) child: Child,
    pub(super) output: Output,
    /// The standard input of a job that has one.
    pub(super) input: Option<ChildStdin>,
    pub(super) handle: JobHandle,
}

/// The ends of the pipes that a job begins with.
struct JobEnds {
    input: Option<OwnedFd>,
    stdout: OwnedFd,
    stderr: OwnedFd,
}

/// The streams of a job beside the one that takes all output.
#[derive(Debug, Clone, Copy)]
pub(super) struct Streams {
    pub(super) has_input: bool,
    pub(super) is_stdout_apart: bool,
}

/// The leader, and its control socket and the standard input that its guard is still to get.
type First = (Child, RegistryEntry, Option<UnixStream>, Option<OwnedFd>);

pub(super) fn spawn(
    job: &Job,
    streams: Streams,
    fence: Option<&Fence>,
) -> Result<SpawnedJob, SpawnError> {
    let failed = |error| SpawnError::from_spawn(error, &job.cwd);
    let (merged, stderr) = pipe().map_err(failed)?;
    let (input, our_input) = streams.has_input.then(pipe).transpose().map_err(failed)?.unzip();
    let (apart, stdout) = if streams.is_stdout_apart || job.whole_stdout_bytes_max > 0 {
        pipe().map(|(reader, writer)| (Some(reader), writer)).map_err(failed)?
    } else {
        (None, stderr.try_clone().map_err(failed)?)
    };
    let (tag, ending) = (Tag::new(&job.mark), methods::chosen());
    let leaf = ending.make_leaf(tag);
    let (ends, fence) =
        (JobEnds { input, stdout, stderr }, fence.and_then(|fence| fence.task(job)));
    let first = leader(job, ending, tag, leaf.as_ref(), ends, fence);
    if let (Err(_), Some(leaf)) = (&first, &leaf) {
        leaf.remove();
    }
    let (child, registered, control, for_guard) = first.map_err(failed)?;
    // From here on any failure drops the handle, which ends the child.
    let handle = JobHandle {
        processes: JobProcesses {
            leader: registered.pid,
            start_ticks: registered.start_ticks,
            tag,
        },
        method: ending.method,
        leaf,
        control,
        registered: Some(registered),
    };
    if let Some(control) = &handle.control {
        let input = for_guard.as_ref().map(AsFd::as_fd);
        guard::begin(control, input).map_err(failed)?;
    }
    drop(for_guard);
    let input = our_input.map(writer).transpose().map_err(failed)?;
    let apart = apart.map(reader).transpose().map_err(failed)?;
    let output = Output { merged: Some(reader(merged).map_err(failed)?), apart };
    Ok(SpawnedJob { child, output, input, handle })
}

/// Starts the first process. Afterwards this process no longer holds the job's ends of the pipes.
fn leader(
    job: &Job,
    ending: &JobEnding,
    tag: Tag,
    leaf: Option<&Leaf>,
    mut ends: JobEnds,
    fence: Option<FenceTask>,
) -> io::Result<First> {
    let (program, control) = ending.command(&job.command, tag, leaf, &mut ends.input, fence)?;
    let mut command = Command::from(program);
    command.current_dir(&job.cwd).env_clear();
    command.envs(job.env.iter().map(|(name, value)| (name, value)));
    command.env(process_table::MARK, &job.mark);
    if control.is_some() {
        command.env(guard::COMMAND, &job.command);
    }
    // The command holds the guard's end of the socket and of the pipes until it is dropped.
    command.stdout(ends.stdout).stderr(ends.stderr);
    let (child, registered) = registry::spawn(false, || {
        let child = command.spawn()?;
        let id = child.id();
        Ok((id.expect("BUG: a child that was never waited for has its id"), child))
    })?;
    Ok((child, registered, control, ends.input))
}

fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let (reader, writer) = io::pipe()?;
    Ok((reader.into(), writer.into()))
}

/// The runtime offers no other reader of a pipe that it didn't make itself.
fn reader(pipe: OwnedFd) -> io::Result<ChildStdout> {
    ChildStdout::from_std(pipe.into())
}

fn writer(pipe: OwnedFd) -> io::Result<ChildStdin> {
    ChildStdin::from_std(pipe.into())
}

// Why a job was not started, and what a person can do about it.

/// Why nothing was started.
#[derive(Debug, thiserror::Error)]
pub enum SpawnError {
    #[error("the working directory {} is not there", .0.display())]
    NoDirectory(PathBuf),
    #[error("there is no shell at {SHELL}")]
    NoShell,
    #[error("the command and its environment are too long for the system: {0}")]
    TooLong(#[source] io::Error),
    #[error("the system has no room for another process: {0}")]
    NoRoom(#[source] io::Error),
    #[error("the command or its environment contains a NUL byte")]
    Nul(#[source] io::Error),
    #[error("the log {} cannot be written: {source}", path.display())]
    Log { path: PathBuf, source: io::Error },
    /// A process of the job ended before the command began.
    #[error("the command cannot be started: {0}")]
    Cut(#[source] io::Error),
    #[error("the command cannot be started: {0}")]
    Other(#[source] io::Error),
}

impl SpawnError {
    #[must_use]
    pub fn hint(&self) -> &'static str {
        self.facts().0
    }

    /// The resource that was lacking for the start, if it can become available again.
    #[must_use]
    pub fn lack(&self) -> Option<Lack> {
        self.facts().1
    }

    fn facts(&self) -> (&'static str, Option<Lack>) {
        match self {
            SpawnError::NoDirectory(_) => ("it was removed while it was in use: run again", None),
            SpawnError::NoShell => ("commands are run by a POSIX shell: install one there", None),
            SpawnError::TooLong(_) => ("put the command into a script and name that", None),
            SpawnError::NoRoom(source) => {
                let hint = "lower the parallelism, or raise the limits on processes (`ulimit -u`), \
                            open files (`ulimit -n`) or memory";
                (hint, lack_at_start(source))
            }
            SpawnError::Nul(_) => ("remove the NUL byte", None),
            SpawnError::Log { source, .. } => {
                ("check the directory's permissions and the free space", lack_of(source))
            }
            SpawnError::Cut(_) => {
                let hint = "see in `dmesg` whether memory is lacking, and lower the parallelism";
                (hint, Some(Lack::Processes))
            }
            SpawnError::Other(source) => {
                ("fix what the system names, then run it again", lack_at_start(source))
            }
        }
    }

    pub(super) fn from_spawn(error: io::Error, cwd: &Path) -> SpawnError {
        match Errno::from_io_error(&error) {
            Some(Errno::TOOBIG) => SpawnError::TooLong(error),
            Some(Errno::AGAIN | Errno::NOMEM | Errno::MFILE | Errno::NFILE) => {
                SpawnError::NoRoom(error)
            }
            _ if !cwd.is_dir() => SpawnError::NoDirectory(cwd.to_owned()),
            _ if !Path::new(SHELL).exists() => SpawnError::NoShell,
            _ if error.kind() == io::ErrorKind::InvalidInput => SpawnError::Nul(error),
            _ if error.kind() == io::ErrorKind::UnexpectedEof => SpawnError::Cut(error),
            _ => SpawnError::Other(error),
        }
    }
}
