//! System calls that no safe function offers: a fork, an act before a program begins, entries into namespaces, signals,
//! and the end of all inherited files.
//!
//! Invariant: only the guard and a detached run before its first act call this, and they have one thread. So a fork copies
//! the whole process, and no other thread holds a lock or a descriptor that the copy would miss. `end_with_thread` is for
//! any process.
#![allow(unsafe_code)] // door: fork, clone3, a call before exec, signalfd, unshare, mount_setattr, signal, close_range

use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, getpid, getppid, set_parent_process_death_signal};

use super::super::cgroup::Leaf;

/// The first flag beyond 32 bits, which `libc` names in a type too small for it.
const CLONE_INTO_CGROUP: u64 = 1 << 33;

/// Copies this process, into the group of that directory if there is one. `None` in the copy.
///
/// A copy that is born in a group waits for nothing. One that moves there waits for all processors.
pub(super) fn fork(group: Option<&File>) -> io::Result<Option<Pid>> {
    if let Some(Ok(copy)) = group.map(fork_into) {
        return Ok(copy);
    }
    // SAFETY: there is one thread, so the copy has everything that it may use.
    match unsafe { libc::fork() } {
        ..0 => Err(io::Error::last_os_error()),
        0 => group
            .map_or(Ok(None), |group| Leaf::join(group).map(|()| None).map_err(io::Error::from)),
        pid => Ok(Pid::from_raw(pid)),
    }
}

/// Fails where the kernel, or what guards it, knows no such call.
fn fork_into(group: &File) -> io::Result<Option<Pid>> {
    // SAFETY: all zeros are a valid value of this structure of numbers.
    let mut args: libc::clone_args = unsafe { std::mem::zeroed() };
    args.flags = CLONE_INTO_CGROUP;
    args.exit_signal = libc::SIGCHLD.cast_unsigned().into();
    args.cgroup = group.as_raw_fd().cast_unsigned().into();
    // SAFETY: there is one thread, no memory is shared, and the structure lives until the call returns.
    match unsafe { libc::syscall(libc::SYS_clone3, &raw mut args, size_of_val(&args)) } {
        ..0 => Err(io::Error::last_os_error()),
        pid => Ok(i32::try_from(pid).ok().and_then(Pid::from_raw)),
    }
}

/// The program begins only after that act, which makes system calls alone: it takes no lock and no memory.
pub(super) fn before_exec(
    command: &mut Command,
    act: impl FnMut() -> io::Result<()> + Send + Sync + 'static,
) {
    // SAFETY: system calls alone are safe in a copy of any process.
    unsafe { command.pre_exec(act) };
}

/// The program is killed when the thread that starts it ends, and so when this process does.
pub(in super::super) fn end_with_thread(command: &mut Command) {
    let us = getpid();
    before_exec(command, move || {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        // This process may have ended before.
        if getppid() == Some(us) { Ok(()) } else { Err(Errno::SRCH.into()) }
    });
}

/// Makes a mount read-only, and none below it.
pub(super) fn make_read_only(at: &CStr) -> io::Result<()> {
    let mut attr = libc::mount_attr {
        attr_set: libc::MOUNT_ATTR_RDONLY,
        attr_clr: 0,
        propagation: 0,
        userns_fd: 0,
    };
    let attr = std::ptr::from_mut(&mut attr);
    let size = size_of::<libc::mount_attr>();
    // SAFETY: the text ends with a zero byte, and the structure lives until the call returns.
    match unsafe {
        libc::syscall(libc::SYS_mount_setattr, libc::AT_FDCWD, at.as_ptr(), 0, attr, size)
    } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

pub(super) fn unshare(flags: i32) -> io::Result<()> {
    // SAFETY: it changes what later calls of this one thread see; no memory is touched.
    match unsafe { libc::unshare(flags) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// A descriptor that can be read when a child has ended. From here on nothing else tells of it.
pub(super) fn child_ends() -> io::Result<OwnedFd> {
    // SAFETY: no function of ours is set as a handler, the set is a value of its own, and the
    // descriptor is new.
    unsafe {
        libc::signal(libc::SIGCHLD, libc::SIG_DFL);
        let mut ends = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
        libc::sigemptyset(ends.as_mut_ptr());
        libc::sigaddset(ends.as_mut_ptr(), libc::SIGCHLD);
        libc::sigprocmask(libc::SIG_BLOCK, ends.as_ptr(), std::ptr::null_mut());
        match libc::signalfd(-1, ends.as_ptr(), libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) {
            ..0 => Err(io::Error::last_os_error()),
            fd => Ok(OwnedFd::from_raw_fd(fd)),
        }
    }
}

/// From here on children that end leave no zombie.
pub(super) fn forget_children() {
    // SAFETY: no function of ours is set as a handler.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_IGN) };
}

/// Keeps every file beyond the three standard streams from programs that are started later.
pub(super) fn keep_inherited() {
    let flags = libc::CLOSE_RANGE_CLOEXEC;
    // SAFETY: it changes a flag of descriptors, and no memory.
    unsafe { libc::syscall(libc::SYS_close_range, 3_u32, u32::MAX, flags) };
}
