//! Every system call of a program, over all its threads, with a fault at one of them: it fails, or writes less than
//! asked.
//!
//! Invariant: only the program's own threads are traced, never its children; a traced thread dies with its tracer. Not
//! here: the choice of calls, and the facts that must hold afterwards.

use std::{collections::HashMap, process::Command, sync::mpsc, time::Duration};

use nix::{
    errno::Errno,
    sys::{
        ptrace::{self, Options},
        signal::{self, Signal},
        wait::{WaitPidFlag, WaitStatus, waitpid},
    },
    unistd::Pid,
};

use super::call::{Call, in_place_of};

/// Far more than a traced run takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);
/// `PTRACE_SYSCALL_INFO_ENTRY`.
const ENTRY: u8 = 1;

/// The outcome that a call is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Happens,
    Fails(Errno),
    /// Half of the bytes that its third argument asks for.
    Halves,
}

#[derive(Debug)]
pub struct Traced {
    pub code: Option<i32>,
    pub signal: Option<Signal>,
}

/// Runs it to its end. `judge` is asked at the entry of every call.
#[track_caller]
pub fn trace(command: &Command, judge: impl FnMut(&Call) -> Fate + Send) -> Traced {
    let (tell_pid, pid) = mpsc::channel();
    let (tell_end, end) = mpsc::channel();
    std::thread::scope(|scope| {
        // The kernel knows one thread as the tracer: that thread starts, traces and waits.
        scope.spawn(move || {
            let root = start_stopped(command);
            tell_pid.send(root).unwrap();
            tell_end.send(Tracer::new(root, judge).run()).unwrap();
        });
        let root = pid.recv().expect("it starts");
        end.recv_timeout(PATIENCE).unwrap_or_else(|_| {
            let _ = signal::kill(root, Signal::SIGKILL);
            panic!("traced, it did not end: {command:?}");
        })
    })
}

/// Starts a shell that stops itself before it becomes the program, so that no call of the program is missed.
fn start_stopped(command: &Command) -> Pid {
    let mut shell = Command::new("sh");
    shell.args(["-c", "kill -STOP $$; exec \"$@\"", "sh"]);
    shell.arg(command.get_program());
    let child = in_place_of(command, shell).spawn().expect("a shell");
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap());
    waitpid(pid, Some(WaitPidFlag::WUNTRACED)).expect("it stops");
    let options = Options::PTRACE_O_TRACESYSGOOD
        | Options::PTRACE_O_TRACECLONE
        | Options::PTRACE_O_TRACEEXEC
        | Options::PTRACE_O_EXITKILL;
    ptrace::seize(pid, options).expect("it may be traced");
    signal::kill(pid, Signal::SIGCONT).expect("it lives");
    pid
}

/// The part of a change that is done at the exit of a call.
#[derive(Clone, Copy)]
enum Rest {
    Fail(Errno),
    Restore(u64),
}

struct Tracer<J> {
    root: Pid,
    judge: J,
    is_program: bool,
    rests: HashMap<Pid, Rest>,
}

impl<J: FnMut(&Call) -> Fate> Tracer<J> {
    fn new(root: Pid, judge: J) -> Self {
        Self { root, judge, is_program: false, rests: HashMap::new() }
    }

    fn run(mut self) -> Traced {
        let (mut code, mut signal) = (None, None);
        let which = WaitPidFlag::__WALL | WaitPidFlag::__WNOTHREAD;
        loop {
            match waitpid(None, Some(which)) {
                Ok(WaitStatus::Exited(pid, with)) if pid == self.root => code = Some(with),
                Ok(WaitStatus::Signaled(pid, by, _)) if pid == self.root => signal = Some(by),
                Ok(WaitStatus::PtraceSyscall(thread)) => self.at_call(thread),
                Ok(WaitStatus::PtraceEvent(thread, _, event)) => {
                    self.is_program |= event == nix::libc::PTRACE_EVENT_EXEC;
                    go_on(thread, None);
                }
                Ok(WaitStatus::Stopped(thread, by)) => go_on(thread, Some(by)),
                Ok(_) | Err(Errno::EINTR) => {}
                Err(Errno::ECHILD) => break,
                Err(error) => panic!("waiting for a traced program: {error}"),
            }
        }
        Traced { code, signal }
    }

    fn at_call(&mut self, thread: Pid) {
        let is_entry = ptrace::syscall_info(thread).is_ok_and(|info| info.op == ENTRY);
        if is_entry && self.is_program {
            self.at_entry(thread);
        } else if let Some(rest) = self.rests.remove(&thread) {
            finish(thread, rest);
        }
        go_on(thread, None);
    }

    fn at_entry(&mut self, thread: Pid) {
        let (number, args) = registers::of(thread);
        match (self.judge)(&Call { number, args, thread }) {
            Fate::Happens => {}
            Fate::Fails(errno) => {
                registers::skip(thread);
                self.rests.insert(thread, Rest::Fail(errno));
            }
            Fate::Halves => {
                registers::set_third(thread, args[2].div_ceil(2));
                self.rests.insert(thread, Rest::Restore(args[2]));
            }
        }
    }
}

fn finish(thread: Pid, rest: Rest) {
    match rest {
        Rest::Fail(errno) => registers::set_result(thread, -i64::from(errno as i32)),
        Rest::Restore(third) => registers::set_third(thread, third),
    }
}

/// Lets a thread go on, unless it has been killed meanwhile.
fn go_on(thread: Pid, with: Option<Signal>) {
    let _ = ptrace::syscall(thread, with);
}

#[cfg(target_arch = "x86_64")]
mod registers {
    //! The registers in which this processor keeps the number of a call, its arguments and its result.
    use nix::{libc::user_regs_struct, sys::ptrace, unistd::Pid};

    pub fn of(thread: Pid) -> (i64, [u64; 6]) {
        let Ok(now) = ptrace::getregs(thread) else {
            return (-1, [0; 6]);
        };
        let args = [now.rdi, now.rsi, now.rdx, now.r10, now.r8, now.r9];
        (now.orig_rax.cast_signed(), args)
    }

    pub fn skip(thread: Pid) {
        change(thread, |now| now.orig_rax = u64::MAX);
    }

    pub fn set_result(thread: Pid, result: i64) {
        change(thread, |now| now.rax = result.cast_unsigned());
    }

    pub fn set_third(thread: Pid, value: u64) {
        change(thread, |now| now.rdx = value);
    }

    fn change(thread: Pid, how: impl FnOnce(&mut user_regs_struct)) {
        if let Ok(mut now) = ptrace::getregs(thread) {
            how(&mut now);
            let _ = ptrace::setregs(thread, now);
        }
    }
}
