//! Every system call of a program, counted over all its threads, with something done at one of them: the program is
//! killed before the call happens, or the call fails, or writes less than was asked.
//!
//! Invariant: the traced are the program's own threads, never its children; whoever is traced dies with its tracer.
//! Not here: which calls, and what must hold afterwards.

use std::{
    collections::HashMap,
    fs::File,
    os::unix::{fs::FileExt, process::CommandExt},
    process::{Command, Stdio},
    sync::mpsc,
    time::Duration,
};

use nix::{
    errno::Errno,
    sys::{
        ptrace::{self, Options},
        signal::{self, Signal},
        wait::{WaitPidFlag, WaitStatus, waitpid},
    },
    unistd::Pid,
};

/// Far more than a traced run takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);
const PATH_BYTES_MAX: usize = 4096;
/// `PTRACE_SYSCALL_INFO_ENTRY`.
const ENTRY: u8 = 1;

/// A call that is about to happen.
pub struct Call {
    pub number: i64,
    pub args: [u64; 6],
    thread: Pid,
}

impl Call {
    /// What a descriptor of the program's stands for: an argument of the call.
    pub fn file(&self, arg: usize) -> String {
        let link = format!("/proc/{}/fd/{}", self.thread, self.args[arg]);
        let target = std::fs::read_link(link).unwrap_or_default();
        target.to_string_lossy().into_owned()
    }

    /// The number that an argument points to.
    pub fn word(&self, arg: usize) -> u64 {
        let mut bytes = [0; 8];
        let memory = File::open(format!("/proc/{}/mem", self.thread));
        let _ = memory.and_then(|memory| memory.read_at(&mut bytes, self.args[arg]));
        u64::from_ne_bytes(bytes)
    }

    /// The text that an argument points to.
    pub fn text(&self, arg: usize) -> String {
        let mut bytes = vec![0; PATH_BYTES_MAX];
        let memory = File::open(format!("/proc/{}/mem", self.thread));
        let read = memory.and_then(|memory| memory.read_at(&mut bytes, self.args[arg]));
        bytes.truncate(read.unwrap_or(0));
        let end = bytes.iter().position(|byte| *byte == 0);
        String::from_utf8_lossy(&bytes[..end.unwrap_or(0)]).into_owned()
    }
}

/// What becomes of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Happens,
    /// The program is killed, and the call does not happen.
    Kills,
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
        // The kernel knows one thread as the tracer: it starts, traces and waits.
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

/// A shell that stops itself before it becomes the program: so no call of the program is missed.
fn start_stopped(command: &Command) -> Pid {
    let mut shell = Command::new("sh");
    shell.args(["-c", "kill -STOP $$; exec \"$@\"", "sh"]);
    shell.arg(command.get_program()).args(command.get_args());
    shell.env_clear();
    shell.envs(
        command
            .get_envs()
            .filter_map(|(key, value)| Some((key, value?))),
    );
    shell.current_dir(command.get_current_dir().expect("a directory"));
    let out = command
        .get_current_dir()
        .expect("a directory")
        .join("../out");
    let to = |name: &str| {
        File::options()
            .create(true)
            .append(true)
            .open(out.join(name))
            .unwrap()
    };
    shell
        .stdin(Stdio::null())
        .stdout(to("said"))
        .stderr(to("told"));
    let child = shell.process_group(0).spawn().expect("a shell");
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

/// What was begun at the entry of a call and is done at its exit.
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
        Self {
            root,
            judge,
            is_program: false,
            rests: HashMap::new(),
        }
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
        match (self.judge)(&Call {
            number,
            args,
            thread,
        }) {
            Fate::Happens => {}
            Fate::Kills => signal::kill(self.root, Signal::SIGKILL).expect("it lives"),
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

/// It may have been killed meanwhile: then there is nothing to go on.
fn go_on(thread: Pid, with: Option<Signal>) {
    let _ = ptrace::syscall(thread, with);
}

#[cfg(target_arch = "x86_64")]
mod registers {
    //! Where this processor keeps the number of a call, its arguments and its result.
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
