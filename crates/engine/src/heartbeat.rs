//! The signs of a living loop beside its state, which other commands read: its heartbeat, and its present work.
//!
//! Here: their content, the thread that writes them, and how a reader interprets the clocks of a heartbeat. Not here:
//! what follows for a loop's state (`descent_core::view::liveness`).
//!
//! Invariant: nothing depends on them. They are no part of the state, and are never synced. Without them a loop works all
//! the same, and other commands learn less. If the loop takes no turns any more, its heart stops too. The heartbeat has
//! one size, so that a full disk has room for it, and an invalid one counts as missing. The work is written only when it
//! changed, and a few times a second at most. Errors are ignored.

#[cfg(test)]
#[allow(clippy::disallowed_methods)] // plants heartbeats
mod tests;

use std::{
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::JoinHandle,
    time::Duration,
};

use descent_core::{
    desired::DesiredWork,
    event::Scope,
    id::{RunId, UnixMillis},
    view::{
        liveness::{
            self, BEAT_EVERY_MS, HeartbeatView, LastBeat, LoopPhase, LoopSignals, WaitsFor,
        },
        work::WorkView,
    },
    world::World,
};
use serde::{Deserialize, Serialize};

use descent_process::{self as process, KnownProcess};
use descent_store::StatePlace;
use descent_system::{
    clock::{self, Clock},
    files, space,
};

/// A working loop takes a turn every second; handling an input takes longer if the disk or a lock
/// is slow.
const TURN_MS_MAX: u64 = 30_000;
/// Maximum of atoms named in a heartbeat.
const NAMED_MAX: usize = 16;

/// A block of most file systems.
const BYTES: usize = 4_096;
/// A reader may meet a heartbeat that is half written.
const READ_TIMES: u32 = 3;
const READ_AGAIN_MS: u64 = 2;

/// The shortest time between two writings of the work.
const WORK_EVERY_MS: u64 = 200;
/// A larger file of it is not the program's.
const WORK_BYTES_MAX: u64 = 1024 * 1024;

/// The content of the heartbeat.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct HeartbeatRecord {
    schema: String,
    /// Without the ages, which are the reader's.
    #[serde(flatten)]
    view: HeartbeatView,
    start_ticks: u64,
    boot_id: String,
    waits_for: Option<WaitsFor>,
    serial: u64,
    /// How many further atoms are in flight.
    unnamed: usize,
    awake_ms: u64,
    total_ms: u64,
}

/// The content of the file of the work.
#[derive(Debug, Serialize, Deserialize)]
struct WorkRecord {
    schema: String,
    run: String,
    serial: u64,
    at: String,
    #[serde(flatten)]
    work: WorkView,
}

/// Writes the signs as long as it lives; then the files are removed.
pub(crate) struct Heartbeat {
    shared: Arc<LoopBoard>,
    thread: Option<JoinHandle<()>>,
}

/// The part that threads share: the loop, its writer, and all who draw the work.
pub struct LoopBoard {
    dir: PathBuf,
    clock: Arc<dyn Clock>,
    signs: Mutex<LoopSigns>,
    changed: Condvar,
}

/// The last report of the loop.
struct LoopSigns {
    heartbeat: HeartbeatRecord,
    /// When the loop took its last turn.
    turned_ms: u64,
    /// The heartbeat tells of another wait than the one that is written.
    has_news: bool,
    work: WorkView,
    /// Counts the changes of the work.
    version: u64,
    /// The version that is written.
    written: u64,
    /// The writer waits for a change of the work.
    is_waited_for: bool,
    is_over: bool,
}

