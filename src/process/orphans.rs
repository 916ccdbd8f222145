//! Ending what a job left behind, and what a killed loop left behind.
//!
//! We are a subreaper: whatever a job starts and loses becomes our child, wherever it hid. Found
//! processes are stopped first, so that they can't start more, then killed, then reaped, until
//! nothing is found twice in a row or the time is up.
//!
//! Invariant: a process is signalled only through a handle that was opened and then compared with
//! the start time it was judged by; a child that this process started itself (`registry`) is
//! never taken for an orphan, nor reaped here; we and our ancestors are never touched.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitOptions};

use super::table::{self, Entry};
use super::{Started, registry};

/// How long the ending of one job's remains, or of a sweep, may take. A process that the kernel
/// can't end (it hangs in a file system) is left then.
pub const ENDING_MAX: Duration = Duration::from_secs(2);
/// Between two rounds: the killed need a moment to be gone.
const PAUSE_MIN: Duration = Duration::from_micros(500);
const PAUSE_MAX: Duration = Duration::from_millis(20);
/// Rounds of stopping what was started while the round before was stopped.
const FREEZE_ROUNDS_MAX: usize = 32;

static IS_SUBREAPER: AtomicBool = AtomicBool::new(false);

/// From here on, processes that lose their parent become our children. Once, at the start of a
/// loop; twice does no harm.
///
/// # Errors
/// When the kernel refuses. Elsewhere than on Linux there is no such thing, and no error.
pub fn become_subreaper() -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
        IS_SUBREAPER.store(true, Ordering::Relaxed);
    }
    Ok(())
}

/// Ends what an earlier loop left: every process whose mark starts with `mark_prefix`, and what
/// those started. To be called before this process starts anything under that prefix. Gives the
/// ids of the ended ones.
#[must_use]
pub fn sweep(mark_prefix: &str) -> Vec<u32> {
    let is_marked = |pid| table::mark(pid).is_some_and(|mark| mark.starts_with(mark_prefix));
    let find = || {
        living(table::every_pid())
            .filter(|one| is_marked(one.pid))
            .collect()
    };
    hunt(find, |_| false, Instant::now() + ENDING_MAX)
}

/// Ends what is left of one recorded job although it took the mark out of its environment: the
/// members of its group and session. Nothing is touched after a reboot, or when the leader's id
/// belongs to a younger process: an id is not given away while a group or session still has it,
/// so then none of the job's is left.
#[must_use]
pub fn end_recorded(started: &Started) -> Vec<u32> {
    if started.boot_id.is_empty() || started.boot_id != table::boot_id() {
        return Vec::new();
    }
    let is_member = |one: &Entry| {
        (one.group == started.pid || one.session == started.pid)
            && one.start_ticks >= started.start_ticks
    };
    let find = || {
        if table::entry(started.pid).is_some_and(|one| one.start_ticks != started.start_ticks) {
            return Vec::new();
        }
        living(table::every_pid()).filter(is_member).collect()
    };
    hunt(find, |_| false, Instant::now() + ENDING_MAX)
}

/// Stops and kills a leader that is not reaped yet, its group and all that descends from it.
/// Quick, waits for nothing: for the moment of a cancellation.
pub(crate) fn fell(leader: u32, start_ticks: u64) {
    let is_it = |one: &Entry| one.start_ticks == start_ticks;
    kill_all(&freeze(|| living([leader]).filter(is_it).collect()));
    kill_group(leader);
}

/// The caller makes sure that the id is still the group's: the leader is not reaped yet, or was
/// in this very moment.
pub(crate) fn kill_group(leader: u32) {
    // Fails when there is nobody left, which is what was wanted.
    let _ = to_pid(leader).map(|pid| rustix::process::kill_process_group(pid, Signal::KILL));
}

/// What tells that an orphan belongs to a job whose leader has been reaped.
#[derive(Debug, Clone)]
pub(crate) struct Kin {
    pub(crate) leader: u32,
    pub(crate) start_ticks: u64,
    pub(crate) mark: String,
    /// The pipes that its output came through.
    pub(crate) pipes: Vec<u64>,
}

impl Kin {
    /// Nothing left, seen twice: the common case, at the price of reading our list of children.
    pub(crate) fn is_gone(&self) -> bool {
        (0..2).all(|_| {
            let _round = round();
            self.orphans().is_empty() && reap(|one| self.may_be_reaped(one)) == 0
        })
    }

    /// Blocks for at most about [`ENDING_MAX`].
    pub(crate) fn end(&self) -> Vec<u32> {
        let may_be_reaped = |one: &Entry| self.may_be_reaped(one);
        hunt(
            || self.orphans(),
            may_be_reaped,
            Instant::now() + ENDING_MAX,
        )
    }

    fn orphans(&self) -> Vec<Entry> {
        if !IS_SUBREAPER.load(Ordering::Relaxed) {
            return living(table::every_pid())
                .filter(|one| self.has_marked(one))
                .collect();
        }
        living(table::children(std::process::id()))
            .filter(|one| self.owns(one))
            .collect()
    }

    fn has_marked(&self, one: &Entry) -> bool {
        !registry::is_ours(one.pid, one.start_ticks)
            && one.start_ticks >= self.start_ticks
            && table::mark(one.pid).is_some_and(|mark| mark == self.mark)
    }

    /// Of a child of ours. One that shows none of the job's signs is taken by the last job that
    /// may have started it, so that nothing of a job that still runs is ever taken, and nothing
    /// is left when all have ended.
    fn owns(&self, one: &Entry) -> bool {
        if registry::is_ours(one.pid, one.start_ticks) || one.start_ticks < self.start_ticks {
            return false;
        }
        let mark = table::mark(one.pid);
        one.group == self.leader
            || mark.as_ref() == Some(&self.mark)
            || table::writes_to(one.pid, &self.pipes)
            || (is_stray(one, mark.as_deref())
                && !registry::some_job_may_have_started(one.start_ticks))
    }

