//! The command of a job as its process starts it: prepared by the guard, carried out by a child that
//! shares the guard's memory until its `execve`.
//!
//! Invariant: the child allocates nothing, takes no lock and frees nothing. All that it needs lies
//! here as the kernel reads it.

use std::collections::BTreeMap;
use std::ffi::{CStr, CString, OsStr, OsString};
use std::fs::File;
use std::io::{self, PipeReader, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;

use rustix::io::Errno;
use rustix::process::Pid;

use super::super::SHELL;
use super::{COMMAND, GuardedJob, kernel, texts::Texts};

/// The exit code of a child that starts nothing. Nobody is told of it.
const NOTHING_STARTED: i32 = 127;

/// One program with its arguments.
struct Program {
    file: CString,
    args: Texts,
}

struct Launch {
    shell: Program,
    env: Texts,
    input: OwnedFd,
}

/// Starts the command, in the group if there is one. It returns when the command runs, or with the
/// error if it doesn't.
pub(super) fn start_command(
    job: GuardedJob,
    input: Option<OwnedFd>,
    group: Option<BorrowedFd<'_>>,
) -> io::Result<Pid> {
    let launch = Launch::of(job, input)?;
    let (mut failed, fails) = io::pipe()?;
    let leader = kernel::start(group, &|| launch.carry_out(fails.as_fd()))?;
    drop(fails);
    match start_error(&mut failed) {
        None => Ok(leader),
        Some(error) => Err(error),
    }
}

/// The error that a child told before its end; `None` if the `execve` succeeded.
fn start_error(failed: &mut PipeReader) -> Option<io::Error> {
    let mut raw = [0; 4];
    failed.read_exact(&mut raw).ok()?;
    Some(io::Error::from_raw_os_error(i32::from_le_bytes(raw)))
}

impl Launch {
    fn of(job: GuardedJob, input: Option<OwnedFd>) -> io::Result<Launch> {
        let env: BTreeMap<OsString, OsString> = match job.env {
            Some(env) => env.into_iter().collect(),
            None => std::env::vars_os()
                .filter(|(name, _)| name != COMMAND)
                .collect(),
        };
        let input = match input {
            Some(input) => input,
            None => File::open("/dev/null")?.into(),
        };
        Ok(Launch {
            shell: Program {
                file: text(SHELL)?,
                args: Texts::new(vec![text(SHELL)?, text("-c")?, text(job.command)?]),
            },
            env: Texts::new(
                env.iter()
                    .map(|(name, value)| variable(name, value))
                    .collect::<io::Result<_>>()?,
            ),
            input,
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
        let placed = rustix::process::setpgid(None, None)
            .and_then(|()| rustix::stdio::dup2_stdin(self.input.as_fd()));
        if let Err(error) = placed {
            return error;
        }
        kernel::default_signals();
        self.execute(&self.shell)
    }

    fn execute(&self, program: &Program) -> Errno {
        let file: &CStr = &program.file;
        kernel::execute(file, &program.args, &self.env)
    }
}

fn text(of: impl AsRef<OsStr>) -> io::Result<CString> {
    Ok(CString::new(of.as_ref().as_bytes())?)
}

fn variable(name: &OsStr, value: &OsStr) -> io::Result<CString> {
    Ok(CString::new(
        [name.as_bytes(), b"=", value.as_bytes()].concat(),
    )?)
}