impl Heartbeat {
    /// The caller holds the lease.
    pub fn start(place: &StatePlace, run: &RunId, clock: Arc<dyn Clock>) -> Self {
        let heartbeat = first(run, clock.now());
        write(&beat_in(&place.dir), &heartbeat);
        let signs = LoopSigns {
            turned_ms: heartbeat.awake_ms,
            heartbeat,
            has_news: false,
            work: WorkView::default(),
            version: 0,
            written: 0,
            is_waited_for: false,
            is_over: false,
        };
        let (dir, signs, changed) = (place.dir.clone(), Mutex::new(signs), Condvar::new());
        let shared = Arc::new(LoopBoard { dir, clock, signs, changed });
        let inner = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("heartbeat".to_owned())
            .spawn(move || keep_writing(&inner));
        // Without a thread there are no signs, which proves nothing.
        Self { shared, thread: thread.ok() }
    }

    /// For those who draw the work, and for those who measure checks.
    pub fn shared(&self) -> Arc<LoopBoard> {
        Arc::clone(&self.shared)
    }

    /// Reports a turn of the loop.
    pub fn turn(&self, world: &World, desired: &DesiredWork, waits_for: Option<WaitsFor>) {
        let (run, now) = (&world.state.run, self.shared.clock.now().rfc3339());
        let mut guard = self.shared.lock();
        let signs = &mut *guard;
        signs.turned_ms = clock::since_boot().awake_ms;
        let HeartbeatRecord { view, waits_for: waits, serial, unnamed, .. } = &mut signs.heartbeat;
        signs.has_news |= *waits != waits_for;
        // A run that is over ends in one long turn, even while it waits.
        view.phase = match liveness::phase(desired) {
            phase if waits_for.is_none() || desired.is_over => phase,
            _ => LoopPhase::Waiting,
        };
        *waits = waits_for;
        view.iteration = run.iteration;
        *serial = world.state.serial.0;
        let names = run.in_flight.iter().map(|intent| intent.atom.to_string());
        view.in_flight = names.take(NAMED_MAX).collect();
        *unnamed = run.in_flight.len() - view.in_flight.len();
        let work = WorkView::next(world, desired, &now, &signs.work);
        if signs.work != work {
            signs.work = work;
            signs.version += 1;
        }
        self.shared.tell(guard);
    }
}

impl Drop for Heartbeat {
    fn drop(&mut self) {
        self.shared.lock().is_over = true;
        self.shared.changed.notify_one();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        let work = work_in(&self.shared.dir);
        // Anything else there is not ours. A killed loop may have left a half of the work.
        for path in [beat_in(&self.shared.dir), files::half_of(&work), work] {
            let _ = files::remove_file(&path);
        }
    }
}

impl LoopBoard {
    fn lock(&self) -> MutexGuard<'_, LoopSigns> {
        self.signs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes the check that is measured.
    pub fn measure(&self, scope: &Scope, title: &str) {
        let now = self.clock.now().rfc3339();
        let mut signs = self.lock();
        signs.work.measure(scope, title, &now);
        signs.version += 1;
        self.tell(signs);
    }

    /// The writer is woken only for news, or if it waits for a change.
    fn tell(&self, signs: MutexGuard<'_, LoopSigns>) {
        let has_changed = signs.is_waited_for && signs.version != signs.written;
        let wakes = signs.has_news || has_changed;
        drop(signs);
        if wakes {
            self.changed.notify_one();
        }
    }

    pub fn view(&self) -> WorkView {
        self.lock().work.clone()
    }
}

fn beat_in(dir: &Path) -> PathBuf {
    dir.join("heartbeat")
}

fn work_in(dir: &Path) -> PathBuf {
    dir.join("work.json")
}

