//! The start of a job: its pipes, its tag, its group, and the handle of its first process.
//!
//! Invariant: any failure after the first process exists ends that process. A job's input never
//! blocks us: a thread writes it, and the end of the job breaks its pipe.
#![allow(clippy::disallowed_methods)] // door: processes

use std::borrow::Cow;
use std::io::{self, PipeWriter, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

use tokio::process::{ChildStdout, Command};

use super::cgroup::Leaf;
use super::ending::{self, JobEnding, Method};
use super::handle::JobHandle;
use super::leader::Leader;
use super::orphans::JobProcesses;
use super::registry::{self, RegistryEntry};
use super::tag::Tag;
use super::{Job, Output, SpawnError, guard, table};

pub(super) struct SpawnedJob {
    pub(super) child: Leader,
    pub(super) output: Output,
    pub(super) handle: JobHandle,
}

/// Moves the input to its place. A guard hands on two streams alone, so the input arrives as the
/// standard output, and all output goes to standard error.
const TAKE_INPUT: &str = "exec <&1 >&2\n";

/// The parts of a job's start: the command, and the pipes that it uses.
struct Start<'j> {
    job: &'j Job,
    command: Cow<'j, str>,
    ending: &'static JobEnding,
    tag: Tag,
    leaf: Option<Leaf>,
    stdout: OwnedFd,
    stderr: OwnedFd,
}

/// Our ends of the pipes, and the two streams that the job begins with.
struct Pipes {
    merged: OwnedFd,
    apart: Option<OwnedFd>,
    input: Option<PipeWriter>,
    stdout: OwnedFd,
    stderr: OwnedFd,
}

impl Pipes {
    fn of(job: &Job) -> io::Result<Self> {
        let (merged, stderr) = pipe()?;
        let (mut apart, mut input) = (None, None);
        let stdout = if job.input.is_some() {
            let (reader, writer) = io::pipe()?;
            input = Some(writer);
            reader.into()
        } else if job.whole_stdout_bytes_max > 0 {
            let (reader, writer) = pipe()?;
            apart = Some(reader);
            writer
        } else {
            stderr.try_clone()?
        };
        Ok(Self {
            merged,
            apart,
            input,
            stdout,
            stderr,
        })
    }
}

type First = (Leader, RegistryEntry, Option<UnixStream>);

pub(super) fn spawn(job: &Job) -> Result<SpawnedJob, SpawnError> {
    let failed = |error| SpawnError::from_spawn(error, &job.cwd);
    let Pipes {
        merged,
        apart,
        input,
        stdout,
        stderr,
    } = Pipes::of(job).map_err(failed)?;
    let command = match &job.input {
        Some(_) => Cow::Owned(format!("{TAKE_INPUT}{}", job.command)),
        None => Cow::Borrowed(job.command.as_str()),
    };
    let (tag, ending) = (Tag::new(&job.mark), ending::chosen());
    let leaf = ending.make_leaf(tag);
    let start = Start {
        job,
        command,
        ending,
        tag,
        leaf: leaf.clone(),
        stdout,
        stderr,
    };
    let first = start.start_leader();
    if let (Err(_), Some(leaf)) = (&first, &leaf) {
        leaf.remove();
    }
    let (child, registered, control) = first.map_err(failed)?;
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
    if let (Some(writer), Some(bytes)) = (input, job.input.clone()) {
        feed(writer, bytes).map_err(failed)?;
    }
    let apart = apart.map(reader).transpose().map_err(failed)?;
    let output = Output {
        merged: Some(reader(merged).map_err(failed)?),
        apart,
    };
    Ok(SpawnedJob {
        child,
        output,
        handle,
    })
}

impl Start<'_> {
    /// Afterwards this process no longer holds the job's ends of the pipes.
    fn start_leader(self) -> io::Result<First> {
        #[cfg(target_os = "linux")]
        if self.ending.method != Method::Group
            && let Some(forked) = self.fork_leader()?
        {
            return Ok(forked);
        }
        self.spawn_leader()
    }

    /// A guard from the fork server, if there is one.
    #[cfg(target_os = "linux")]
    fn fork_leader(&self) -> io::Result<Option<First>> {
        use std::ffi::OsStr;
        use std::os::fd::AsFd;
        if !guard::fork_server::is_open() {
            return Ok(None);
        }
        let (ours, its) = UnixStream::pair()?;
        let env = self.job.env.iter();
        let env = env.map(|(name, value)| (name.as_os_str(), value.as_os_str()));
        let mark = (OsStr::new(table::MARK), OsStr::new(&self.job.mark));
        let request = guard::fork_server::ForkRequest {
            task: &self.ending.guard_task(self.tag, self.leaf.as_ref()),
            command: &self.command,
            cwd: &self.job.cwd,
            env: env.chain([mark]).collect(),
            streams: [its.as_fd(), self.stdout.as_fd(), self.stderr.as_fd()],
        };
        let Some(encoded) = request.encode() else {
            return Ok(None);
        };
        let forked = registry::spawn_if(|| guard::fork_server::fork_guard(&request, &encoded))?;
        Ok(forked.map(|(forked, registered)| (Leader::Forked(forked), registered, Some(ours))))
    }

    fn spawn_leader(self) -> io::Result<First> {
        let job = self.job;
        let (program, control) =
            self.ending
                .command(&self.command, self.tag, self.leaf.as_ref())?;
        let mut command = Command::from(program);
        command.current_dir(&job.cwd).env_clear();
        command.envs(job.env.iter().map(|(name, value)| (name, value)));
        command.env(table::MARK, &job.mark);
        if control.is_some() {
            command.env(guard::COMMAND, &*self.command);
        }
        // The command holds the guard's end of the socket and of the pipes until it is dropped.
        command.stdout(self.stdout).stderr(self.stderr);
        let (child, registered) = registry::spawn(|| {
            let child = command.spawn()?;
            let id = child.id();
            Ok((
                id.expect("BUG: a child that was never waited for has its id"),
                child,
            ))
        })?;
        Ok((Leader::Started(child), registered, control))
    }
}

/// A job that leaves its input unread breaks the pipe when it ends, which ends the thread.
fn feed(mut pipe: PipeWriter, bytes: Vec<u8>) -> io::Result<()> {
    let feeder = std::thread::Builder::new().name("input".to_owned());
    feeder.spawn(move || pipe.write_all(&bytes)).map(drop)
}

fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let (reader, writer) = io::pipe()?;
    Ok((reader.into(), writer.into()))
}

/// The runtime offers no other reader of a pipe that it didn't make itself.
fn reader(pipe: OwnedFd) -> io::Result<ChildStdout> {
    ChildStdout::from_std(pipe.into())
}
