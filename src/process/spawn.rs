//! The start of a job: its pipes, its tag, its group, and the handle of its first process.
//!
//! Invariant: any failure after the first process exists ends that process.
#![allow(clippy::disallowed_methods)] // door: processes

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;

use tokio::process::{ChildStdin, ChildStdout, Command};

use super::cgroup::Leaf;
use super::ending::{self, JobEnding, Method};
use super::fence::FenceTask;
use super::handle::JobHandle;
use super::leader::Leader;
use super::orphans::JobProcesses;
use super::registry::{self, RegistryEntry};
use super::tag::Tag;
use super::{Fence, Job, Output, SpawnError, guard, table};

pub(super) struct SpawnedJob {
    pub(super) child: Leader,
    pub(super) output: Output,
    /// The standard input of a job that has one.
    pub(super) input: Option<ChildStdin>,
    pub(super) handle: JobHandle,
}

/// The parts of a job's start: the command, and the pipes that it uses.
struct Start<'j> {
    job: &'j Job,
    input: Option<OwnedFd>,
    ending: &'static JobEnding,
    tag: Tag,
    leaf: Option<Leaf>,
    stdout: OwnedFd,
    stderr: OwnedFd,
    fence: Option<FenceTask>,
}

/// Our ends of the pipes, and the two streams that the job begins with.
struct Pipes {
    merged: OwnedFd,
    apart: Option<OwnedFd>,
    /// The reading end, which is the job's, and ours.
    input: Option<(OwnedFd, OwnedFd)>,
    stdout: OwnedFd,
    stderr: OwnedFd,
}

impl Pipes {
    fn of(job: &Job, streams: Streams) -> io::Result<Self> {
        let (merged, stderr) = pipe()?;
        let input = streams.has_input.then(pipe).transpose()?;
        let (apart, stdout) = if streams.is_stdout_apart || job.whole_stdout_bytes_max > 0 {
            pipe().map(|(reader, writer)| (Some(reader), writer))?
        } else {
            (None, stderr.try_clone()?)
        };
        Ok(Self { merged, apart, input, stdout, stderr })
    }
}

/// The streams of a job beside the one that takes all output.
#[derive(Debug, Clone, Copy)]
pub(super) struct Streams {
    pub(super) has_input: bool,
    pub(super) is_stdout_apart: bool,
}

/// The leader, and its control socket and the standard input that its guard is still to get.
type First = (Leader, RegistryEntry, Option<UnixStream>, Option<OwnedFd>);

pub(super) fn spawn(
    job: &Job,
    streams: Streams,
    fence: Option<&Fence>,
) -> Result<SpawnedJob, SpawnError> {
    let failed = |error| SpawnError::from_spawn(error, &job.cwd);
    let Pipes { merged, apart, input, stdout, stderr } = Pipes::of(job, streams).map_err(failed)?;
    let (its_input, our_input) = input.unzip();
    let (tag, ending) = (Tag::new(&job.mark), ending::chosen());
    let leaf = ending.make_leaf(tag);
    let start = Start {
        job,
        input: its_input,
        ending,
        tag,
        leaf: leaf.clone(),
        stdout,
        stderr,
        fence: fence.and_then(|fence| fence.task(job)),
    };
    let first = start.start_leader();
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
        guard::input::begin(control, input).map_err(failed)?;
    }
    drop(for_guard);
    let input = our_input.map(writer).transpose().map_err(failed)?;
    let apart = apart.map(reader).transpose().map_err(failed)?;
    let output = Output { merged: Some(reader(merged).map_err(failed)?), apart };
    Ok(SpawnedJob { child, output, input, handle })
}

impl Start<'_> {
    /// Afterwards this process no longer holds the job's ends of the pipes.
    fn start_leader(mut self) -> io::Result<First> {
        #[cfg(target_os = "linux")]
        if self.ending.method != Method::Group
            && let Some((leader, registered, control)) = self.fork_leader()?
        {
            return Ok((leader, registered, Some(control), self.input.take()));
        }
        self.spawn_leader()
    }

    /// A guard from the fork server, if there is one.
    #[cfg(target_os = "linux")]
    fn fork_leader(&self) -> io::Result<Option<(Leader, RegistryEntry, UnixStream)>> {
        use std::ffi::OsStr;
        if !guard::fork_server::is_open() {
            return Ok(None);
        }
        let (ours, its) = UnixStream::pair()?;
        let env = self.job.env.iter();
        let env = env.map(|(name, value)| (name.as_os_str(), value.as_os_str()));
        let mark = (OsStr::new(table::MARK), OsStr::new(&self.job.mark));
        let request = guard::fork_server::ForkRequest {
            task: &(self.ending).guard_task(
                self.tag,
                self.leaf.as_ref(),
                self.input.is_some(),
                self.fence.clone(),
            ),
            command: &self.job.command,
            cwd: &self.job.cwd,
            env: env.chain([mark]).collect(),
            streams: [its.as_fd(), self.stdout.as_fd(), self.stderr.as_fd()],
        };
        let Some(encoded) = request.encode() else {
            return Ok(None);
        };
        let forked = registry::spawn_if(|| guard::fork_server::fork_guard(&request, &encoded))?;
        Ok(forked.map(|(forked, registered)| (Leader::Forked(forked), registered, ours)))
    }

    fn spawn_leader(mut self) -> io::Result<First> {
        let job = self.job;
        let (program, control) = self.ending.command(
            &job.command,
            self.tag,
            self.leaf.as_ref(),
            &mut self.input,
            self.fence,
        )?;
        let mut command = Command::from(program);
        command.current_dir(&job.cwd).env_clear();
        command.envs(job.env.iter().map(|(name, value)| (name, value)));
        command.env(table::MARK, &job.mark);
        if control.is_some() {
            command.env(guard::COMMAND, &job.command);
        }
        // The command holds the guard's end of the socket and of the pipes until it is dropped.
        command.stdout(self.stdout).stderr(self.stderr);
        let (child, registered) = registry::spawn(|| {
            let child = command.spawn()?;
            let id = child.id();
            Ok((id.expect("BUG: a child that was never waited for has its id"), child))
        })?;
        Ok((Leader::Started(child), registered, control, self.input))
    }
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