fn keep_writing(shared: &LoopBoard) {
    let (mut beat_at, mut work_at) = (0, 0);
    let mut signs = shared.lock();
    while !signs.is_over {
        let now = clock::since_boot();
        let mut beat = None;
        if std::mem::take(&mut signs.has_news) || now.awake_ms >= beat_at {
            beat_at = now.awake_ms + BEAT_EVERY_MS;
            let is_stuck = now.awake_ms.saturating_sub(signs.turned_ms) > TURN_MS_MAX;
            let is_alive = !is_stuck || !signs.heartbeat.view.phase.turns();
            beat = is_alive.then(|| signs.heartbeat.clone());
        }
        let mut work = None;
        if signs.version != signs.written && now.awake_ms >= work_at {
            work_at = now.awake_ms + WORK_EVERY_MS;
            signs.written = signs.version;
            work = Some((signs.heartbeat.serial, signs.work.clone()));
        }
        let run = signs.heartbeat.view.run.clone();
        // The lock is not held meanwhile: a slow disk must not delay the loop.
        drop(signs);
        let at = || shared.clock.now().rfc3339();
        if let Some(mut beat) = beat {
            (beat.view.at, beat.awake_ms, beat.total_ms) = (at(), now.awake_ms, now.total_ms);
            write(&beat_in(&shared.dir), &beat);
        }
        if let Some((serial, work)) = work {
            let schema = "descent/work/1".to_owned();
            write_work(&work_in(&shared.dir), &WorkRecord { schema, run, serial, at: at(), work });
        }
        let now_ms = clock::since_boot().awake_ms;
        signs = shared.lock();
        signs.is_waited_for = now_ms >= work_at;
        let until = if signs.is_waited_for { beat_at } else { beat_at.min(work_at) };
        let pause = Duration::from_millis(until.saturating_sub(now_ms));
        let waited = shared.changed.wait_timeout_while(signs, pause, |signs| {
            let has_changed = signs.is_waited_for && signs.version != signs.written;
            !signs.is_over && !signs.has_news && !has_changed
        });
        signs = waited.unwrap_or_else(PoisonError::into_inner).0;
    }
}

fn first(run: &RunId, at: UnixMillis) -> HeartbeatRecord {
    let (pid, now) = (std::process::id(), clock::since_boot());
    HeartbeatRecord {
        schema: "descent/heartbeat/1".to_owned(),
        view: HeartbeatView {
            run: run.to_string(),
            pid,
            host: host(),
            phase: LoopPhase::Starting,
            iteration: 0,
            in_flight: Vec::new(),
            at: at.rfc3339(),
            age_ms: None,
            slept_ms: None,
        },
        start_ticks: process::entry(pid).map_or(0, |entry| entry.start_ticks),
        boot_id: process::boot_id(),
        waits_for: None,
        serial: 0,
        unnamed: 0,
        awake_ms: now.awake_ms,
        total_ms: now.total_ms,
    }
}

fn host() -> String {
    let name = rustix::system::uname();
    name.nodename().to_string_lossy().into_owned()
}

/// The observable signs of a state's loop, with its newest heartbeat.
#[derive(Debug)]
pub struct HeartbeatReading {
    pub signals: LoopSignals,
    pub view: Option<HeartbeatView>,
}

/// `holder` is what the holder of the lease wrote about itself, while the lease is held.
pub fn read_at(place: &StatePlace, holder: Option<&str>, is_lease_held: bool) -> HeartbeatReading {
    let written = read_record(&beat_in(&place.dir));
    let now = clock::since_boot();
    let heartbeat = written.as_ref().filter(|heartbeat| is_of_this_boot(heartbeat));
    let holder_pid = holder.and_then(pid_in);
    let process = holder_pid.and_then(process::entry);
    let is_same = |heartbeat: &&HeartbeatRecord| Some(heartbeat.view.pid) == holder_pid;
    let view = written.as_ref().map(|written| HeartbeatView {
        age_ms: heartbeat.map(|heartbeat| age_ms(heartbeat, now)),
        slept_ms: heartbeat.map(|heartbeat| slept_ms(heartbeat, now)),
        ..written.view.clone()
    });
    let signals = LoopSignals {
        is_lease_held,
        is_stopped: is_lease_held && process.is_some_and(|process| process.is_stopped),
        heartbeat: heartbeat.filter(is_same).map(|heartbeat| LastBeat {
            age_ms: age_ms(heartbeat, now),
            slept_ms: slept_ms(heartbeat, now),
            waits_for: heartbeat.waits_for,
        }),
        can_beat: !space::free_space(&place.dir).is_some_and(|space| space.is_read_only),
    };
    HeartbeatReading { signals, view }
}

