//! Kills what a job left behind, and what a killed loop left behind. At the kill of a loop
//! its guards act first (`guard`): this is for what they missed.
//!
//! This process is a subreaper: an orphan of a job becomes our child, wherever it hid. Processes
//! are stopped first, so that they can't start more, then killed, then reaped. This repeats until
//! two rounds find nothing, or the time is up.
//!
//! Here too: how many processes ended so, from the moment when a person asks for the end.
//!
//! Invariant: a process is signalled only through a handle whose start time was compared after it
//! was opened. A child that this process started itself (`registry`) is never taken for an orphan,
//! nor reaped here. This process and its ancestors are never touched.

use std::cell::LazyCell;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{Signal, WaitOptions};

use super::cgroup::{self, Leaf};
use super::process_table::{self, ProcessEntry};
use super::process_table::{KnownProcess, to_pid};
use super::tag::Tag;
use super::timeouts::ENDING_MAX;
use super::{JobRecord, registry};

/// Pause between two rounds: killed processes need a moment to be gone.
const PAUSE_MIN: Duration = Duration::from_micros(500);
const PAUSE_MAX: Duration = Duration::from_millis(20);
/// Maximum of rounds that stop what started during the round before.
const FREEZE_ROUNDS_MAX: usize = 32;

static IS_SUBREAPER: AtomicBool = AtomicBool::new(false);

/// From here on, processes that lose their parent become our children. A loop calls it once at its
/// start; a second call does no harm.
///
/// # Errors
/// If the kernel refuses. Other systems than Linux have no subreapers, which is no error.
pub(crate) fn become_subreaper() -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
        IS_SUBREAPER.store(true, Ordering::Relaxed);
    }
    Ok(())
}

/// Kills what an earlier loop left, and returns the ids. These are all processes with the tag of a
/// job of this owner or of a recorded job, and their descendants. It
/// must be called before this process starts anything of that owner.
///
/// A job whose guard is still a child of the program that started it belongs to another running
/// command, and is no leftover.
#[must_use]
pub fn sweep(mark_prefix: &str, records: &[JobRecord]) -> Vec<u32> {
    let records: Vec<&JobRecord> = records.iter().filter(|one| is_of_this_boot(one)).collect();
    // Nearly always nothing is left, and then nobody asks.
    let watched = LazyCell::new(tags_with_live_parent);
    let is_ours = |tag: Tag| {
        (tag.is_owned_like(mark_prefix) || records.iter().any(|one| one.tag == tag))
            && !watched.contains(&tag)
    };
    let recorded = records
        .iter()
        .filter_map(|one| Some((one.tag, Leaf::from_record(one.cgroup.as_ref()?, one.tag)?)));
    for (tag, leaf) in recorded.chain(cgroup::existing_leaves()) {
        if is_ours(tag) {
            leaf.end();
        }
    }
    let is_left = |one: &ProcessEntry| Tag::read(one.pid).is_some_and(is_ours);
    let find = || live_processes(process_table::newest_first()).filter(is_left);
    kill_until_quiet(find, |_| false, Instant::now() + ENDING_MAX)
}

/// Process ids and start times mean nothing after a reboot.
fn is_of_this_boot(record: &JobRecord) -> bool {
    !record.boot_id.is_empty() && record.boot_id == process_table::boot_id()
}

/// Tags of jobs whose guard is still a child of the program that started it.
fn tags_with_live_parent() -> Vec<Tag> {
    let is_watched = |guard: &ProcessEntry| {
        process_table::is_named(guard.pid, process_table::GUARD)
            && !process_table::is_named(guard.parent, process_table::GUARD)
            && process_table::runs_the_same(guard.pid, guard.parent)
    };
    let guards = live_processes(process_table::every_pid()).filter(is_watched);
    guards.filter_map(|guard| Tag::read(guard.pid)).collect()
}

/// One round over all descendants of this process; for a guard, these are its job.
pub(crate) fn kill_descendants() {
    kill_all(&freeze(|| live_processes(process_table::children(std::process::id()))));
}

/// Stops and kills a leader that is not reaped yet, its group and all its descendants. It is quick
/// and waits for nothing: it is for the moment of a cancellation.
pub(crate) fn kill_tree(leader: u32, start_ticks: u64) {
    let is_it = |one: &ProcessEntry| one.start_ticks == start_ticks;
    kill_all(&freeze(|| live_processes([leader]).filter(is_it)));
    signal_group(leader, Signal::KILL);
}

/// Kills only the leader, which is not reaped yet.
pub(crate) fn kill_leader(leader: u32, start_ticks: u64) {
    let it = live_processes([leader]).find(|one| one.start_ticks == start_ticks);
    if let Some(handle) = it.and_then(|one| KnownProcess::open(one.pid, one.start_ticks)) {
        handle.send(Signal::KILL);
    }
}

/// The caller makes sure that the id is still the group's: the leader is not reaped yet, or was in
/// this very moment.
pub(crate) fn signal_group(leader: u32, signal: Signal) {
    // This fails if nobody is left, which is the goal anyway.
    let _ = to_pid(leader).map(|pid| rustix::process::kill_process_group(pid, signal));
}

/// The marks by which an orphan belongs to a job whose leader has been reaped.
#[derive(Debug, Clone, Copy)]
pub(crate) struct JobProcesses {
    pub leader: u32,
    pub start_ticks: u64,
    pub tag: Tag,
}

impl JobProcesses {
    /// Whether two looks found nothing left. This is the common case, and costs reading our list of
    /// children.
    pub fn is_gone(&self) -> bool {
        (0..2).all(|_| {
            let _round = lock_round();
            self.orphans().is_empty() && reap(|one| self.may_be_reaped(one)) == 0
        })
    }

