//! The guard of one job: our own program, started again (or copied in a `nursery`) as a small parent of all that the job
//! starts.
//!
//! It runs the command, is the foster parent of whatever the job loses, says how the command ended,
//! ends the rest, and goes. When the loop is gone, its end of the control socket is closed, however
//! it died: then the guard ends the job at once.
//!
//! Invariant: the guard ends by itself only when it has no child any more, or after `ENDING_MAX`;
//! as every orphan below it becomes its child, no child means that nothing of the job is left.
//! It has one thread and starts no runtime: so it may fork. Its own group and brand are set before
//! the command exists. Not here: which method is taken (`ending`).

use std::ffi::OsString;
use std::io::{self, PipeReader, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus};
use serde::{Deserialize, Serialize};

use super::cgroup::Leaf;
use super::tag::Tag;
use super::{SHELL, guard_report::GuardReport, orphans};

pub(crate) mod fork_server;
pub(crate) mod forked;
mod kernel;
mod namespace;

use namespace::Namespace;

/// The name that the guard is started under, and shows in lists of processes.
pub(crate) const NAME: &str = "descent-guard";
/// The running program itself: a file that was replaced meanwhile does not matter.
pub(crate) const PROGRAM: &str = "/proc/self/exe";
/// The variable that hands over the command: in arguments, it would be found by its words.
pub(crate) const COMMAND: &str = "DESCENT_COMMAND";
const LOOK_MIN: Duration = Duration::from_micros(200);
const LOOK_MAX: Duration = Duration::from_millis(5);

/// A namespace for the job's processes, if it is to have one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Isolation {
    None,
    Pids,
    /// For those who may not make the others without: changes what owners of files look like.
    PidsAndUsers,
}

/// What the guard is told, as its one argument.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct GuardTask {
    pub(crate) brand: Tag,
    pub(crate) walls: Isolation,
    pub(crate) cgroup: Option<PathBuf>,
}

/// The command of a job, and its whole environment; its guard's own, where none is told.
struct GuardedJob {
    command: OsString,
    env: Option<Vec<(OsString, OsString)>>,
}

/// The exit code, if this process was started as a guard, or to make some. To be asked before anything else.
pub fn answer() -> Option<ExitCode> {
    let mut args = std::env::args_os();
    match args.next()? {
        name if name == NAME => {}
        name if name == fork_server::NAME => return Some(fork_server::live()),
        _ => return None,
    }
    let task = args
        .next()
        .and_then(|text| serde_json::from_str(text.to_str()?).ok());
    let command = std::env::var_os(COMMAND);
    let (Some(task), Some(command)) = (task, command) else {
        return Some(ExitCode::from(crate::failure::exit::USAGE));
    };
    Some(be(Ok(task), GuardedJob { command, env: None }))
}

/// The life of a guard.
fn be(task: io::Result<GuardTask>, job: GuardedJob) -> ExitCode {
    let report = match task.and_then(|task| JobGuard::start(&task, job)) {
        Ok(mut guard) => {
            guard.watch();
            guard.finish();
            return ExitCode::SUCCESS;
        }
        Err(error) => GuardReport::of_error(&error),
    };
    tell(report);
    ExitCode::FAILURE
}

/// Nobody may be there to be told.
fn tell(report: GuardReport) {
    let _ = rustix::io::write(rustix::stdio::stdin(), &report.bytes());
}

struct JobGuard {
    leader: Pid,
    /// Readable when a child has ended.
    children: UnixStream,
    leaf: Option<Leaf>,
    namespace: Option<Namespace>,
}

impl JobGuard {
    fn start(task: &GuardTask, job: GuardedJob) -> io::Result<JobGuard> {
        // The name is for people alone.
        let _ = rustix::thread::set_name(c"descent-guard");
        rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
        // For good. Refused where a lower limit was set: then a start after both of us died finds the job by less.
        std::mem::forget(task.brand.wear());
        let (children, signals) = UnixStream::pair()?;
        children.set_nonblocking(true)?;
        signal_hook::low_level::pipe::register(signal_hook::consts::SIGCHLD, signals)?;
        let leaf = task
            .cgroup
            .as_ref()
            .and_then(|path| Leaf::recorded(path, task.brand));
        if task.cgroup.is_some() && leaf.is_none() {
            return Err(Errno::NOENT.into());
        }
        let group = leaf.as_ref().map(Leaf::open).transpose()?;
        let group = group.as_ref().map(AsFd::as_fd);
        let namespace = match task.walls {
            Isolation::None => None,
            walls => Some(Namespace::make(
                walls == Isolation::PidsAndUsers,
                task.brand,
                group,
            )?),
        };
        let leader = lead(job, group)?;
        // The job's directory may be removed, its disk unmounted.
        let _ = std::env::set_current_dir("/");
        Ok(JobGuard {
            leader,
            children,
            leaf,
            namespace,
        })
    }