/// The process of the loop, if its newest heartbeat tells it for certain.
pub(crate) fn loop_process(
    place: &StatePlace,
    holder: Option<u32>,
) -> Option<(KnownProcess, LoopPhase)> {
    let heartbeat = read_record(&beat_in(&place.dir)).filter(is_of_this_boot)?;
    let HeartbeatRecord { view, start_ticks, .. } = heartbeat;
    let is_holder = holder == Some(view.pid);
    let process = KnownProcess::open(view.pid, start_ticks);
    Some((process.filter(|_| is_holder)?, view.phase))
}

/// The number in `pid 12, run`.
pub(crate) fn pid_in(holder: &str) -> Option<u32> {
    let number = holder.strip_prefix("pid ")?.split(',').next()?;
    number.trim().parse().ok()
}

/// Clocks that count from boot mean nothing on another machine or after another boot.
fn is_of_this_boot(heartbeat: &HeartbeatRecord) -> bool {
    let boot_id = process::boot_id();
    !boot_id.is_empty() && heartbeat.boot_id == boot_id && heartbeat.view.host == host()
}

fn age_ms(heartbeat: &HeartbeatRecord, now: clock::SinceBoot) -> u64 {
    now.awake_ms.saturating_sub(heartbeat.awake_ms)
}

/// The total clock counts sleep too, the other does not.
fn slept_ms(heartbeat: &HeartbeatRecord, now: clock::SinceBoot) -> u64 {
    let then_ms = heartbeat.total_ms.saturating_sub(heartbeat.awake_ms);
    let now_ms = now.total_ms.saturating_sub(now.awake_ms);
    now_ms.saturating_sub(then_ms)
}

/// When the heartbeat was written, for people: by the clocks since boot if they are valid,
/// otherwise by the time of day.
pub fn last_sign(view: &HeartbeatView, now: UnixMillis) -> UnixMillis {
    match (view.age_ms, view.slept_ms) {
        (Some(age_ms), Some(slept_ms)) => UnixMillis(now.0.saturating_sub(age_ms + slept_ms)),
        _ => descent_system::phrase::moment(&view.at).unwrap_or(now),
    }
}

/// A heartbeat that is not written is only missed.
fn write(path: &Path, heartbeat: &HeartbeatRecord) {
    let Some(block) = block(heartbeat) else {
        return;
    };
    let written = files::open_or_make(path).and_then(|file| {
        if file.metadata()?.len() > BYTES as u64 {
            file.set_len(0)?;
        }
        file.write_all_at(&block, 0)
    });
    if let Err(error) = written {
        tracing::debug!(%error, "no heartbeat");
    }
}

/// Padded with blanks, which JSON ignores.
fn block(heartbeat: &HeartbeatRecord) -> Option<Vec<u8>> {
    let mut text = serde_json::to_vec(heartbeat).ok()?;
    if text.len() >= BYTES {
        return None;
    }
    text.resize(BYTES - 1, b' ');
    text.push(b'\n');
    Some(text)
}

fn read_record(path: &Path) -> Option<HeartbeatRecord> {
    for n in 0..READ_TIMES {
        if n > 0 {
            std::thread::sleep(Duration::from_millis(READ_AGAIN_MS));
        }
        let bytes = files::read_some(path, BYTES as u64).ok()?;
        if let Ok(heartbeat) = serde_json::from_slice(&bytes) {
            return Some(heartbeat);
        }
    }
    None
}

fn write_work(path: &Path, record: &WorkRecord) {
    let text = serde_json::to_vec(record).unwrap_or_default();
    if let Err(error) = files::write_whole_alone(path, &text) {
        tracing::debug!(%error, "what goes on is not written down");
    }
}

/// The newest work of the loop of that run; the caller knows that the loop lives.
pub fn read_work(place: &StatePlace, run: &str) -> Option<WorkView> {
    let bytes = files::read(&work_in(&place.dir), WORK_BYTES_MAX).ok()?;
    let record: WorkRecord = serde_json::from_slice(&bytes).ok()?;
    (record.run == run).then_some(record.work)
}
