//! System calls that no safe function offers: children in a control group that share our memory,
//! siblings, entries into namespaces, signals, and the end of all inherited files.
//!
//! Invariant: only the guard, the fork server and a detached run before its first act call this,
//! and they have one thread. So a fork copies the whole process, and no other thread holds a lock
//! or a descriptor that the copy would miss. `end_with_thread` and `watch_reads` are for any process.
#![allow(unsafe_code)] // door: clone3, execve, signalfd, unshare, mount_setattr, signal, close_range, a call before exec

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, getpid, getppid, set_parent_process_death_signal};
use tokio::io::{Interest, unix::AsyncFd};

use super::texts::Texts;

/// The first flag beyond 32 bits, which `libc` names in a type too small for it.
const CLONE_INTO_CGROUP: u64 = 1 << 33;

/// A child that is born in the group, and is never outside it.
fn clone_args(group: BorrowedFd<'_>) -> libc::clone_args {
    // SAFETY: all zeros are a valid value of this structure of numbers.
    let mut args: libc::clone_args = unsafe { std::mem::zeroed() };
    args.flags = CLONE_INTO_CGROUP;
    args.exit_signal = libc::SIGCHLD.cast_unsigned().into();
    args.cgroup = group.as_raw_fd().cast_unsigned().into();
    args
}

fn child_pid(pid: i64) -> io::Result<Option<Pid>> {
    match pid {
        ..0 => Err(io::Error::last_os_error()),
        0 => Ok(None),
        _ => Ok(i32::try_from(pid).ok().and_then(Pid::from_raw)),
    }
}

/// Starts a child that acts, and exits with the code of that if it comes back from it. It returns
/// when the child runs another program or has ended.
///
/// The child shares our memory, because a copy of it costs more than all else of a start. Meanwhile
/// we stand still. The act must allocate nothing and take no lock.
pub(super) fn start<A: Fn() -> i32>(group: Option<BorrowedFd<'_>>, act: &A) -> io::Result<Pid> {
    let mut stack = vec![0; STACK_WORDS];
    clone_sharing(libc::CLONE_VFORK, group, &mut stack, act)
}

/// Like [`start`], but the child acts beside us. It shares our memory to its end.
///
/// Only calls of the kernel may be made in the act, once we go on ourselves.
pub(super) fn start_beside<A: Fn() -> i32 + 'static>(
    group: Option<BorrowedFd<'_>>,
    act: A,
) -> io::Result<Pid> {
    // They are never freed, for nobody tells when the child uses them no more.
    let (stack, act) = (vec![0; STACK_WORDS].leak(), Box::leak(Box::new(act)));
    clone_sharing(0, group, stack, act)
}

/// 64 KiB for the few calls of such a child, with all checks of a build for tests.
const STACK_WORDS: usize = 4096;

/// The machines for which a child with a stack of its own is written down here.
#[cfg(target_arch = "x86_64")]
fn clone_sharing<A: Fn() -> i32>(
    flags: i32,
    group: Option<BorrowedFd<'_>>,
    stack: &mut [u128],
    act: &A,
) -> io::Result<Pid> {
    /// The first function on the new stack.
    extern "C" fn begin<A: Fn() -> i32>(act: &A) -> ! {
        let code = act();
        // SAFETY: it ends this process alone, and runs nothing of the memory that it shares.
        unsafe { libc::_exit(code) }
    }
    let flags = libc::CLONE_VM | flags;
    let mut args = group.map(clone_args);
    // Without a group the older call is enough. It takes the end of the stack.
    let (call, first, second) = match &mut args {
        Some(args) => {
            args.flags |= u64::from(flags.cast_unsigned());
            args.stack = stack.as_mut_ptr() as u64;
            args.stack_size = size_of_val(stack) as u64;
            let first = std::ptr::from_mut(args) as u64;
            (libc::SYS_clone3, first, size_of_val(args) as u64)
        }
        None => {
            let flags = u64::from((flags | libc::SIGCHLD).cast_unsigned());
            let end = stack.as_mut_ptr_range().end as u64;
            (libc::SYS_clone, flags, end)
        }
    };
    let answer: i64;
    // SAFETY: the child goes on with `begin` on its own stack, and never comes back here. Stack and
    // act live until it is done: we wait for that, or they live for ever.
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
            inlateout("rax") call => answer,
            in("rdi") first,
            in("rsi") second,
            // The older call has three more, which tell nothing.
            in("rdx") 0_u64,
            in("r10") 0_u64,
            in("r8") 0_u64,
            in("r12") begin::<A> as extern "C" fn(&A) -> !,
            in("r13") std::ptr::from_ref(act),
            lateout("rcx") _,
            lateout("r11") _,
        );
    }
    let answer = i32::try_from(answer).unwrap_or(-libc::ESRCH);
    Pid::from_raw(answer.max(0)).ok_or_else(|| io::Error::from_raw_os_error(-answer))
}

/// Elsewhere the child gets a copy of our memory.
#[cfg(not(target_arch = "x86_64"))]
fn clone_sharing<A: Fn() -> i32>(
    _flags: i32,
    group: Option<BorrowedFd<'_>>,
    _stack: &mut [u128],
    act: &A,
) -> io::Result<Pid> {
    // SAFETY: no stack and no memory is shared, and the structure lives until it returns.
    let answer = match group.map(clone_args) {
        Some(mut args) => unsafe {
            libc::syscall(libc::SYS_clone3, &raw mut args, size_of_val(&args))
        },
        None => unsafe { libc::fork() }.into(),
    };
    match child_pid(answer)? {
        Some(child) => Ok(child),
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

/// The child becomes a child of our parent: a sibling. `None` in the child.
pub(super) fn fork_sibling() -> io::Result<Option<Pid>> {
    // SAFETY: all zeros are a valid value of this structure of numbers.
    let mut args: libc::clone_args = unsafe { std::mem::zeroed() };
    args.flags = libc::CLONE_PARENT.cast_unsigned().into();
    // SAFETY: no stack and no memory is shared, and the structure lives until it returns. There is
    // one thread, so the child has everything that it may use. Its parent gets the same signal at
    // its end as at ours.
    child_pid(unsafe { libc::syscall(libc::SYS_clone3, &raw mut args, size_of_val(&args)) })
}

/// The program is killed when the thread that starts it ends, and so when this process does.
pub(in super::super) fn end_with_thread(command: &mut Command) {
    let us = getpid();
    let tie = move || {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        // This process may have ended before.
        if getppid() == Some(us) { Ok(()) } else { Err(Errno::SRCH.into()) }
    };
    // SAFETY: in the copy it makes two system calls. It takes no lock and no memory.
    unsafe { command.pre_exec(tie) };
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

/// Tells in the runtime when the descriptor can be read.
pub(super) fn watch_reads(fd: &OwnedFd) -> io::Result<AsyncFd<BorrowedFd<'_>>> {
    // SAFETY: the descriptor is open, and the same, for as long as it is borrowed.
    let watched = unsafe { AsyncFd::register_with_interest(fd.as_fd(), Interest::READABLE) };
    Ok(watched?)
}

/// A descriptor of a child that shares our memory, in that child: its number alone is known there.
pub(super) fn lent(fd: RawFd) -> BorrowedFd<'static> {
    // SAFETY: the child has copies of all our descriptors, and closes this one at its end.
    unsafe { BorrowedFd::borrow_raw(fd) }
}

/// Closes a descriptor in such a child. Our own of that number stays.
pub(super) fn close_copy(fd: RawFd) {
    // SAFETY: no value in the child owns it.
    unsafe { libc::close(fd) };
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
