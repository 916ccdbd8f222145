//! System calls that no safe function offers: forks into a control group, entries into namespaces,
//! and the end of all inherited files.
//!
//! Invariant: only the guard, the fork server and a detached run before its first act call this,
//! and they have one thread. So a fork copies the whole process, and no other thread holds a lock
//! or a descriptor that the copy would miss. `end_with_thread` alone is for any process.
#![allow(unsafe_code)] // door: fork, clone3, unshare, signal, close_range, a call before exec

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, getpid, getppid, set_parent_process_death_signal};

/// The first flag beyond 32 bits, which `libc` names in a type too small for it.
const CLONE_INTO_CGROUP: u64 = 1 << 33;

/// `None` in the child.
pub(super) fn fork(group: Option<BorrowedFd<'_>>) -> io::Result<Option<Pid>> {
    match group {
        // SAFETY: there is one thread, so the child has everything that it may use.
        None => child_pid(unsafe { libc::fork() }.into()),
        Some(group) => fork_into(group),
    }
}

fn child_pid(pid: i64) -> io::Result<Option<Pid>> {
    match pid {
        ..0 => Err(io::Error::last_os_error()),
        0 => Ok(None),
        _ => Ok(i32::try_from(pid).ok().and_then(Pid::from_raw)),
    }
}

/// The child is born in the group, and is never outside it.
pub(super) fn fork_into(group: BorrowedFd<'_>) -> io::Result<Option<Pid>> {
    // SAFETY: all zeros are a valid value of this structure of numbers.
    let mut args: libc::clone_args = unsafe { std::mem::zeroed() };
    args.flags = CLONE_INTO_CGROUP;
    args.exit_signal = libc::SIGCHLD.cast_unsigned().into();
    args.cgroup = group.as_raw_fd().cast_unsigned().into();
    // SAFETY: as `fork`; no stack and no memory is shared, and the structure lives until it returns.
    child_pid(unsafe { libc::syscall(libc::SYS_clone3, &raw mut args, size_of_val(&args)) })
}

/// The child becomes a child of our parent: a sibling.
pub(super) fn fork_sibling() -> io::Result<Option<Pid>> {
    // SAFETY: all zeros are a valid value of this structure of numbers.
    let mut args: libc::clone_args = unsafe { std::mem::zeroed() };
    args.flags = libc::CLONE_PARENT.cast_unsigned().into();
    // SAFETY: as `fork_into`; its parent gets the same signal at its end as at ours.
    child_pid(unsafe { libc::syscall(libc::SYS_clone3, &raw mut args, size_of_val(&args)) })
}

/// The program is killed when the thread that starts it ends, and so when this process does.
pub(in super::super) fn end_with_thread(command: &mut Command) {
    let us = getpid();
    let tie = move || {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        // This process may have ended before.
        match getppid() == Some(us) {
            true => Ok(()),
            false => Err(Errno::SRCH.into()),
        }
    };
    // SAFETY: in the copy it makes two system calls. It takes no lock and no memory.
    unsafe { command.pre_exec(tie) };
}

pub(super) fn unshare(flags: i32) -> io::Result<()> {
    // SAFETY: it changes what later calls of this one thread see; no memory is touched.
    match unsafe { libc::unshare(flags) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// From here on children that end leave no zombie.
pub(super) fn forget_children() {
    // SAFETY: no function of ours is set as a handler.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_IGN) };
}

/// Closes every file beyond the three standard streams.
pub(super) fn close_inherited() {
    // SAFETY: nothing of this process has opened a file yet, so no value owns one of these.
    unsafe { libc::syscall(libc::SYS_close_range, 3_u32, u32::MAX, 0_u32) };
}
