//! A program that is killed at its N-th call with an outside effect, over all its threads.
//!
//! The kernel suspends such a call and hands its number to a watcher (`seccomp_unotify(2)`). That is one stop for each
//! call, and none for calls that change the program alone. A tracer stops at every call twice, which made a session
//! three times as long.
//!
//! Invariant: the program's children are under the same filter, and go on untouched for as long as they live.
#![allow(unsafe_code)] // door: a filter of system calls, and its notices

use std::{
    io,
    os::fd::{AsRawFd, FromRawFd, OwnedFd},
    path::Path,
    process::{Child, Command, ExitStatus},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
        mpsc,
    },
    time::Duration,
};

use nix::{
    errno::Errno,
    libc::{self, seccomp_notif, seccomp_notif_resp, sock_filter},
    sys::{
        prctl,
        signal::{self, Signal},
    },
    unistd::{self, Pid},
};

use super::{
    call::{Call, in_place_of},
    outward::{INWARD, MAKES_A_FILE, is_outward},
};

/// Far more than a run takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);
/// `SECCOMP_IOCTL_NOTIF_RECV` and `_SEND`.
const RECEIVE: libc::c_ulong = 0xc050_2100;
const SEND: libc::c_ulong = 0xc018_2101;

/// Whether this kernel, and this account's sandbox, allow such watching.
pub fn are_here() -> bool {
    std::thread::spawn(|| filter().is_ok()).join().unwrap_or(false)
}

/// Runs it until its `at`-th such call, and kills it before that happens. Returns its end, and the number of calls.
#[track_caller]
pub fn run_killed_at(command: &Command, at: u64) -> (ExitStatus, u64) {
    let program = in_place_of(command, Command::new(command.get_program()));
    let seen = Arc::new(AtomicU64::new(0));
    let (mut child, pid) = start_watched(program, at, &seen);
    let (tell, end) = mpsc::channel();
    std::thread::spawn(move || tell.send(child.wait()));
    let status = end.recv_timeout(PATIENCE).unwrap_or_else(|_| {
        let _ = signal::kill(pid, Signal::SIGKILL);
        panic!("watched, it did not end: {command:?}");
    });
    (status.expect("a child"), seen.load(Ordering::Relaxed))
}

/// The filter belongs to a thread and its children, for good. So a thread of its own takes it on, starts the program,
/// and ends.
fn start_watched(mut program: Command, at: u64, seen: &Arc<AtomicU64>) -> (Child, Pid) {
    let (tell_listener, listener) = mpsc::channel();
    let starter = std::thread::spawn(move || {
        let listener = filter().expect("a filter may be set");
        tell_listener.send((listener, unistd::gettid())).unwrap();
        program.spawn().expect("a program")
    });
    let (listener, thread) = listener.recv().expect("a filter may be set");
    let mut watcher = Watcher {
        listener,
        starter: thread,
        root: None,
        is_program: false,
        at,
        seen: Arc::clone(seen),
    };
    // It outlives the program: children left behind would fail in every call without it.
    std::thread::spawn(move || watcher.watch());
    let child = starter.join().expect("a program");
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap());
    (child, pid)
}

struct Watcher {
    listener: OwnedFd,
    starter: Pid,
    root: Option<Pid>,
    /// Whether it has made its first `execve`: before, it is a copy of the test.
    is_program: bool,
    at: u64,
    seen: Arc<AtomicU64>,
}

impl Watcher {
    fn watch(&mut self) {
        while let Some(notice) = self.next() {
            let call = Call {
                number: i64::from(notice.data.nr),
                args: notice.data.args,
                thread: Pid::from_raw(i32::try_from(notice.pid).unwrap()),
            };
            if self.is_the_kill(&call) {
                let root = self.root.expect("it made a call");
                signal::kill(root, Signal::SIGKILL).expect("it lives");
            } else {
                self.let_happen(notice.id);
            }
        }
    }

