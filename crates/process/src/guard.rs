//! The guard of one job: our own program, started again as a small parent of all that the job starts.
//!
//! It runs the command, adopts the orphans of the job, reports how the command ended, kills the
//! rest, and exits. The loop's end of the control socket closes however the loop dies; then the
//! guard ends the job at once. Here too: the word by which a job begins, and the fence that is put up before.
//!
//! Invariant: the guard exits only when it has no child any more, or after `ENDING_MAX`. Every
//! orphan below it becomes its child, so no child means that nothing of the job is left. It has one
//! thread and no runtime, so it may fork. It sets its own group and tag before the command exists.
//! Not here: which method is used (`methods`).
#![allow(clippy::disallowed_methods)] // door: the command of a job

pub(super) mod kernel;
mod namespace;

use std::{
    collections::BTreeSet,
    env,
    ffi::{CString, OsStr, OsString},
    fs,
    fs::File,
    io,
    io::{IoSlice, IoSliceMut, Read, Write},
    mem::MaybeUninit,
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::{ffi::OsStrExt, net::UnixStream, process::CommandExt},
    },
    path::{Path, PathBuf},
    process::{Command, ExitCode, Stdio},
    time::{Duration, Instant},
};

use landlock::{
    ABI, AccessFs, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset, RulesetAttr,
    RulesetCreatedAttr, RulesetError, RulesetStatus,
};
use namespace::Namespace;
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
    mount::{mount_bind, mount_bind_recursive},
    net::{
        RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
        SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
    },
    process::{Pid, Signal, WaitOptions, WaitStatus},
    thread::{CapabilitySet, remove_capability_from_bounding_set},
};
use serde::{Deserialize, Serialize};

use super::{
    SHELL, cgroup::Leaf, guard_report::GuardReport, layers::LayerMount, orphans, tag::Tag, timeouts,
};

/// The guard's process name, as lists of processes show it.
pub const NAME: &str = super::process_table::GUARD;
/// The running program itself, even if its file was replaced meanwhile.
pub const PROGRAM: &str = "/proc/self/exe";
/// The variable that hands over the command. Among the arguments, a search for its words would find
/// the guard.
pub const COMMAND: &str = "DESCENT_COMMAND";
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
    pub tag: Tag,
    pub walls: Isolation,
    pub cgroup: Option<PathBuf>,
    /// The job's standard input comes over the control socket; otherwise it is empty.
    pub(crate) has_input: bool,
    pub fence: Option<FenceTask>,
}

/// Keeps what this process inherited beside its standard streams from all that it starts.
pub fn pass_nothing_on() {
    kernel::keep_inherited();
}

/// Runs the guard if this process was started as one, and returns its exit code. It must be called
/// before anything else.
pub fn run_if_guard() -> Option<ExitCode> {
    let mut args = std::env::args_os();
    if args.next()? != NAME {
        return None;
    }
    let task = args.next().and_then(|text| serde_json::from_str(text.to_str()?).ok());
    let command = std::env::var_os(COMMAND);
    let (Some(task), Some(command)) = (task, command) else {
        return Some(ExitCode::from(descent_system::failure::exit::USAGE));
    };
    Some(match JobGuard::start(&task, &command) {
        Ok(mut guard) => {
            guard.watch();
            guard.finish();
            ExitCode::SUCCESS
        }
        Err(error) => {
            send_report(&GuardReport::Failed(error));
            ExitCode::FAILURE
        }
    })
}

/// The loop may be gone; then nobody reads the report.
fn send_report(report: &GuardReport) {
    let _ = rustix::io::write(rustix::stdio::stdin(), &report.bytes());
}

struct JobGuard {
    command: Pid,
    /// Readable when a child has ended.
    children: OwnedFd,
    leaf: Option<Leaf>,
    namespace: Option<Namespace>,
}

