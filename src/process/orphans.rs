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

use super::cgroup::{self, Leaf};
use super::table::{self, ProcessEntry};
use super::tag::Tag;
use super::{JobRecord, registry};

/// How long the ending of one job's remains, or of a sweep, may take. A process that the kernel
/// can't end (it hangs in a file system) is left then.
pub const ENDING_MAX: Duration = Duration::from_secs(2);
/// Between two rounds: the killed need a moment to be gone.
const PAUSE_MIN: Duration = Duration::from_micros(500);
const PAUSE_MAX: Duration = Duration::from_millis(20);
/// Rounds of stopping what was started while the round before was stopped.
const FREEZE_ROUNDS_MAX: usize = 32;

/// A guard, in the kernel's table.
const GUARD: &str = "descent-guard";

static IS_SUBREAPER: AtomicBool = AtomicBool::new(false);

/// From here on, processes that lose their parent become our children. Once, at the start of a
/// loop; twice does no harm.
///
/// # Errors
/// When the kernel refuses. Elsewhere than on Linux there is no such thing, and no error.
pub(crate) fn become_subreaper() -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
        IS_SUBREAPER.store(true, Ordering::Relaxed);
    }
    Ok(())
}

/// Ends what an earlier loop left: all that bears the brand of a job of this owner, or of a recorded
/// job, and what those started; and the recorded jobs' groups. To be called before this process starts
/// anything of that owner. Gives the ids of the ended ones.
///
/// A job whose guard is still a child of the program that started it is another command's of this
/// moment, not a leftover.
#[must_use]
pub fn sweep(mark_prefix: &str, records: &[JobRecord]) -> Vec<u32> {
    let records: Vec<&JobRecord> = records.iter().filter(|one| is_of_this_boot(one)).collect();
    let watched = watched();
    let is_ours = |brand: Tag| {
        (brand.is_owned_like(mark_prefix) || records.iter().any(|one| one.brand == Some(brand)))
            && !watched.contains(&brand)
    };
    let recorded = records.iter().filter_map(|one| {
        let brand = one.brand?;
        Some((brand, Leaf::recorded(one.cgroup.as_ref()?, brand)?))
    });
    for (brand, leaf) in recorded.chain(cgroup::leaves()) {
        if is_ours(brand) {
            leaf.end();
        }
    }
    let is_left = |one: &ProcessEntry| match Tag::read(one.pid) {
        Some(brand) => is_ours(brand),
        None => records.iter().any(|record| is_in_group(one, record)),
    };
    let find = || living(table::newest_first()).filter(is_left);
    hunt(find, |_| false, Instant::now() + ENDING_MAX)
}

/// Process ids and start times mean nothing beyond a boot.
fn is_of_this_boot(record: &JobRecord) -> bool {
    !record.boot_id.is_empty() && record.boot_id == table::boot_id()
}

/// Of a job that bears no brand: a member of its group or session. None when the leader's id belongs
/// to a younger process: an id is not given away while a group or session still has it, so then none
/// of the job's is left.
fn is_in_group(one: &ProcessEntry, record: &JobRecord) -> bool {
    record.brand.is_none()
        && (one.group == record.pid || one.session == record.pid)
        && one.start_ticks >= record.start_ticks
        && table::entry(record.pid).is_none_or(|now| now.start_ticks == record.start_ticks)
}

/// Of jobs whose guards have for a parent, still, the program that started them.
fn watched() -> Vec<Tag> {
    let is_watched = |guard: &ProcessEntry| {
        table::is_named(guard.pid, GUARD)
            && !table::is_named(guard.parent, GUARD)
            && table::runs_the_same(guard.pid, guard.parent)
    };
    let guards = living(table::every_pid()).filter(is_watched);
    guards.filter_map(|guard| Tag::read(guard.pid)).collect()
}

/// One round over all that descends from this process itself: of a guard, that is its job.
pub(crate) fn kill_descendants() {
    kill_all(&freeze(|| living(table::children(std::process::id()))));
}

/// Stops and kills a leader that is not reaped yet, its group and all that descends from it.
/// Quick, waits for nothing: for the moment of a cancellation.
pub(crate) fn fell(leader: u32, start_ticks: u64) {
    let is_it = |one: &ProcessEntry| one.start_ticks == start_ticks;
    kill_all(&freeze(|| living([leader]).filter(is_it)));
    kill_group(leader);
}

/// One that is not reaped yet, and nobody else.
pub(crate) fn kill_leader(leader: u32, start_ticks: u64) {
    let it = living([leader]).find(|one| one.start_ticks == start_ticks);
    if let Some(handle) = it.and_then(|one| Handle::open(&one)) {
        handle.send(Signal::KILL);
    }
}

/// The caller makes sure that the id is still the group's: the leader is not reaped yet, or was
/// in this very moment.
pub(crate) fn kill_group(leader: u32) {
    // Fails when there is nobody left, which is what was wanted.
    let _ = to_pid(leader).map(|pid| rustix::process::kill_process_group(pid, Signal::KILL));
}

