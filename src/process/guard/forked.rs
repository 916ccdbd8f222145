//! A guard that the fork server made as a child of ours, waited for by a pidfd.
//!
//! Invariant: it is reaped once, even if it is dropped before it has ended. Until then its id
//! belongs to nobody else.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, WaitId, WaitIdOptions, pidfd_open, waitid};

use super::super::timeouts::REAP_MAX;
use super::kernel;

/// A child of ours that another process forked.
#[derive(Debug)]
pub(crate) struct ForkedGuard {
    /// `None` once it was reaped.
    handle: Option<OwnedFd>,
    status: Option<ExitStatus>,
}

impl ForkedGuard {
    /// The child is not reaped yet, so the id is its own.
    pub(crate) fn from_pid(pid: u32) -> io::Result<ForkedGuard> {
        let raw = i32::try_from(pid).ok().and_then(Pid::from_raw);
        let pid = raw.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(ForkedGuard { handle: Some(Self::handle(pid)?), status: None })
    }

    pub(super) fn handle(pid: Pid) -> io::Result<OwnedFd> {
        Ok(pidfd_open(pid, PidfdFlags::empty())?)
    }

    pub(in super::super) async fn wait(&mut self) -> io::Result<ExitStatus> {
        loop {
            if let Some(handle) = &self.handle {
                // A pidfd can be read from the end of its process on.
                let end = kernel::watch_reads(handle)?;
                let _ = end.readable().await?;
            }
            if let Some(status) = self.try_wait()? {
                return Ok(status);
            }
        }
    }

    pub(in super::super) fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        let Some(handle) = self.handle.as_ref().filter(|_| self.status.is_none()) else {
            return Ok(self.status);
        };
        let how = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
        let Some(ended) = waitid(WaitId::PidFd(handle.as_fd()), how)? else {
            return Ok(None);
        };
        let raw = match (ended.exit_status(), ended.terminating_signal()) {
            (Some(code), _) => code << 8,
            (None, signal) => signal.unwrap_or(libc::SIGKILL),
        };
        self.status = Some(ExitStatus::from_raw(raw));
        self.handle = None;
        Ok(self.status)
    }
}

impl Drop for ForkedGuard {
    /// Dropping a guard ends it. A thread reaps it when it is gone.
    fn drop(&mut self) {
        if self.handle.is_none() || matches!(self.try_wait(), Ok(Some(_)) | Err(_)) {
            return;
        }
        let mut rest = ForkedGuard { handle: self.handle.take(), status: None };
        let reap = move || {
            let Some(handle) = rest.handle.take() else {
                return;
            };
            let most =
                Timespec { tv_sec: i64::try_from(REAP_MAX.as_secs()).unwrap_or(1), tv_nsec: 0 };
            let _ = poll(&mut [PollFd::new(&handle, PollFlags::IN)], Some(&most));
            let how = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
            let _ = waitid(WaitId::PidFd(handle.as_fd()), how);
        };
        // Without a thread it stays a zombie until this process ends.
        let _ = std::thread::Builder::new().name("reaper".to_owned()).spawn(reap);
    }
}
