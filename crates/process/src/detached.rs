//! A run apart from its terminal: our own program again, in a session of its own.
//!
//! Both sides are here: the start, and the first acts of the process that was started. They are joined by one socket,
//! the standard input of that process, over which it reports once.
//!
//! Invariant: the process holds no terminal, pipe or file of whoever started it, but for that socket until the report.
//! It goes on when the other side dies. Not here: what is reported (`ops::detach`).
#![allow(clippy::disallowed_methods)] // door: the process of a detached run

use std::{
    ffi::OsString,
    fs::File,
    io::{self, Write},
    os::{
        fd::{AsFd, OwnedFd},
        unix::{net::UnixStream, process::CommandExt},
    },
    path::PathBuf,
    process::{Child, Command, ExitStatus, Stdio},
    sync::{Mutex, PoisonError},
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process};
use tokio::io::AsyncReadExt;

#[cfg(target_os = "linux")]
use super::guard;

/// The first word of the process, as lists of processes show it.
const NAME: &str = "descent-detached";
/// Bytes at most of a report.
const REPORT_BYTES_MAX: u64 = 1 << 20;
/// How long a process may go on after it was asked to end: its tools have their own time to end.
const GRACE: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_millis(10);

/// The process, as the one that started it sees it.
#[derive(Debug)]
pub struct DetachedProcess {
    child: Child,
    report: tokio::net::UnixStream,
}

impl DetachedProcess {
    /// Starts this program again with these arguments, in the present directory. To be called inside of a runtime.
    ///
    /// # Errors
    /// If nothing could be started.
    pub fn start(args: impl Iterator<Item = OsString>) -> io::Result<Self> {
        let (ours, its) = UnixStream::pair()?;
        ours.set_nonblocking(true)?;
        let report = tokio::net::UnixStream::from_std(ours)?;
        let child = Command::new(program()?)
            .arg0(NAME)
            .args(args)
            .stdin(OwnedFd::from(its))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        Ok(Self { child, report })
    }

    /// Waits for its report; empty if it ended without one. No time limit is here: its own waits have theirs.
    pub async fn report(&mut self) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let mut limited = (&mut self.report).take(REPORT_BYTES_MAX);
        limited.read_to_end(&mut bytes).await?;
        Ok(bytes)
    }

    /// Asks it to end, and kills it if it goes on for too long.
    pub async fn end(&mut self) -> io::Result<ExitStatus> {
        // It is not reaped yet, so the id is its own.
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        if let Some(pid) = pid {
            let _ = kill_process(pid, Signal::TERM);
        }
        self.wait_for(GRACE).await
    }

    /// Waits for its end; kills it after that time.
    pub async fn wait_for(&mut self, most: Duration) -> io::Result<ExitStatus> {
        let mut waited = Duration::ZERO;
        while waited < most {
            if let Some(status) = self.child.try_wait()? {
                return Ok(status);
            }
            tokio::time::sleep(LOOK).await;
            waited += LOOK;
        }
        self.child.kill()?;
        self.child.wait()
    }
}

/// It is there even if its file was replaced meanwhile.
#[cfg(target_os = "linux")]
fn program() -> io::Result<PathBuf> {
    Ok(PathBuf::from(guard::PROGRAM))
}

#[cfg(not(target_os = "linux"))]
fn program() -> io::Result<PathBuf> {
    std::env::current_exe()
}

/// The socket to the process that started this one, until the report.
static STARTER: Mutex<Option<UnixStream>> = Mutex::new(None);

/// Whether this process is a detached run.
pub fn is_one() -> bool {
    std::env::args_os().next().is_some_and(|name| name == NAME)
}

/// The first acts of a process that was started by [`DetachedProcess::start`]. Returns whether this is one.
pub fn begin() -> bool {
    if !is_one() {
        return false;
    }
    // It cannot lead a group yet, so this succeeds.
    let _ = rustix::process::setsid();
    let starter = rustix::stdio::stdin().try_clone_to_owned();
    let placed = File::open("/dev/null").and_then(|null| Ok(rustix::stdio::dup2_stdin(&null)?));
    if let (Ok(starter), Ok(())) = (starter, placed) {
        *STARTER.lock().unwrap_or_else(PoisonError::into_inner) = Some(starter.into());
    }
    true
}

/// Reports to the process that started this one, once. Returns whether it still listens.
pub fn report(bytes: &[u8]) -> bool {
    let starter = STARTER.lock().unwrap_or_else(PoisonError::into_inner).take();
    starter.is_some_and(|mut starter| starter.write_all(bytes).is_ok())
}

/// Makes a file the standard output and error of this process.
pub fn print_to(file: &File) -> io::Result<()> {
    rustix::stdio::dup2_stdout(file.as_fd())?;
    rustix::stdio::dup2_stderr(file.as_fd())?;
    Ok(())
}
