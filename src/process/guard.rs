//! The guard of one job: our own program, started again or forked by the `fork_server`, as a small
//! parent of all that the job starts.
//!
//! It runs the command, adopts the orphans of the job, reports how the command ended, kills the
//! rest, and exits. The loop's end of the control socket closes however the loop dies; then the
//! guard ends the job at once.
//!
//! Invariant: the guard exits only when it has no child any more, or after `ENDING_MAX`. Every
//! orphan below it becomes its child, so no child means that nothing of the job is left. It has one
//! thread and no runtime, so it may fork. It sets its own group and tag before the command exists.
//! Not here: which method is used (`ending`).

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus};
use serde::{Deserialize, Serialize};

use super::cgroup::Leaf;
use super::fence::{FenceTask, FenceWay};
use super::tag::Tag;
use super::{guard_report::GuardReport, orphans, timeouts};

mod fence;
pub(crate) mod fork_server;
pub(crate) mod forked;
pub(crate) mod input;
pub(super) mod kernel;
mod launch;
mod namespace;
mod plain;
mod texts;

use launch::RunningCommand;
use namespace::Namespace;

/// The guard's process name, as lists of processes show it.
pub(crate) const NAME: &str = super::table::GUARD;
/// The running program itself, even if its file was replaced meanwhile.
pub(crate) const PROGRAM: &str = "/proc/self/exe";
/// The variable that hands over the command. Among the arguments, a search for its words would find
/// the guard.
pub(crate) const COMMAND: &str = "DESCENT_COMMAND";
/// The size of what the kernel tells of one signal.
const SIGNAL_BYTES: usize = size_of::<libc::signalfd_siginfo>();
const LOOK_MIN: Duration = Duration::from_micros(200);
const LOOK_MAX: Duration = Duration::from_millis(5);

/// The namespaces for the job's processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Isolation {
    None,
    Pids,
    /// For a user who may not make the other namespace alone: it changes how owners of files
    /// appear.
    PidsAndUsers,
}

/// The task of the guard, as its one argument.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct GuardTask {
    pub(crate) tag: Tag,
    pub(crate) walls: Isolation,
    pub(crate) cgroup: Option<PathBuf>,
    /// The job's standard input comes over the control socket; otherwise it is empty.
    pub(crate) has_input: bool,
    pub(crate) fence: Option<FenceTask>,
}

/// The command of a job and its whole environment; without them the guard uses its own.
struct GuardedJob {
    command: OsString,
    env: Option<Vec<(OsString, OsString)>>,
}

/// Keeps what this process inherited beside its standard streams from all that it starts.
pub fn pass_nothing_on() {
    kernel::keep_inherited();
}

/// Runs the guard or the fork server if this process was started as one, and returns its exit code.
/// It must be called before anything else.
pub fn run_if_guard() -> Option<ExitCode> {
    let mut args = std::env::args_os();
    match args.next()? {
        name if name == NAME => {}
        name if name == fork_server::NAME => return Some(fork_server::serve()),
        _ => return None,
    }
    let task = args.next().and_then(|text| serde_json::from_str(text.to_str()?).ok());
    let command = std::env::var_os(COMMAND);
    let (Some(task), Some(command)) = (task, command) else {
        return Some(ExitCode::from(crate::failure::exit::USAGE));
    };
    Some(run_guard(Ok(task), GuardedJob { command, env: None }))
}

/// Runs a guard to its end.
fn run_guard(task: io::Result<GuardTask>, job: GuardedJob) -> ExitCode {
    let report = match task.and_then(|task| JobGuard::start(&task, job)) {
        Ok(mut guard) => {
            guard.watch();
            guard.finish();
            return ExitCode::SUCCESS;
        }
        Err(error) => GuardReport::from_error(&error),
    };
    send_report(report);
    ExitCode::FAILURE
}

/// The loop may be gone; then nobody reads the report.
fn send_report(report: GuardReport) {
    let _ = rustix::io::write(rustix::stdio::stdin(), &report.bytes());
}

struct JobGuard {
    command: RunningCommand,
    /// Readable when a child has ended.
    children: OwnedFd,
    leaf: Option<Leaf>,
    namespace: Option<Namespace>,
}

