//! The system calls whose effect is visible outside once the program is dead.
//!
//! A program killed before an inward call leaves the same world as one killed before the next outward call. Its
//! descriptors, locks, leases, memory and threads go with it. So these are all the moments at which a kill can make a
//! difference.

use nix::libc;

use super::call::Call;

/// Calls that change nothing but the program itself. An unknown call counts as outward.
pub const INWARD: &[i64] = &[
    libc::SYS_read,
    libc::SYS_pread64,
    libc::SYS_readv,
    libc::SYS_close,
    libc::SYS_lseek,
    libc::SYS_stat,
    libc::SYS_fstat,
    libc::SYS_lstat,
    libc::SYS_newfstatat,
    libc::SYS_statx,
    libc::SYS_statfs,
    libc::SYS_fstatfs,
    libc::SYS_access,
    libc::SYS_faccessat,
    libc::SYS_faccessat2,
    libc::SYS_readlink,
    libc::SYS_readlinkat,
    libc::SYS_getdents64,
    libc::SYS_getcwd,
    libc::SYS_mmap,
    libc::SYS_munmap,
    libc::SYS_mprotect,
    libc::SYS_mremap,
    libc::SYS_madvise,
    libc::SYS_brk,
    libc::SYS_futex,
    libc::SYS_set_robust_list,
    libc::SYS_rseq,
    libc::SYS_set_tid_address,
    libc::SYS_arch_prctl,
    libc::SYS_sched_getaffinity,
    libc::SYS_sched_yield,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigreturn,
    libc::SYS_sigaltstack,
    libc::SYS_gettid,
    libc::SYS_getpid,
    libc::SYS_getppid,
    libc::SYS_getuid,
    libc::SYS_geteuid,
    libc::SYS_getgid,
    libc::SYS_getegid,
    libc::SYS_uname,
    libc::SYS_sysinfo,
    libc::SYS_getrandom,
    libc::SYS_prlimit64,
    libc::SYS_getrlimit,
    libc::SYS_clock_gettime,
    libc::SYS_clock_nanosleep,
    libc::SYS_nanosleep,
    libc::SYS_poll,
    libc::SYS_ppoll,
    libc::SYS_epoll_create1,
    libc::SYS_epoll_ctl,
    libc::SYS_epoll_wait,
    libc::SYS_epoll_pwait,
    libc::SYS_eventfd2,
    libc::SYS_pipe2,
    libc::SYS_dup,
    libc::SYS_dup2,
    libc::SYS_dup3,
    libc::SYS_fcntl,
    libc::SYS_flock,
    libc::SYS_inotify_init1,
    libc::SYS_inotify_add_watch,
    libc::SYS_inotify_rm_watch,
    libc::SYS_socketpair,
    libc::SYS_pidfd_open,
    libc::SYS_exit,
    libc::SYS_getxattr,
    libc::SYS_fgetxattr,
    libc::SYS_restart_syscall,
];

pub const MAKES_A_FILE: u64 =
    (libc::O_CREAT | libc::O_TRUNC | libc::O_TMPFILE & !libc::O_DIRECTORY).cast_unsigned() as u64;

pub fn makes_a_file(call: &Call) -> bool {
    match call.number {
        libc::SYS_openat => call.args[2] & MAKES_A_FILE != 0,
        libc::SYS_open => call.args[1] & MAKES_A_FILE != 0,
        _ => false,
    }
}

pub fn is_outward(call: &Call) -> bool {
    match call.number {
        libc::SYS_openat | libc::SYS_open => makes_a_file(call),
        libc::SYS_clone3 => call.word(0) & libc::CLONE_THREAD.cast_unsigned() as u64 == 0,
        libc::SYS_clone => call.args[0] & libc::CLONE_THREAD.cast_unsigned() as u64 == 0,
        // A wake-up of the program's own.
        libc::SYS_write => !call.file(0).starts_with("anon_inode:"),
        number => !INWARD.contains(&number),
    }
}
