//! System calls that no safe function offers: forks into a control group, children that share our
//! memory until their `execve`, entries into namespaces, and the end of all inherited files.
//!
//! Invariant: only the guard, the fork server and a detached run before its first act call this,
//! and they have one thread. So a fork copies the whole process, and no other thread holds a lock
//! or a descriptor that the copy would miss. `end_with_thread` alone is for any process.
#![allow(unsafe_code)] // door: fork, clone3, execve, unshare, signal, close_range, a call before exec

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, getpid, getppid, set_parent_process_death_signal};

use super::texts::Texts;

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

/// Starts a child that acts, and exits with the code of that if it comes back from it. It returns
/// when the child runs another program or has ended.
///
/// The child shares our memory, because a copy of it costs more than all else of a start. Meanwhile
/// we stand still. The act must allocate nothing and take no lock.
pub(super) fn start<A: Fn() -> i32>(group: Option<BorrowedFd<'_>>, act: &A) -> io::Result<Pid> {
    let child = clone_sharing(libc::CLONE_VFORK, group, act)?;
    child.ok_or_else(|| Errno::SRCH.into())
}

/// The machines for which a child with a stack of its own is written down here.
#[cfg(target_arch = "x86_64")]
fn clone_sharing<A: Fn() -> i32>(
    flags: i32,
    group: Option<BorrowedFd<'_>>,
    act: &A,
) -> io::Result<Option<Pid>> {
    /// The first function on the new stack.
    extern "C" fn begin<A: Fn() -> i32>(act: &A) -> ! {
        let code = act();
        // SAFETY: it ends this process alone, and runs nothing of the memory that it shares.
        unsafe { libc::_exit(code) }
    }
    // The kernel takes the lowest address, and the size.
    let mut stack = vec![0_u128; STACK_BYTES / size_of::<u128>()];
    // SAFETY: all zeros are a valid value of this structure of numbers.
    let mut args: libc::clone_args = unsafe { std::mem::zeroed() };
    args.flags = (libc::CLONE_VM | flags).cast_unsigned().into();
    args.exit_signal = libc::SIGCHLD.cast_unsigned().into();
    args.stack = stack.as_mut_ptr() as u64;
    args.stack_size = STACK_BYTES as u64;
    if let Some(group) = group {
        args.flags |= CLONE_INTO_CGROUP;
        args.cgroup = group.as_raw_fd().cast_unsigned().into();
    }
    let answer: i64;
    // SAFETY: the child goes on with `begin` on its own stack, and never comes back here. We go on
    // when it has left our memory, so stack and act live as long as it uses them.
    unsafe {
        std::arch::asm!(
            "syscall",
            "test rax, rax",
            "jnz 2f",
            "xor ebp, ebp",
            "mov rdi, r13",
            "call r12",
            "ud2",
            "2:",
            inlateout("rax") libc::SYS_clone3 => answer,
            in("rdi") &raw mut args,
            in("rsi") size_of_val(&args),
            in("r12") begin::<A> as extern "C" fn(&A) -> !,
            in("r13") std::ptr::from_ref(act),
            lateout("rcx") _,
            lateout("r11") _,
        );
    }
    match i32::try_from(answer) {
        Ok(pid @ 1..) => Ok(Pid::from_raw(pid)),
        Ok(error) => Err(io::Error::from_raw_os_error(-error)),
        Err(_) => Err(Errno::SRCH.into()),
    }
}

/// Room for the few calls of such a child, with all checks of a build for tests.
#[cfg(target_arch = "x86_64")]
const STACK_BYTES: usize = 64 * 1024;

/// Elsewhere the child gets a copy of our memory.
#[cfg(not(target_arch = "x86_64"))]
fn clone_sharing<A: Fn() -> i32>(
    _flags: i32,
    group: Option<BorrowedFd<'_>>,
    act: &A,
) -> io::Result<Option<Pid>> {
    match fork(group)? {
        Some(child) => Ok(Some(child)),
        // SAFETY: it ends this process alone.
        None => unsafe { libc::_exit(act()) },
    }
}

/// Becomes another program. It returns with the error if that fails.
pub(super) fn execute(file: &CStr, args: &Texts, env: &Texts) -> Errno {
    let (args, env) = (args.raw().as_ptr(), env.raw().as_ptr());
    // SAFETY: both lists end with a null pointer, and their texts with a zero byte.
    unsafe { libc::execve(file.as_ptr(), args, env) };
    Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::IO)
}

/// Undoes for a program what our own start and the guard changed of its signals.
pub(super) fn default_signals() {
    // SAFETY: no function of ours is set as a handler, and the set is a value of its own.
    unsafe {
        libc::signal(libc::SIGPIPE, libc::SIG_DFL);
        let mut none = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
        libc::sigemptyset(none.as_mut_ptr());
        libc::sigprocmask(libc::SIG_SETMASK, none.as_ptr(), std::ptr::null_mut());
    }
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
