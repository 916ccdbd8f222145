//! The start of a job: its pipes, its brand, its group, and its first process on a leash.
//!
//! Invariant: once the first process is there, whatever fails then ends it.
#![allow(clippy::disallowed_methods)] // door: processes

use std::io;
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
    pub(super) leash: JobHandle,
}

/// How the job begins: what it is started by, and where it writes to.
struct Start<'j> {
    job: &'j Job,
    ending: &'static JobEnding,
    brand: Tag,
    leaf: Option<Leaf>,
    stdout: OwnedFd,
    stderr: OwnedFd,
}

type First = (Leader, RegistryEntry, Option<UnixStream>);

pub(super) fn spawn(job: &Job) -> Result<SpawnedJob, SpawnError> {
    let failed = |error| SpawnError::from_spawn(error, &job.cwd);
    let (merged, stderr) = pipe().map_err(failed)?;
    let (apart, stdout) = if job.whole_stdout_bytes_max > 0 {
        let (reader, writer) = pipe().map_err(failed)?;
        (Some(reader), writer)
    } else {
        (None, stderr.try_clone().map_err(failed)?)
    };
    let (brand, ending) = (Tag::of_job(&job.mark), ending::taken());
    let leaf = ending.leaf(brand);
    let start = Start {
        job,
        ending,
        brand,
        leaf: leaf.clone(),
        stdout,
        stderr,
    };
    let first = start.first();
    if let (Err(_), Some(leaf)) = (&first, &leaf) {
        leaf.remove();
    }
    let (child, registered, control) = first.map_err(failed)?;
    // From here on, whatever fails, dropping the leash ends the child.
    let leash = JobHandle {
        kin: JobProcesses {
            leader: registered.pid,
            start_ticks: registered.start_ticks,
            brand,
        },
        method: ending.method,
        leaf,
        control,
        registered: Some(registered),
    };
    let apart = apart.map(reader).transpose().map_err(failed)?;
    let output = Output {
        merged: Some(reader(merged).map_err(failed)?),
        apart,
    };
    Ok(SpawnedJob {
        child,
        output,
        leash,
    })
}

impl Start<'_> {
    /// Nothing of ours holds the job's ends of its pipes afterwards.
    fn first(self) -> io::Result<First> {
        #[cfg(target_os = "linux")]
        if self.ending.method != Method::Group
            && let Some(born) = self.born()?
        {
            return Ok(born);
        }
        self.started()
    }

    /// A guard out of the nursery, where there is one.
    #[cfg(target_os = "linux")]
    fn born(&self) -> io::Result<Option<First>> {
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
            task: &self.ending.task(self.brand, self.leaf.as_ref()),
            command: &self.job.command,
            cwd: &self.job.cwd,
            env: env.chain([mark]).collect(),
            streams: [its.as_fd(), self.stdout.as_fd(), self.stderr.as_fd()],
        };
        let Some(told) = request.told() else {
            return Ok(None);
        };
        let born = registry::spawn_if(|| guard::fork_server::born(&request, &told))?;
        Ok(born.map(|(born, registered)| (Leader::Born(born), registered, Some(ours))))
    }

    fn started(self) -> io::Result<First> {
        let job = self.job;
        let (program, control) =
            self.ending
                .command(&job.command, self.brand, self.leaf.as_ref())?;
        let mut command = Command::from(program);
        command.current_dir(&job.cwd).env_clear();
        command.envs(job.env.iter().map(|(name, value)| (name, value)));
        command.env(table::MARK, &job.mark);
        if control.is_some() {
            command.env(guard::COMMAND, &job.command);
        }
        // It holds the guard's end of the socket, and the pipes', until it is dropped.
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

fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let (reader, writer) = io::pipe()?;
    Ok((reader.into(), writer.into()))
}

/// The runtime's only reader of a pipe that it didn't make itself.
fn reader(pipe: OwnedFd) -> io::Result<ChildStdout> {
    ChildStdout::from_std(pipe.into())
}
