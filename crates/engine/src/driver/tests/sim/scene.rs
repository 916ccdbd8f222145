//! The common parts of one story: its chance, its clock, its faults to come, and its observations.
//!
//! Invariant: all random values come from the one seed, in the one order of the calls.

use std::{
    any::Any,
    collections::{BTreeMap, VecDeque},
    fmt, io,
    panic::resume_unwind,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::mpsc;

use super::{super::simulated::SetClock, rng::Rng, watchman::Watchman};
use descent_store::testing::lossy::Fate;
use descent_system::clock::Clock;

/// Lines that a story keeps: the end of a long one.
const LINES_MAX: usize = 4_000;
pub(super) const ENOSPC: i32 = 28;
pub(super) const EROFS: i32 = 30;
const EIO: i32 = 5;
const EMFILE: i32 = 24;

/// The panic by which the loop dies in these tests.
struct Death;

pub(super) fn is_death(payload: &(dyn Any + Send)) -> bool {
    payload.is::<Death>()
}

/// Disk calls that fail.
#[derive(Debug, Clone, Copy)]
struct Failing {
    errno: i32,
    /// Calls until the first that fails.
    after: u64,
    /// Calls that fail then.
    times: u64,
}

#[derive(Default)]
struct Inner {
    story: VecDeque<String>,
    seen: BTreeMap<&'static str, u32>,
    /// Calls and awaits until the loop dies.
    dies_in: Option<u64>,
    failing: Option<Failing>,
    wrong: Option<String>,
}

pub(super) struct Scene {
    rng: Mutex<Rng>,
    inner: Mutex<Inner>,
    pub(super) clock: Arc<SetClock>,
    pub(super) watchman: Mutex<Watchman>,
    /// Receives news of changes to the file.
    news: Mutex<Option<mpsc::Sender<()>>>,
    /// A person's act in the middle of a commit, after so many calls of the disk.
    intrusion: Mutex<Option<(u64, Intrusion)>>,
}

/// A person's act between two calls.
pub(super) type Intrusion = Box<dyn FnOnce() + Send>;

impl fmt::Debug for Scene {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scene").finish_non_exhaustive()
    }
}

impl Scene {
    pub(super) fn new(rng: Rng) -> Arc<Self> {
        Arc::new(Self {
            rng: Mutex::new(rng),
            inner: Mutex::default(),
            clock: SetClock::new(),
            watchman: Mutex::default(),
            news: Mutex::default(),
            intrusion: Mutex::default(),
        })
    }

    pub(super) fn hears(&self, news: Option<mpsc::Sender<()>>) {
        *held(&self.news) = news;
    }

    fn rings(&self) {
        if let Some(news) = &*held(&self.news) {
            // A waiting message says it already.
            let _ = news.try_send(());
        }
    }

    pub(super) fn intrude(&self, after: u64, intrusion: Intrusion) {
        *held(&self.intrusion) = Some((after, intrusion));
    }

    fn intruded(&self) {
        let mut intrusion = held(&self.intrusion);
        if let Some((left @ 1.., _)) = &mut *intrusion {
            *left -= 1;
            return;
        }
        let due = intrusion.take();
        drop(intrusion);
        if let Some((_, due)) = due {
            due();
        }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        held(&self.inner)
    }

    pub(super) fn percent(&self, chance: usize) -> bool {
        held(&self.rng).percent(chance)
    }

    /// Reports an event, and counts it.
    pub(super) fn saw(&self, what: &'static str) {
        *self.inner().seen.entry(what).or_default() += 1;
        self.tell(what);
    }

    pub(super) fn tell(&self, line: impl fmt::Display) {
        let at_ms = self.clock.active().as_millis();
        let mut inner = self.inner();
        if inner.story.len() == LINES_MAX {
            inner.story.pop_front();
        }
        inner.story.push_back(format!("{at_ms:>8} ms  {line}"));
    }

    pub(super) fn story(&self) -> String {
        Vec::from(self.inner().story.clone()).join("\n")
    }

    pub(super) fn seen(&self) -> BTreeMap<&'static str, u32> {
        self.inner().seen.clone()
    }

    /// Reports the first violation; it ends the story.
    pub(super) fn wrong(&self, what: String) {
        self.tell(format_args!("WRONG: {what}"));
        self.inner().wrong.get_or_insert(what);
    }

    pub(super) fn check(&self) {
        let wrong = self.inner().wrong.clone();
        assert!(wrong.is_none(), "{}", wrong.unwrap_or_default());
    }

    /// A point at which the loop can die.
    pub(super) fn step(&self, what: &str) {
        let mut inner = self.inner();
        let Some(left) = inner.dies_in else { return };
        inner.dies_in = left.checked_sub(1);
        if left == 0 {
            drop(inner);
            self.tell(format_args!("the loop dies: {what}"));
            resume_unwind(Box::new(Death));
        }
    }

    pub(super) fn die_in(&self, steps: Option<u64>) {
        self.inner().dies_in = steps;
    }

    /// Makes calls fail with some error, from some call on.
    pub(super) fn fail_soon(&self) {
        let errno = [EIO, ENOSPC, EROFS, EMFILE][self.below(4)];
        let after = self.below(120) as u64;
        let times = if self.percent(50) { 1 } else { u64::MAX };
        self.inner().failing = Some(Failing { errno, after, times });
    }

    /// Makes every call fail from now on.
    pub(super) fn fail_with(&self, errno: i32) {
        self.inner().failing = Some(Failing { errno, after: 0, times: u64::MAX });
    }

    pub(super) fn heal(&self) {
        self.inner().failing = None;
    }

    fn fault(&self, name: &'static str) -> Option<i32> {
        let mut inner = self.inner();
        let failing = inner.failing.as_mut()?;
        // A disk that cannot be written can be read.
        if [ENOSPC, EROFS].contains(&failing.errno) && is_reading(name) {
            return None;
        }
        if failing.after > 0 {
            failing.after -= 1;
            return None;
        }
        failing.times -= 1;
        let errno = failing.errno;
        if failing.times == 0 {
            inner.failing = None;
        }
        Some(errno)
    }
}

fn is_reading(name: &str) -> bool {
    ["read", "list", "changed_ms", "open", "identify", "ground", "lease"].contains(&name)
}

impl Fate for Scene {
    fn call(&self, name: &'static str) -> io::Result<()> {
        self.intruded();
        self.step(name);
        match self.fault(name) {
            Some(errno) => {
                self.saw("a call of the disk fails");
                held(&self.watchman).failed();
                Err(io::Error::from_raw_os_error(errno))
            }
            None => Ok(()),
        }
    }

    fn below(&self, most: usize) -> usize {
        held(&self.rng).below(most)
    }

    fn now_ms(&self) -> u64 {
        self.clock.now().0
    }

    fn shown(&self, bytes: &[u8]) {
        if let Err(what) = held(&self.watchman).shown(bytes) {
            self.wrong(what);
        }
        self.rings();
    }

    fn saved(&self) {
        held(&self.watchman).saved();
        self.rings();
    }

    fn kept(&self) {
        let looked = held(&self.watchman).kept();
        match looked {
            Ok(lines) => lines.iter().for_each(|line| self.tell(line)),
            Err(what) => self.wrong(what),
        }
    }
}

/// Locks even after a death: the story goes on.
pub(super) fn held<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}