impl JobGuard {
    fn start(task: &GuardTask, command: &OsStr) -> io::Result<JobGuard> {
        // The name is only for people.
        let _ = rustix::thread::set_name(c"descent-guard");
        let input = input_wait(rustix::stdio::stdin())?;
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
        let namespace = match task.walls {
            Isolation::None => None,
            walls => {
                Some(Namespace::make(walls == Isolation::PidsAndUsers, task.tag, group.as_ref())?)
            }
        };
        task.fence.as_ref().map_or(Ok(()), fence_put_up)?;
        let is_mounted = |fence: &FenceTask| fence.way == FenceWay::Mounts;
        let may_mount = !task.fence.as_ref().is_some_and(is_mounted);
        let command = start_command(command, input, group.as_ref(), may_mount)?;
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
                send_report(&GuardReport::Ended(status.as_raw()));
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
                Ok(Some((pid, status))) if pid == self.command => of_leader = Some(status),
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

/// Starts the command, in the group if there is one. With `may_mount` it could take a fence of mounts down, as root.
fn start_command(
    command: &OsStr,
    input: Option<OwnedFd>,
    group: Option<&File>,
    may_mount: bool,
) -> io::Result<Pid> {
    let mut shell = Command::new(SHELL);
    shell.arg("-c").arg(command).env_remove(COMMAND);
    shell.stdin(input.map_or_else(Stdio::null, Stdio::from));
    let (mut ours, its) = UnixStream::pair()?;
    let Some(pid) = kernel::fork(group)? else {
        let error = leave_session(may_mount).err().unwrap_or_else(|| shell.exec());
        let code = error.raw_os_error().unwrap_or(libc::EINVAL);
        let _ = (&its).write_all(&code.to_le_bytes());
        std::process::exit(127);
    };
    drop(its);
    let mut raw = [0; 4];
    // The socket closes without a word when the shell begins.
    if ours.read_exact(&mut raw).is_err() {
        return Ok(pid);
    }
    let _ = rustix::process::waitpid(Some(pid), WaitOptions::empty());
    Err(io::Error::from_raw_os_error(i32::from_le_bytes(raw)))
}

/// A session without a terminal: nobody answers there, and what asks fails at once.
fn leave_session(may_mount: bool) -> io::Result<()> {
    rustix::process::setsid()?;
    // An account without these abilities has nothing to lose. With the second, another process could be made to use the
    // first. The third opens files past the mounts.
    let taken =
        [CapabilitySet::SYS_ADMIN, CapabilitySet::SYS_PTRACE, CapabilitySet::DAC_READ_SEARCH];
    for ability in taken.into_iter().filter(|_| !may_mount) {
        let _ = remove_capability_from_bounding_set(ability);
    }
    Ok(())
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

// The word by which a job begins, with its standard input, over the control socket to its guard.
//
// Invariant: one message, sent once it is known that the guard is there, and read before anything
// of the job is made. So a start that failed has begun nothing, and may be tried again.

const WORD: [u8; 1] = *b"g";

/// Lets the job of a guard begin, with the reading end of its standard input if it has one.
pub fn begin(control: impl AsFd, input: Option<BorrowedFd<'_>>) -> io::Result<()> {
    let mut room = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut room);
    if input.is_some() {
        ancillary.push(SendAncillaryMessage::ScmRights(input.as_slice()));
    }
    sendmsg(control, &[IoSlice::new(&WORD)], &mut ancillary, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// Waits for that word; gives the standard input that came with it.
///
/// # Errors
/// If the loop is gone, or has given this guard up.
fn input_wait(control: impl AsFd) -> io::Result<Option<OwnedFd>> {
    let mut word = WORD;
    let mut room = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut room);
    loop {
        let mut into = [IoSliceMut::new(&mut word)];
        let flags = RecvFlags::CMSG_CLOEXEC;
        match recvmsg(control.as_fd(), &mut into, &mut ancillary, flags) {
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
            Ok(got) if got.bytes == 0 => return Err(Errno::NOTCONN.into()),
            Ok(_) => break,
        }
    }
    let mut streams = ancillary.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut streams) => streams.next(),
        _ => None,
    });
    Ok(streams.next())
}

// The fence of one job, put up by its guard before the command exists.
//
// Invariant: what is closed and missing is passed over; anything else that fails keeps the job from
// starting.

/// Writing in any form, with renames between directories: older kernels cannot tell those apart.
const WRITES: ABI = ABI::V2;