    fn may_be_reaped(&self, one: &Entry) -> bool {
        one.start_ticks >= self.start_ticks && (one.group == self.leader || is_elsewhere(one))
    }
}

/// Surely not started by this process itself, with or without the registry: our own children stay
/// in our session and have our environment's mark or a live job's.
fn is_stray(one: &Entry, mark: Option<&str>) -> bool {
    let is_foreign_mark = |mark: &str| {
        std::env::var(table::MARK).as_deref() != Ok(mark) && !registry::is_mark_of_live_job(mark)
    };
    is_elsewhere(one) || mark.is_some_and(is_foreign_mark)
}

fn is_elsewhere(one: &Entry) -> bool {
    table::entry(std::process::id()).is_some_and(|ours| ours.session != one.session)
}

fn living(pids: impl IntoIterator<Item = u32>) -> impl Iterator<Item = Entry> {
    pids.into_iter()
        .filter_map(table::entry)
        .filter(|one| !one.is_zombie)
}

/// Stop, kill, reap what is found, and what descends from it, until nothing is found twice.
///
/// A zombie to be reaped counts as found: it may have handed us a child after our children were
/// listed. Only we reap it, so a process that goes on by starting itself anew is seen either
/// alive or as the zombie it left.
fn hunt(
    find: impl Fn() -> Vec<Entry>,
    may_be_reaped: impl Fn(&Entry) -> bool,
    until: Instant,
) -> Vec<u32> {
    let mut ended = BTreeSet::new();
    let mut quiet = 0;
    let mut pause = PAUSE_MIN;
    while quiet < 2 && Instant::now() < until {
        let round = round();
        let caught = freeze(&find);
        kill_all(&caught);
        let is_quiet = caught.is_empty();
        ended.extend(caught.into_keys());
        let is_ended = |one: &Entry| ended.contains(&(one.pid, one.start_ticks));
        let reaped = reap(|one| is_ended(one) || may_be_reaped(one));
        drop(round);
        if is_quiet && reaped == 0 {
            quiet += 1;
        } else {
            quiet = 0;
            std::thread::sleep(pause);
            pause = (pause * 2).min(PAUSE_MAX);
        }
    }
    ended.into_iter().map(|(pid, _)| pid).collect()
}

/// One round of looking and reaping at a time: another job's must not take away the zombies that
/// a round would have seen.
fn round() -> MutexGuard<'static, ()> {
    static ROUND: Mutex<()> = Mutex::new(());
    ROUND.lock().unwrap_or_else(PoisonError::into_inner)
}

type Key = (u32, u64);

/// Stops what is found and its descendants, again and again until nobody new has appeared.
fn freeze(find: impl Fn() -> Vec<Entry>) -> BTreeMap<Key, Handle> {
    let spared = table::ourselves_and_ancestors();
    let mut caught = BTreeMap::new();
    for _ in 0..FREEZE_ROUNDS_MAX {
        let before = caught.len();
        for one in with_descendants(find()) {
            let key = (one.pid, one.start_ticks);
            if spared.contains(&one.pid) || caught.contains_key(&key) {
                continue;
            }
            if let Some(handle) = Handle::open(&one) {
                handle.send(Signal::STOP);
                caught.insert(key, handle);
            }
        }
        if caught.len() == before {
            break;
        }
    }
    caught
}

fn kill_all(caught: &BTreeMap<Key, Handle>) {
    caught.values().for_each(|handle| handle.send(Signal::KILL));
}

fn with_descendants(roots: Vec<Entry>) -> Vec<Entry> {
    let mut all: BTreeMap<u32, Entry> = BTreeMap::new();
    let mut next = roots;
    while let Some(one) = next.pop() {
        if all.insert(one.pid, one).is_none() {
            next.extend(living(table::children(one.pid)));
        }
    }
    all.into_values().collect()
}

/// Asks for the end of those children of ours that `is_wanted` names, by their ids: the runtime
/// reaps what it started itself. Gives how many.
fn reap(is_wanted: impl Fn(&Entry) -> bool) -> usize {
    let children = table::children(std::process::id())
        .into_iter()
        .filter_map(table::entry);
    let adopted = children
        .filter(|one| one.is_zombie && is_wanted(one))
        .filter(|one| !registry::is_ours(one.pid, one.start_ticks));
    adopted
        .filter(|one| {
            let ended = rustix::process::waitpid(to_pid(one.pid), WaitOptions::NOHANG);
            matches!(ended, Ok(Some(_)))
        })
        .count()
}

/// One certain process, not whoever has its id next.
#[derive(Debug)]
struct Handle {
    pid: Pid,
    start_ticks: u64,
    /// Nothing where the kernel is too old or descriptors have run out.
    fd: Option<OwnedFd>,
}

impl Handle {
    fn open(one: &Entry) -> Option<Handle> {
        let pid = to_pid(one.pid)?;
        let handle = Handle {
            pid,
            start_ticks: one.start_ticks,
            fd: open_fd(pid),
        };
        handle.is_still_it().then_some(handle)
    }

    fn is_still_it(&self) -> bool {
        let pid = self.pid.as_raw_nonzero().get().unsigned_abs();
        table::entry(pid).is_some_and(|now| now.start_ticks == self.start_ticks)
    }

    /// Fails when the process has ended or is another user's: the next look tells.
    fn send(&self, signal: Signal) {
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
fn to_pid(pid: u32) -> Option<Pid> {
    i32::try_from(pid)
        .ok()
        .filter(|pid| *pid > 1)
        .and_then(Pid::from_raw)
}
