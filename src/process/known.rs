//! One certain process, not its successor with the same id.
//!
//! Invariant: a signal goes only to the process whose start time was compared after it was opened.

use std::os::fd::OwnedFd;

use rustix::process::{Pid, Signal};

use super::table;

/// A process that was alive, with its start time.
#[derive(Debug)]
pub struct KnownProcess {
    pid: Pid,
    start_ticks: u64,
    /// `None` if the kernel is too old or descriptors have run out.
    fd: Option<OwnedFd>,
}

impl KnownProcess {
    /// The process with this id if it started then: `start_ticks` since boot.
    pub fn open(pid: u32, start_ticks: u64) -> Option<Self> {
        let pid = to_pid(pid)?;
        let process = Self { pid, start_ticks, fd: open_fd(pid) };
        process.is_still_it().then_some(process)
    }

    fn is_still_it(&self) -> bool {
        let pid = self.pid.as_raw_nonzero().get().unsigned_abs();
        table::entry(pid).is_some_and(|now| now.start_ticks == self.start_ticks)
    }

    /// This fails if the process has ended or is another user's: the next look tells.
    pub fn send(&self, signal: Signal) {
        match &self.fd {
            #[cfg(target_os = "linux")]
            Some(fd) => drop(rustix::process::pidfd_send_signal(fd, signal)),
            _ if self.is_still_it() => drop(rustix::process::kill_process(self.pid, signal)),
            _ => {}
        }
    }
}

#[cfg(target_os = "linux")]
fn open_fd(pid: Pid) -> Option<OwnedFd> {
    rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()).ok()
}

#[cfg(not(target_os = "linux"))]
fn open_fd(_pid: Pid) -> Option<OwnedFd> {
    None
}

/// Never 0, which would mean our own group, nor 1.
pub(super) fn to_pid(pid: u32) -> Option<Pid> {
    i32::try_from(pid).ok().filter(|pid| *pid > 1).and_then(Pid::from_raw)
}