impl JobGuard {
    fn start(task: &GuardTask, job: GuardedJob) -> io::Result<JobGuard> {
        // The name is only for people.
        let _ = rustix::thread::set_name(c"descent-guard");
        let input = input::wait(rustix::stdio::stdin())?;
        if task.has_input && input.is_none() {
            return Err(Errno::NOTCONN.into());
        }
        rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
        // The tag is never taken off. Setting it fails if the hard limit is lower: then the next
        // start, after both of us died, has less to identify the job by.
        std::mem::forget(task.tag.set());
        let children = kernel::child_ends()?;
        let leaf = task.cgroup.as_ref().and_then(|path| Leaf::from_record(path, task.tag));
        if task.cgroup.is_some() && leaf.is_none() {
            return Err(Errno::NOENT.into());
        }
        let group = leaf.as_ref().map(Leaf::open).transpose()?;
        let group = group.as_ref().map(AsFd::as_fd);
        let namespace = match task.walls {
            Isolation::None => None,
            walls => Some(Namespace::make(walls == Isolation::PidsAndUsers, task.tag, group)?),
        };
        task.fence.as_ref().map_or(Ok(()), fence::put_up)?;
        let is_mounted = |fence: &FenceTask| fence.way == FenceWay::Mounts;
        let may_mount = !task.fence.as_ref().is_some_and(is_mounted);
        let command = launch::start_command(job, input, group, may_mount)?;
        // Otherwise the guard would keep the job's directory or its disk in use.
        let _ = std::env::set_current_dir("/");
        Ok(JobGuard { command, children, leaf, namespace })
    }

    /// Waits until the command has ended or the loop is gone.
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
                send_report(GuardReport::Ended(self.command.status(status)));
                return;
            }
            if is_alone {
                return;
            }
        }
    }

    /// Reaps all children that have ended, so that no zombie stays while the job runs.
    fn reap(&mut self) -> Reaped {
        // However many have ended, there is one signal.
        let _ = rustix::io::read(&self.children, &mut [0; SIGNAL_BYTES]);
        let mut of_leader = None;
        loop {
            match rustix::process::wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) if pid == self.command.leader => of_leader = Some(status),
                Ok(Some(_)) | Err(Errno::INTR) => {}
                Ok(None) => {
                    return Reaped { of_leader, is_none_left: false };
                }
                Err(_) => {
                    return Reaped { of_leader, is_none_left: true };
                }
            }
        }
    }

    fn finish(&mut self) {
        let (until, mut pause) = (Instant::now() + timeouts::ENDING_MAX, LOOK_MIN);
        // The first process of a namespace lives until it is ended here. The kernel ends all others
        // with it, so there is a moment before more is done.
        let mut is_over = false;
        if let Some(namespace) = &self.namespace {
            namespace.end();
            (is_over, pause) = (true, LOOK_MAX);
        }
        while !self.reap().is_none_left && Instant::now() < until {
            if let Some(leaf) = self.leaf.as_ref().filter(|_| !is_over) {
                leaf.kill();
            }
            is_over = false;
            if self.namespace.is_none() {
                orphans::kill_descendants();
            }
            let timeout = Timespec { tv_sec: 0, tv_nsec: pause.subsec_nanos().into() };
            let mut fds = [PollFd::new(&self.children, PollFlags::IN)];
            // It looks again in any case, woken or not.
            let _ = poll(&mut fds, Some(&timeout));
            pause = (pause * 2).min(LOOK_MAX);
        }
        // The loop removes the group too, but it may be gone.
        self.leaf.as_ref().map(Leaf::remove);
    }
}

struct Reaped {
    of_leader: Option<WaitStatus>,
    is_none_left: bool,
}

/// The guard's argument.
pub(super) fn task_argument(task: &GuardTask) -> OsString {
    // Paths that are not text cannot be passed this way; the kernel's control groups have none.
    serde_json::to_string(task).unwrap_or_default().into()
}

fn kill(pid: Pid) {
    // The process is not reaped yet, so its id belongs to nobody else.
    let _ = rustix::process::kill_process(pid, Signal::KILL);
}

/// A test program started as a guard acts as one, before its tests are looked at.
#[cfg(test)]
mod tests {
    #![allow(unsafe_code)]

    extern "C" fn be_a_guard() {
        if let Some(code) = super::run_if_guard() {
            std::process::exit(i32::from(code != std::process::ExitCode::SUCCESS));
        }
    }

    #[used]
    // SAFETY: the loader calls it once, before `main`, while there is one thread.
    #[unsafe(link_section = ".init_array")]
    static FIRST: extern "C" fn() = be_a_guard;
}