    fn is_the_kill(&mut self, call: &Call) -> bool {
        if call.thread == self.starter {
            return false;
        }
        let root = *self.root.get_or_insert(call.thread);
        if !self.is_program {
            self.is_program = call.thread == root && call.number == libc::SYS_execve;
            return false;
        }
        let is_own = Path::new(&format!("/proc/{root}/task/{}", call.thread)).exists();
        is_own && is_outward(call) && self.seen.fetch_add(1, Ordering::Relaxed) + 1 == self.at
    }

    /// `None` once nothing is left under the filter.
    fn next(&self) -> Option<seccomp_notif> {
        loop {
            let mut ready =
                libc::pollfd { fd: self.listener.as_raw_fd(), events: libc::POLLIN, revents: 0 };
            // SAFETY: one `pollfd`, which outlives the call.
            unsafe { libc::poll(&raw mut ready, 1, -1) };
            if ready.revents & libc::POLLIN == 0 && ready.revents & libc::POLLHUP != 0 {
                return None;
            }
            // SAFETY: plain numbers, for which zero is a value; the kernel asks for zeros.
            let mut notice: seccomp_notif = unsafe { std::mem::zeroed() };
            // SAFETY: the call fills the structure that it is named for.
            let got = unsafe { libc::ioctl(ready.fd, RECEIVE, &raw mut notice) };
            // Otherwise the caller has been killed meanwhile.
            if got == 0 {
                return Some(notice);
            }
        }
    }

    /// The caller may have been killed meanwhile.
    fn let_happen(&self, id: u64) {
        let flags = u32::try_from(libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE).unwrap();
        let mut answer = seccomp_notif_resp { id, val: 0, error: 0, flags };
        // SAFETY: the call reads the structure that it is named for.
        unsafe { libc::ioctl(self.listener.as_raw_fd(), SEND, &raw mut answer) };
    }
}

/// Puts this thread, and all that it will start, under the filter. Returns the descriptor that its notices come from.
fn filter() -> io::Result<OwnedFd> {
    prctl::set_no_new_privs()?;
    let mut steps = steps();
    let program =
        libc::sock_fprog { len: u16::try_from(steps.len()).unwrap(), filter: steps.as_mut_ptr() };
    // Killable only: a signal would end the waiting call, and it would be counted twice.
    let flags =
        libc::SECCOMP_FILTER_FLAG_NEW_LISTENER | libc::SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
    // SAFETY: the program and its steps outlive the call.
    let listener = unsafe {
        libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, &raw const program)
    };
    let listener = Errno::result(listener)?;
    // SAFETY: the call returned it, and nobody else has it.
    let listener = unsafe { OwnedFd::from_raw_fd(i32::try_from(listener).unwrap()) };
    Ok(listener)
}

/// Calls that certainly leave no trace outside happen at once; all others give a notice. Nothing here makes calls of
/// another architecture.
fn steps() -> Vec<sock_filter> {
    let load = |offset| step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, offset, 0, 0);
    let end = |with| step(libc::BPF_RET | libc::BPF_K, with, 0, 0);
    // Otherwise so many steps are skipped.
    let equals = |value, over| step(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, value, 0, over);
    let has = |bits, over| step(libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K, bits, 0, over);
    let (notice, happens) = (libc::SECCOMP_RET_USER_NOTIF, libc::SECCOMP_RET_ALLOW);
    let number = |number: i64| u32::try_from(number).unwrap();
    let at_number = 0;
    let low_half_of = |arg: u32| 16 + 8 * arg;
    let mut steps = vec![
        load(at_number),
        equals(number(libc::SYS_openat), 4),
        load(low_half_of(2)),
        has(u32::try_from(MAKES_A_FILE).unwrap(), 1),
        end(notice),
        end(happens),
    ];
    for inward in INWARD {
        steps.extend([equals(number(*inward), 1), end(happens)]);
    }
    steps.push(end(notice));
    steps
}

fn step(code: u32, k: u32, jt: u8, jf: u8) -> sock_filter {
    sock_filter { code: u16::try_from(code).unwrap(), jt, jf, k }
}
