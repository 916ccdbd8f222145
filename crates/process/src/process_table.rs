//! The kernel's table of processes, read from `/proc`, and a handle of one certain process.
//!
//! Everything here may be out of date when it returns. A caller that acts on it opens the process
//! first and compares the start time again (`orphans`). Without `/proc` there are no processes to
//! be seen. Not here: which process gets a signal.

use std::{
    ffi::CStr,
    fs,
    io::Read,
    os::{fd::OwnedFd, unix::fs::MetadataExt},
    sync::OnceLock,
};

use rustix::process::{Pid, Signal};

/// The variable that every process of a job inherits.
pub const MARK: &str = "DESCENT_MARK";

/// The names of our own processes around a job: its guard, and the first process of its namespace.
pub(super) const GUARD: &str = "descent-guard";
pub(super) const FIRST: &CStr = c"descent-first";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessEntry {
    pub pid: u32,
    pub parent: u32,
    pub group: u32,
    pub session: u32,
    /// Ended, but not reaped by its parent yet.
    pub(crate) is_zombie: bool,
    /// Stopped by a signal: it does nothing until it is continued.
    pub is_stopped: bool,
    pub has_terminal: bool,
    /// A thread of the kernel, which nobody started and nobody can end.
    pub(crate) is_of_kernel: bool,
    /// Since boot, in clock ticks (10 ms almost everywhere).
    pub start_ticks: u64,
}

pub fn entry(pid: u32) -> Option<ProcessEntry> {
    parse(pid, &read_whole(&format!("/proc/{pid}/stat"))?)
}

/// Reads a file of the kernel, which does not report its size, in one call if it fits.
pub(super) fn read_whole(path: &str) -> Option<Vec<u8>> {
    let mut text = Vec::with_capacity(READ_BYTES);
    fs::File::open(path).ok()?.read_to_end(&mut text).ok()?;
    Some(text)
}

const READ_BYTES: usize = 4096;
/// `PF_KTHREAD` among the flags of a process (`include/linux/sched.h`).
const KERNEL_THREAD: u64 = 0x0020_0000;

/// The second field is the program's name in brackets, and may contain anything, brackets too.
fn parse(pid: u32, stat: &[u8]) -> Option<ProcessEntry> {
    let after_name = stat.iter().rposition(|byte| *byte == b')')? + 1;
    let rest = std::str::from_utf8(stat.get(after_name..)?).ok()?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    let number = |index: usize| fields.get(index)?.parse::<u64>().ok();
    // A process outside of our pid namespace shows as 0; the kernel's ids fit 32 bits.
    let id = |index: usize| u32::try_from(number(index)?).ok();
    Some(ProcessEntry {
        pid,
        parent: id(1)?,
        group: id(2)?,
        session: id(3)?,
        // A process also looks like a zombie when its first thread has ended and others work on.
        is_zombie: matches!(*fields.first()?, "Z" | "X" | "x") && number(17)? <= 1,
        is_stopped: *fields.first()? == "T",
        has_terminal: number(4)? != 0,
        is_of_kernel: number(6)? & KERNEL_THREAD != 0,
        start_ticks: number(19)?,
    })
}

pub(crate) fn every_pid() -> Vec<u32> {
    numbers_in("/proc")
}

/// Every process, the newest first, then those that were started meanwhile, until there are no
/// more. So a process that restarts itself again and again is met, if the caller acts on it at
/// once.
pub fn newest_first() -> impl Iterator<Item = u32> {
    let mut seen = last_pid();
    let mut pids = oldest_first(seen);
    let mut chases = 0..CHASES_MAX;
    std::iter::from_fn(move || {
        while pids.is_empty() {
            let last = last_pid();
            if last == seen || chases.next().is_none() {
                return None;
            }
            pids = started_between(seen, last);
            seen = last;
        }
        pids.pop()
    })
}

/// Beyond this, a machine starts processes faster than they can be looked at.
const CHASES_MAX: u32 = 256;
const CHASE_PIDS_MAX: u32 = 4_096;

/// Ids are given in turn, to threads too. All are looked at if the kernel has wrapped around.
fn started_between(seen: Option<u32>, last: Option<u32>) -> Vec<u32> {
    match (seen, last) {
        (Some(seen), Some(last)) if last > seen && last - seen <= CHASE_PIDS_MAX => {
            (seen + 1..=last).collect()
        }
        _ => oldest_first(last),
    }
}

/// Ids above the last one are from before the kernel wrapped around.
fn oldest_first(last: Option<u32>) -> Vec<u32> {
    let mut pids = every_pid();
    pids.sort_unstable_by_key(|pid| (last.is_none_or(|last| *pid <= last), *pid));
    pids
}

/// The last id that the kernel gave, from the load file.
fn last_pid() -> Option<u32> {
    let load = fs::read_to_string("/proc/loadavg").ok()?;
    load.split_ascii_whitespace().last()?.parse().ok()
}

/// True also for the first thread, which has the process's own id.
pub(crate) fn is_thread_of(pid: u32, id: u32) -> bool {
    pid == id || fs::exists(format!("/proc/{pid}/task/{id}")).unwrap_or(false)
}

pub fn children(pid: u32) -> Vec<u32> {
    if !children_are_listed() {
        let all = every_pid().into_iter().filter_map(entry);
        return all.filter(|entry| entry.parent == pid).map(|entry| entry.pid).collect();
    }
    let threads = numbers_in(&format!("/proc/{pid}/task"));
    let lists = threads.into_iter().filter_map(|thread| {
        fs::read_to_string(format!("/proc/{pid}/task/{thread}/children")).ok()
    });
    lists
        .flat_map(|list| list.split_ascii_whitespace().flat_map(str::parse).collect::<Vec<u32>>())
        .collect()
}