    /// Until the command has ended, or nobody wants to know any more.
    fn watch(&mut self) {
        loop {
            let mut fds = [
                PollFd::from_borrowed_fd(rustix::stdio::stdin(), PollFlags::IN),
                PollFd::new(&self.children, PollFlags::IN),
            ];
            if poll(&mut fds, None).is_err() {
                continue;
            }
            let is_alone = !fds[0].revents().is_empty();
            if let Some(status) = self.reap().of_leader {
                tell(GuardReport::Ended(status.as_raw()));
                return;
            }
            if is_alone {
                return;
            }
        }
    }

    /// All children that have ended; none may stay behind as a zombie while the job runs.
    fn reap(&mut self) -> Reaped {
        let mut drained = [0; 64];
        while self
            .children
            .read(&mut drained)
            .is_ok_and(|count| count > 0)
        {}
        let mut of_leader = None;
        loop {
            match rustix::process::wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) if pid == self.leader => of_leader = Some(status),
                Ok(Some(_)) | Err(Errno::INTR) => {}
                Ok(None) => {
                    return Reaped {
                        of_leader,
                        is_none_left: false,
                    };
                }
                Err(_) => {
                    return Reaped {
                        of_leader,
                        is_none_left: true,
                    };
                }
            }
        }
    }

    fn finish(&mut self) {
        let (until, mut pause) = (Instant::now() + orphans::ENDING_MAX, LOOK_MIN);
        // The first of a namespace lives until it is ended here.
        if let Some(namespace) = &self.namespace {
            namespace.end();
        }
        while !self.reap().is_none_left && Instant::now() < until {
            if let Some(leaf) = &self.leaf {
                leaf.kill();
            }
            if self.namespace.is_none() {
                orphans::kill_descendants();
            }
            let timeout = Timespec {
                tv_sec: 0,
                tv_nsec: pause.subsec_nanos().into(),
            };
            let mut fds = [PollFd::new(&self.children, PollFlags::IN)];
            // Whether it was woken or not: it looks again.
            let _ = poll(&mut fds, Some(&timeout));
            pause = (pause * 2).min(LOOK_MAX);
        }
        // The loop does so too; it may be gone.
        self.leaf.as_ref().map(Leaf::remove);
    }
}

struct Reaped {
    of_leader: Option<WaitStatus>,
    is_none_left: bool,
}

/// Starts the command, in the group if there is one: comes back when the shell runs, or with why it doesn't.
fn lead(job: GuardedJob, group: Option<BorrowedFd<'_>>) -> io::Result<Pid> {
    let mut shell = Command::new(SHELL);
    match job.env {
        Some(env) => shell.env_clear().envs(env),
        None => shell.env_remove(COMMAND),
    };
    shell
        .arg("-c")
        .arg(job.command)
        .stdin(Stdio::null())
        .process_group(0);
    match group {
        // Without a copy of this process, which costs more than all else here.
        None => Ok(Pid::from_child(&shell.spawn()?)),
        Some(group) => lead_into(shell, group),
    }
}

fn lead_into(mut shell: Command, group: BorrowedFd<'_>) -> io::Result<Pid> {
    let (mut failed, mut fails) = io::pipe()?;
    match kernel::fork_into(group)? {
        Some(leader) => {
            drop(fails);
            match why(&mut failed) {
                None => Ok(leader),
                Some(error) => Err(error),
            }
        }
        None => {
            let error = shell.exec();
            let raw = error.raw_os_error().unwrap_or_default();
            // Its parent reads it, or is gone.
            let _ = fails.write_all(&raw.to_le_bytes());
            std::process::exit(127)
        }
    }
}

/// What a child said before it could become another program; nothing if it did.
fn why(failed: &mut PipeReader) -> Option<io::Error> {
    let mut raw = [0; 4];
    failed.read_exact(&mut raw).ok()?;
    Some(io::Error::from_raw_os_error(i32::from_le_bytes(raw)))
}

/// The guard's argument.
pub(super) fn argument(task: &GuardTask) -> OsString {
    // Paths that are no text cannot be told this way: the kernel's groups have none.
    serde_json::to_string(task).unwrap_or_default().into()
}

fn kill(pid: Pid) {
    // Not reaped yet, so it can be nobody else.
    let _ = rustix::process::kill_process(pid, Signal::KILL);
}

/// A program of tests is a guard too when it is started as one, before its tests are looked at.
#[cfg(test)]
mod tests {
    #![allow(unsafe_code)]

    extern "C" fn be_a_guard() {
        if let Some(code) = super::answer() {
            std::process::exit(i32::from(code != std::process::ExitCode::SUCCESS));
        }
    }

    #[used]
    // SAFETY: called once by the loader, before `main`, in the one thread that there is.
    #[unsafe(link_section = ".init_array")]
    static FIRST: extern "C" fn() = be_a_guard;
}
