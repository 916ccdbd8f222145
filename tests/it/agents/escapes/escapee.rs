//! A program that tries to outlive its job, by one trick. The test's own binary under another name: so
//! whatever a trick changes, the file that runs tells that it is one.
//!
//! Invariant: it says that it is out only when its trick is done, in a file named after it.
#![allow(unsafe_code)] // tricks are system calls

use std::{
    fs,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

/// The prefix of its file's name.
pub const NAME: &str = "escapee-";
/// The file in which each process of the respawner stands, one after the other.
pub const GENERATION: &str = "generation";
const BOMB_DEPTH: u32 = 6;

/// Tried before the tests are looked at.
#[used]
// SAFETY: called once by the loader, before `main`, in the one thread that there is.
#[unsafe(link_section = ".init_array")]
static FIRST: extern "C" fn() = be_one;

extern "C" fn be_one() {
    let Ok(exe) = fs::read_link("/proc/self/exe") else {
        return;
    };
    let text = exe.to_string_lossy().replace(" (deleted)", "");
    let exe = PathBuf::from(text);
    let name = exe.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let Some(trick) = name.strip_prefix(NAME) else {
        return;
    };
    perform(trick, &exe);
    is_out(trick, &exe);
    sleep()
}

fn is_out(trick: &str, exe: &Path) {
    let root = exe.parent().and_then(Path::parent).expect("a world");
    let id = std::process::id().to_string();
    fs::write(root.join("out/up").join(trick), id).expect("the word that it is out");
}

fn sleep() -> ! {
    loop {
        std::thread::sleep(Duration::from_secs(3600));
    }
}

/// The child goes on, the parent ends.
fn fork_away() {
    // SAFETY: there is one thread.
    if unsafe { libc::fork() } != 0 {
        std::process::exit(0);
    }
}

fn new_session() {
    // SAFETY: numbers only.
    unsafe { libc::setsid() };
}

fn prctl(option: i32, value: usize) {
    // SAFETY: these options take a number.
    unsafe { libc::prctl(option, value, 0, 0, 0) };
}

fn perform(trick: &str, exe: &Path) {
    match trick {
        "session" => new_session(),
        "double-fork" => {
            fork_away();
            new_session();
            fork_away();
        }
        "death-signal-off" => {
            prctl(libc::PR_SET_PDEATHSIG, 0);
            new_session();
            fork_away();
        }
        "subreaper" => {
            prctl(libc::PR_SET_CHILD_SUBREAPER, 1);
            new_session();
            // SAFETY: there is one thread.
            if unsafe { libc::fork() } == 0 {
                fork_away();
                new_session();
            }
        }
        "no-dump" => prctl(libc::PR_SET_DUMPABLE, 0),
        "other-name" => {
            prctl(libc::PR_SET_NAME, c"kworker/0:1".as_ptr() as usize);
            new_session();
        }
        "wiped-environment" => wipe_environment(),
        "signals-blocked" => block_signals(),
        "leader-thread-gone" => leave_by_the_leader(trick, exe),
        "vfork" => {
            let grown = exe.with_file_name("escapee-vforked");
            drop(Command::new(grown).process_group(0).spawn());
        }
        "traced" => be_traced(),
        "user-namespace" => unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWPID),
        "respawner" => respawn(trick, exe),
        "bomb" => multiply(BOMB_DEPTH),
        _ => {}
    }
}

fn wipe_environment() {
    unsafe extern "C" {
        static environ: *const *mut libc::c_char;
    }
    // SAFETY: the loader's own table, ended by a null; nobody else reads it in this one thread.
    unsafe {
        let mut at = environ;
        while !(*at).is_null() {
            let length = libc::strlen(*at);
            std::ptr::write_bytes(*at, b'x', length);
            at = at.add(1);
        }
    }
    new_session();
}

fn block_signals() {
    // SAFETY: a set of this frame, filled before it is used.
    unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&raw mut all);
        libc::sigprocmask(libc::SIG_BLOCK, &raw const all, std::ptr::null_mut());
    }
    new_session();
}

/// The kernel's table calls a process a zombie whose first thread has ended, though others work.
fn leave_by_the_leader(trick: &str, exe: &Path) {
    new_session();
    let (trick, exe) = (trick.to_owned(), exe.to_owned());
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(50));
        is_out(&trick, &exe);
        sleep()
    });
    // SAFETY: ends this thread alone, without returning.
    unsafe { libc::syscall(libc::SYS_exit, 0) };
}

fn be_traced() {
    new_session();
    // SAFETY: there is one thread; the child asks to be traced, and stops.
    unsafe {
        if libc::fork() == 0 {
            libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0);
            libc::raise(libc::SIGSTOP);
        }
    }
}

/// On a machine that forbids it, this is no more than a session of its own.
fn unshare(flags: i32) {
    new_session();
    // SAFETY: numbers only.
    unsafe { libc::unshare(flags) };
    // SAFETY: there is one thread. The child is the first of its namespace.
    if unsafe { libc::fork() } == 0 {
        fork_away();
    }
}

/// Says that it is out, and becomes another process every few milliseconds. Each says so, and the last one finds its
/// file gone, so that none outlives the test.
fn respawn(trick: &str, exe: &Path) {
    is_out(trick, exe);
    while exe.exists() {
        fork_away();
        new_session();
        is_out(GENERATION, exe);
        std::thread::sleep(Duration::from_millis(2));
    }
    std::process::exit(0);
}

fn multiply(depth: u32) {
    for below in (0..depth).rev() {
        // SAFETY: there is one thread.
        if unsafe { libc::fork() } == 0 {
            new_session();
            multiply(below);
            return;
        }
    }
}

/// The tricks that need system calls; others are a shell's.
pub const OWN: &[&str] = &[
    "session",
    "double-fork",
    "death-signal-off",
    "subreaper",
    "no-dump",
    "other-name",
    "wiped-environment",
    "signals-blocked",
    "leader-thread-gone",
    "vfork",
    "traced",
    "user-namespace",
    "respawner",
    "bomb",
];
