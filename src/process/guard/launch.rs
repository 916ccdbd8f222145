//! The command of a job as its process starts it: prepared by the guard, carried out by a child that
//! shares the guard's memory until its `execve`.
//!
//! A plain command is started without a shell. If none of its files can be, the shell is started
//! after all, which finds the same fault and tells it in its own words.
//!
//! Invariant: the child allocates nothing, takes no lock and frees nothing. All that it needs lies
//! here as the kernel reads it. Not here: which commands are plain (`plain`).

use std::collections::BTreeMap;
use std::ffi::{CString, OsStr, OsString};
use std::fs::File;
use std::io::{self, PipeReader, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::sync::OnceLock;

use rustix::io::Errno;
use rustix::process::{Pid, WaitStatus};
use rustix::thread::{CapabilitySet, remove_capability_from_bounding_set};

use super::super::SHELL;
use super::{COMMAND, GuardedJob, kernel, plain, texts::Texts};

/// The exit code of a child that starts nothing. Nobody is told of it.
const NOTHING_STARTED: i32 = 127;

/// A shell adds this to the number of the signal that ended its child.
const BY_SIGNAL: i32 = 128;

/// A command that runs.
#[derive(Debug, Clone, Copy)]
pub(super) struct RunningCommand {
    pub(super) leader: Pid,
    has_no_shell: bool,
}

impl RunningCommand {
    /// The status as the kernel gave it. A program that a signal ended is told as the shell tells
    /// it, which would have been its parent.
    pub(super) fn status(self, status: WaitStatus) -> i32 {
        match status.terminating_signal().filter(|_| self.has_no_shell) {
            Some(signal) => (BY_SIGNAL + signal) << 8,
            None => status.as_raw(),
        }
    }
}

/// A plain command: the files that may be its program, and its words.
struct Direct {
    files: Vec<CString>,
    args: Texts,
}

struct Launch {
    direct: Option<Direct>,
    shell: CString,
    shell_args: Texts,
    env: Texts,
    input: OwnedFd,
    /// Otherwise it could take the fence down, as root.
    may_mount: bool,
}

/// Starts the command, in the group if there is one. It returns when the command runs, or with the
/// error if it doesn't.
pub(super) fn start_command(
    job: GuardedJob,
    input: Option<OwnedFd>,
    group: Option<BorrowedFd<'_>>,
    may_mount: bool,
) -> io::Result<RunningCommand> {
    let launch = Launch::of(job, input, may_mount)?;
    let (mut failed, fails) = io::pipe()?;
    let leader = kernel::start(group, &|| launch.carry_out(fails.as_fd()))?;
    drop(fails);
    match start_error(&mut failed) {
        None => Ok(RunningCommand { leader, has_no_shell: launch.direct.is_some() }),
        Some(error) => Err(error),
    }
}

/// The error that a child told before its end; `None` if the `execve` succeeded.
fn start_error(failed: &mut PipeReader) -> Option<io::Error> {
    let mut raw = [0; 4];
    failed.read_exact(&mut raw).ok()?;
    Some(io::Error::from_raw_os_error(i32::from_le_bytes(raw)))
}

/// The input of a job that has none. The fork server opens it once for all of its guards.
pub(super) fn nothing() -> io::Result<OwnedFd> {
    static NOTHING: OnceLock<File> = OnceLock::new();
    let open = match NOTHING.get() {
        Some(open) => open,
        None => {
            let opened = File::open("/dev/null")?;
            NOTHING.get_or_init(|| opened)
        }
    };
    Ok(open.try_clone()?.into())
}

impl Launch {
    fn of(job: GuardedJob, input: Option<OwnedFd>, may_mount: bool) -> io::Result<Launch> {
        let mut env: BTreeMap<OsString, OsString> = match job.env {
            Some(env) => env.into_iter().collect(),
            None => std::env::vars_os().filter(|(name, _)| name != COMMAND).collect(),
        };
        let input = match input {
            Some(input) => input,
            None => nothing()?,
        };
        let direct = job.command.to_str().and_then(|command| Direct::of(command, &mut env));
        Ok(Launch {
            direct,
            shell: text(SHELL)?,
            shell_args: Texts::new(vec![text(SHELL)?, text("-c")?, text(job.command)?]),
            env: Texts::new(
                env.iter().map(|(name, value)| variable(name, value)).collect::<io::Result<_>>()?,
            ),
            input,
            may_mount,
        })
    }

    /// Runs in the child. It returns only if nothing could be started.
    fn carry_out(&self, fails: BorrowedFd<'_>) -> i32 {
        let error = self.begin();
        // The guard reads this, or is gone.
        let _ = rustix::io::write(fails, &error.raw_os_error().to_le_bytes());
        NOTHING_STARTED
    }

    fn begin(&self) -> Errno {
        // Without a terminal: nobody answers there, and what asks fails at once.
        let placed =
            rustix::process::setsid().and_then(|_| rustix::stdio::dup2_stdin(self.input.as_fd()));
        if let Err(error) = placed {
            return error;
        }
        if !self.may_mount {
            // An account without these abilities has nothing to lose. With the second, another process could be made to
            // use the first. The third opens files past the mounts.
            for ability in [
                CapabilitySet::SYS_ADMIN,
                CapabilitySet::SYS_PTRACE,
                CapabilitySet::DAC_READ_SEARCH,
            ] {
                let _ = remove_capability_from_bounding_set(ability);
            }
        }
        kernel::default_signals();
        if let Some(Direct { files, args }) = &self.direct {
            for file in files {
                // A script that names no interpreter is the shell's, and no later file is meant.
                if kernel::execute(file, args, &self.env) == Errno::NOEXEC {
                    break;
                }
            }
        }
        kernel::execute(&self.shell, &self.shell_args, &self.env)
    }
}

impl Direct {
    /// Adds what a shell adds to the environment: its working directory.
    fn of(command: &str, env: &mut BTreeMap<OsString, OsString>) -> Option<Direct> {
        let words = plain::words(command)?;
        let is_passed_on = env.keys().all(|name| plain::is_passed_on(name));
        let path = env.get(OsStr::new("PATH")).filter(|_| is_passed_on)?;
        let files = plain::files(words.first()?, path)?;
        let cwd = std::env::current_dir().ok()?;
        let direct = Direct {
            files: files.iter().map(text).collect::<io::Result<_>>().ok()?,
            args: Texts::new(words.iter().map(text).collect::<io::Result<_>>().ok()?),
        };
        if !cwd.is_absolute() {
            return None;
        }
        env.insert("PWD".into(), cwd.into());
        Some(direct)
    }
}

fn text(of: impl AsRef<OsStr>) -> io::Result<CString> {
    Ok(CString::new(of.as_ref().as_bytes())?)
}

fn variable(name: &OsStr, value: &OsStr) -> io::Result<CString> {
    Ok(CString::new([name.as_bytes(), b"=", value.as_bytes()].concat())?)
}