    /// Blocks for at most about [`ENDING_MAX`].
    pub fn end(&self) -> Vec<u32> {
        let may_be_reaped = |one: &ProcessEntry| self.may_be_reaped(one);
        kill_until_quiet(|| self.orphans().into_iter(), may_be_reaped, Instant::now() + ENDING_MAX)
    }

    fn orphans(&self) -> Vec<ProcessEntry> {
        let all = if IS_SUBREAPER.load(Ordering::Relaxed) {
            process_table::children(std::process::id())
        } else {
            process_table::every_pid()
        };
        live_processes(all).filter(|one| self.owns(one)).collect()
    }

    /// A process that lost the tag is taken by whichever job ends next. A job that runs on has a
    /// guard, which adopts its orphans.
    fn owns(&self, one: &ProcessEntry) -> bool {
        !registry::is_ours(one.pid, one.start_ticks)
            && one.start_ticks >= self.start_ticks
            && match Tag::read(one.pid) {
                Some(tag) => tag == self.tag,
                None => one.group == self.leader || is_adopted(one),
            }
    }

    /// Includes the command itself if its guard died before it could reap it: the first process of
    /// a namespace does not end before that.
    fn may_be_reaped(&self, one: &ProcessEntry) -> bool {
        one.start_ticks >= self.start_ticks
            && (one.group == self.leader
                || is_elsewhere(one)
                || Tag::read(one.pid) == Some(self.tag))
    }
}

fn is_adopted(one: &ProcessEntry) -> bool {
    one.parent == std::process::id() && is_elsewhere(one)
}

fn is_elsewhere(one: &ProcessEntry) -> bool {
    process_table::entry(std::process::id()).is_some_and(|ours| ours.session != one.session)
}

fn live_processes(pids: impl IntoIterator<Item = u32>) -> impl Iterator<Item = ProcessEntry> {
    pids.into_iter()
        .filter_map(process_table::entry)
        .filter(|one| !one.is_zombie && !one.is_of_kernel)
}

/// Stops, kills and reaps what `find` gives and its descendants, until two rounds find nothing.
///
/// A zombie to be reaped counts as found: it may have handed us a child after our children were
/// listed. Only this process reaps it. So a process that restarts itself again and again is seen
/// either alive or as the zombie it left.
fn kill_until_quiet<F: Iterator<Item = ProcessEntry>>(
    find: impl Fn() -> F,
    may_be_reaped: impl Fn(&ProcessEntry) -> bool,
    until: Instant,
) -> Vec<u32> {
    let mut ended = BTreeSet::new();
    let mut quiet = 0;
    let mut pause = PAUSE_MIN;
    while quiet < 2 && Instant::now() < until {
        let round = lock_round();
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

/// Only one round of looking and reaping runs at a time. Another job's round must not take away the
/// zombies that this one would have seen.
fn lock_round() -> MutexGuard<'static, ()> {
    static ROUND: Mutex<()> = Mutex::new(());
    ROUND.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A process by its id and its start.
type Key = (u32, u64);

/// Stops the found processes and their descendants, each at the moment when it is found, until no
/// new one appears.
fn freeze<F: Iterator<Item = ProcessEntry>>(find: impl Fn() -> F) -> BTreeMap<Key, KnownProcess> {
    let spared = process_table::ourselves_and_ancestors();
    let is_spared = |pid: u32| spared.iter().any(|one| process_table::is_thread_of(*one, pid));
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
                next.extend(live_processes(process_table::children(one.pid)));
            }
        }
        if caught.len() == before {
            break;
        }
    }
    caught
}

fn stop(one: &ProcessEntry) -> Option<KnownProcess> {
    let handle = KnownProcess::open(one.pid, one.start_ticks)?;
    handle.send(Signal::STOP);
    Some(handle)
}

fn kill_all(caught: &BTreeMap<Key, KnownProcess>) {
    note_ended(caught.keys().map(|(pid, _)| *pid));
    caught.values().for_each(|handle| handle.send(Signal::KILL));
}

/// Marks those children of ours that `is_wanted` names as ended, by their ids; the runtime reaps
/// what it started itself. Returns the number.
fn reap(is_wanted: impl Fn(&ProcessEntry) -> bool) -> usize {
    let children =
        process_table::children(std::process::id()).into_iter().filter_map(process_table::entry);
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

/// Process ids with their start times; `None` before the count.
static ENDED: Mutex<Option<BTreeSet<Key>>> = Mutex::new(None);

/// Begins the count.
pub fn begin_count() {
    ended_processes().get_or_insert_default();
}

/// The processes that were ended since the count began; each counts once, however often it is met.
pub fn ended_count() -> u64 {
    ended_processes().as_ref().map_or(0, |ended| ended.len() as u64)
}

/// Notes processes that are about to be killed. Our own around a job are not counted: nobody asked for them.
pub(super) fn note_ended(pids: impl IntoIterator<Item = u32>) {
    let mut ended = ended_processes();
    let Some(ended) = ended.as_mut() else { return };
    for one in pids.into_iter().filter_map(process_table::entry) {
        let ours = [Ok(process_table::GUARD), process_table::FIRST.to_str()];
        let is_ours = ours.into_iter().flatten().any(|name| process_table::is_named(one.pid, name));
        if !one.is_zombie && !is_ours {
            ended.insert((one.pid, one.start_ticks));
        }
    }
}

fn ended_processes() -> MutexGuard<'static, Option<BTreeSet<Key>>> {
    ENDED.lock().unwrap_or_else(PoisonError::into_inner)
}