/// A kernel may be built without these lists.
fn children_are_listed() -> bool {
    static LISTED: OnceLock<bool> = OnceLock::new();
    *LISTED.get_or_init(|| fs::exists("/proc/thread-self/children").unwrap_or(false))
}

/// This process, its parent, its parent's parent, and so on.
pub(crate) fn ourselves_and_ancestors() -> Vec<u32> {
    let mut line = vec![std::process::id()];
    while let Some(entry) = line.last().and_then(|pid| entry(*pid)) {
        if entry.parent == 0 || line.contains(&entry.parent) {
            break;
        }
        line.push(entry.parent);
    }
    line
}

/// Whether this is the name that a process gave itself or was started by.
pub fn is_named(pid: u32, name: &str) -> bool {
    fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|comm| comm.trim_end() == name)
}

/// Whether both run the same program file. Asked about processes that began as one another's copy.
pub(crate) fn runs_the_same(one: u32, other: u32) -> bool {
    let file = |pid: u32| {
        let meta = fs::metadata(format!("/proc/{pid}/exe")).ok()?;
        Some((meta.dev(), meta.ino()))
    };
    file(one).is_some_and(|found| file(other) == Some(found))
}

/// The id of this boot: process ids and start times mean nothing beyond it. Empty if the system
/// doesn't report it.
pub fn boot_id() -> String {
    static BOOT: OnceLock<String> = OnceLock::new();
    let read = || fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    BOOT.get_or_init(|| read().trim().to_owned()).clone()
}

fn numbers_in(directory: &str) -> Vec<u32> {
    let Ok(entries) = fs::read_dir(directory) else {
        return Vec::new();
    };
    entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

// One certain process, not its successor with the same id.
//
// Invariant: a signal goes only to the process whose start time was compared after it was opened.

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
        entry(pid).is_some_and(|now| now.start_ticks == self.start_ticks)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_brackets_and_blanks_does_not_confuse_the_fields() {
        let stat = b"77 (a) Z 1 (b)) S 5 6 7 0 -1 4 1 2 3 4 5 6 7 8 20 0 1 0 12345 9 9\n";
        let expected = ProcessEntry {
            pid: 77,
            parent: 5,
            group: 6,
            session: 7,
            is_zombie: false,
            is_stopped: false,
            has_terminal: false,
            is_of_kernel: false,
            start_ticks: 12345,
        };
        assert_eq!(parse(77, stat), Some(expected));
    }

    #[test]
    fn a_stopped_process_with_a_terminal_is_told_from_one_that_is_traced() {
        let of = |state: &str, terminal: &str| {
            let stat =
                format!("7 (x) {state} 5 6 7 {terminal} 8 4 1 2 3 4 5 6 7 8 20 0 1 0 9 9 9\n");
            let it = parse(7, stat.as_bytes()).unwrap();
            (it.is_stopped, it.has_terminal)
        };
        assert_eq!(of("T", "34816"), (true, true));
        assert_eq!(of("T", "0"), (true, false));
        assert_eq!(of("t", "0"), (false, false));
    }

    #[test]
    fn a_thread_of_the_kernel_is_told_by_its_flags() {
        let stat = b"2 (kthreadd) S 0 0 0 0 -1 2129984 0 0 0 0 0 0 0 0 20 0 1 0 9 0 0\n";
        assert!(parse(2, stat).unwrap().is_of_kernel);
    }

    #[test]
    fn what_has_ended_is_told_from_what_lost_its_first_thread() {
        let check = |threads: u32, is_zombie: bool| {
            let stat = format!("7 (x) Z 5 6 7 0 -1 4 1 2 3 4 5 6 7 8 20 0 {threads} 0 12345 9 9\n");
            assert_eq!(parse(7, stat.as_bytes()).unwrap().is_zombie, is_zombie);
        };
        check(0, true);
        check(1, true);
        check(2, false);
    }

    #[test]
    fn what_is_no_stat_line_is_no_process() {
        for text in [&b""[..], b"1 (x", b"1 (x)", b"1 (x) S 1", b"1 (x) S a b c", b")\xff"] {
            assert_eq!(parse(1, text), None);
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    #[allow(clippy::disallowed_methods)] // door: a process that starts in the middle of a look
    fn the_newest_come_first_and_what_starts_during_a_look_is_looked_at() {
        let start = || {
            let mut sleep = std::process::Command::new("sleep");
            sleep.arg("600").spawn().unwrap()
        };
        let mut before = [start(), start()];
        let mut look = newest_first();
        let mut met: Vec<u32> = look.next().into_iter().collect();
        let mut meanwhile = start();
        met.extend(look);
        for child in before.iter_mut().chain([&mut meanwhile]) {
            child.kill().unwrap();
            child.wait().unwrap();
        }
        let at = |pid: u32| met.iter().position(|one| *one == pid).unwrap();
        assert!(at(before[1].id()) < at(before[0].id()));
        assert!(at(before[0].id()) < at(std::process::id()));
        assert!(at(std::process::id()) < at(meanwhile.id()));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_thread_is_told_by_its_process() {
        let own = std::process::id();
        let other = move || {
            let id = rustix::thread::gettid().as_raw_nonzero().get();
            assert!(is_thread_of(own, id.unsigned_abs()) && id.unsigned_abs() != own);
        };
        std::thread::spawn(other).join().unwrap();
        assert!(is_thread_of(own, own) && !is_thread_of(1, own));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn our_own_line_starts_with_us_and_our_parent() {
        let line = ourselves_and_ancestors();
        assert_eq!(line[0], std::process::id());
        assert_eq!(line[1], std::os::unix::process::parent_id());
    }
}