/// Puts up the fence around this process and all that it starts.
fn fence_put_up(task: &FenceTask) -> io::Result<()> {
    match task.way {
        FenceWay::Mounts => mount(task),
        FenceWay::UserMounts => namespace::enter(true, 0).and_then(|()| mount(task)),
        FenceWay::Landlock => restrict(task),
    }
}

fn mount(task: &FenceTask) -> io::Result<()> {
    let cwd = env::current_dir()?;
    // A mount point can be neither renamed nor removed.
    for held in &task.held {
        mount_bind_recursive(held, held)?;
    }
    // The mounts below one that becomes read-only stay as they are.
    for open in &task.open {
        mount_bind(open, open)?;
    }
    for closed in &task.closed {
        match mount_bind_recursive(closed, closed) {
            Err(Errno::NOENT) => {}
            bound => {
                bound?;
                kernel::make_read_only(&text(closed)?)?;
            }
        }
    }
    for layer in &task.layers {
        // Without it the directory is empty, and what builds there begins cold.
        let _ = layer.put_up(task.way == FenceWay::UserMounts);
    }
    // The same directory, in the mounts that its absolute path leads through now.
    env::set_current_dir(cwd)
}

fn text(path: &Path) -> io::Result<CString> {
    Ok(CString::new(path.as_os_str().as_bytes())?)
}

fn restrict(task: &FenceTask) -> io::Result<()> {
    let failed = |error: RulesetError| io::Error::other(error.to_string());
    let writes = AccessFs::from_write(WRITES) | AccessFs::Truncate;
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_write(WRITES))
        .map_err(failed)?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::Truncate)
        .and_then(Ruleset::create)
        .map_err(failed)?;
    for path in opened(&task.closed)?.iter().chain(&task.open) {
        // It may be gone meanwhile.
        if let (Ok(at), Ok(meta)) = (PathFd::new(path), path.symlink_metadata()) {
            let rights = rights(writes, meta.is_dir());
            ruleset = ruleset.add_rule(PathBeneath::new(at, rights)).map_err(failed)?;
        }
    }
    match ruleset.restrict_self().map_err(failed)?.ruleset {
        RulesetStatus::NotEnforced => Err(Errno::NOSYS.into()),
        RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced => Ok(()),
    }
}

fn rights(writes: BitFlags<AccessFs>, is_dir: bool) -> BitFlags<AccessFs> {
    if is_dir { writes } else { writes & AccessFs::from_file(ABI::V3) }
}

// The fence of one job: the paths that it cannot write, and how the kernel keeps them.

/// Entries at most that Landlock opens for one job.
const ENTRIES_MAX: usize = 10_000;

/// How the kernel keeps a fence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum FenceWay {
    /// In the mount namespace that the job has.
    Mounts,
    /// In a namespace of its own, with a user namespace: the way of an ordinary account.
    UserMounts,
    Landlock,
}

/// The fence of one job, for its guard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FenceTask {
    pub way: FenceWay,
    pub closed: Vec<PathBuf>,
    pub open: Vec<PathBuf>,
    /// Directories that keep their names, the outermost first.
    pub held: Vec<PathBuf>,
    pub(super) layers: Vec<LayerMount>,
}

impl FenceTask {
    pub(super) fn empty(way: FenceWay) -> Self {
        Self { way, closed: Vec::new(), open: Vec::new(), held: Vec::new(), layers: Vec::new() }
    }
}

/// The directories above what is closed.
pub(super) fn above(closed: &[PathBuf]) -> BTreeSet<PathBuf> {
    let above = closed.iter().flat_map(|path| path.ancestors().skip(1));
    above.map(Path::to_owned).collect()
}

/// Every entry beside what is closed and what is above it. A link is what it leads to.
pub(super) fn opened(closed: &[PathBuf]) -> io::Result<Vec<PathBuf>> {
    let above = above(closed);
    let mut opened = Vec::new();
    for dir in &above {
        for entry in fs::read_dir(dir)? {
            let entry = entry?;
            let path = entry.path();
            if !entry.file_type()?.is_symlink() && !closed.contains(&path) && !above.contains(&path)
            {
                opened.push(path);
            }
        }
        if opened.len() > ENTRIES_MAX {
            return Err(io::Error::other(format!("more than {ENTRIES_MAX} entries")));
        }
    }
    Ok(opened)
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