/// The same, and politely.
pub(crate) fn ask_group(leader: u32) {
    let _ = to_pid(leader).map(|pid| rustix::process::kill_process_group(pid, Signal::TERM));
}

/// What tells that an orphan belongs to a job whose leader has been reaped.
#[derive(Debug, Clone, Copy)]
pub(crate) struct JobProcesses {
    pub(crate) leader: u32,
    pub(crate) start_ticks: u64,
    pub(crate) brand: Tag,
}

impl JobProcesses {
    /// Nothing left, seen twice: the common case, at the price of reading our list of children.
    pub(crate) fn is_gone(&self) -> bool {
        (0..2).all(|_| {
            let _round = round();
            self.orphans().is_empty() && reap(|one| self.may_be_reaped(one)) == 0
        })
    }

    /// Blocks for at most about [`ENDING_MAX`].
    pub(crate) fn end(&self) -> Vec<u32> {
        let may_be_reaped = |one: &ProcessEntry| self.may_be_reaped(one);
        hunt(
            || self.orphans().into_iter(),
            may_be_reaped,
            Instant::now() + ENDING_MAX,
        )
    }

    fn orphans(&self) -> Vec<ProcessEntry> {
        let all = if IS_SUBREAPER.load(Ordering::Relaxed) {
            table::children(std::process::id())
        } else {
            table::every_pid()
        };
        living(all).filter(|one| self.owns(one)).collect()
    }

    /// What lost the brand is taken by whoever ends next: a job that runs on has a guard, who has
    /// its orphans.
    fn owns(&self, one: &ProcessEntry) -> bool {
        !registry::is_ours(one.pid, one.start_ticks)
            && one.start_ticks >= self.start_ticks
            && match Tag::read(one.pid) {
                Some(brand) => brand == self.brand,
                None => one.group == self.leader || is_adopted(one),
            }
    }

    /// The command itself too, where its guard died before it could reap it: the first of a namespace does not end
    /// before.
    fn may_be_reaped(&self, one: &ProcessEntry) -> bool {
        one.start_ticks >= self.start_ticks
            && (one.group == self.leader
                || is_elsewhere(one)
                || Tag::read(one.pid) == Some(self.brand))
    }
}

fn is_adopted(one: &ProcessEntry) -> bool {
    one.parent == std::process::id() && is_elsewhere(one)
}

fn is_elsewhere(one: &ProcessEntry) -> bool {
    table::entry(std::process::id()).is_some_and(|ours| ours.session != one.session)
}

fn living(pids: impl IntoIterator<Item = u32>) -> impl Iterator<Item = ProcessEntry> {
    pids.into_iter()
        .filter_map(table::entry)
        .filter(|one| !one.is_zombie)
}

/// Stop, kill, reap what is found, and what descends from it, until nothing is found twice.
///
/// A zombie to be reaped counts as found: it may have handed us a child after our children were
/// listed. Only we reap it, so a process that goes on by starting itself anew is seen either
/// alive or as the zombie it left.
fn hunt<F: Iterator<Item = ProcessEntry>>(
    find: impl Fn() -> F,
    may_be_reaped: impl Fn(&ProcessEntry) -> bool,
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
        let is_ended = |one: &ProcessEntry| ended.contains(&(one.pid, one.start_ticks));
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

/// Stops what is found and its descendants, each in the moment when it is found, again and again until nobody new has
/// appeared.
fn freeze<F: Iterator<Item = ProcessEntry>>(find: impl Fn() -> F) -> BTreeMap<Key, Handle> {
    let spared = table::ourselves_and_ancestors();
    let is_spared = |pid: u32| spared.iter().any(|one| table::is_thread_of(*one, pid));
    let mut caught = BTreeMap::new();
    for _ in 0..FREEZE_ROUNDS_MAX {
        let before = caught.len();
        let mut met = BTreeSet::new();
        for root in find() {
            let mut next = vec![root];
            while let Some(one) = next.pop() {
                if !met.insert(one.pid) {
                    continue;
                }
                let key = (one.pid, one.start_ticks);
                if !is_spared(one.pid) && !caught.contains_key(&key) {
                    stop(&one).map(|handle| caught.insert(key, handle));
                }
                next.extend(living(table::children(one.pid)));
            }
        }
        if caught.len() == before {
            break;
        }
    }
    caught
}

fn stop(one: &ProcessEntry) -> Option<Handle> {
    let handle = Handle::open(one)?;
    handle.send(Signal::STOP);
    Some(handle)
}

fn kill_all(caught: &BTreeMap<Key, Handle>) {
    caught.values().for_each(|handle| handle.send(Signal::KILL));
}

/// Asks for the end of those children of ours that `is_wanted` names, by their ids: the runtime
/// reaps what it started itself. Gives how many.
fn reap(is_wanted: impl Fn(&ProcessEntry) -> bool) -> usize {
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
    fn open(one: &ProcessEntry) -> Option<Handle> {
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
