//! The heartbeat beside the state: a living loop writes it, other commands read it.
//!
//! Here: its content, the thread that writes it, and how a reader interprets its clocks. Not here:
//! what follows for a loop's state (`descent_core::view::liveness`).
//!
//! Invariant: nothing depends on it. It is no part of the state, has no serial, and is never
//! synced. Without it a loop works all the same, and other commands learn less. If the loop takes
//! no turns any more, the thread stops writing too. The file has one size, so that a full disk has
//! room for it, and an invalid one counts as missing. Errors of it are ignored.

#[cfg(test)]
#[allow(clippy::disallowed_methods)] // plants heartbeats
mod tests;
pub mod work;

use std::{
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::JoinHandle,
    time::Duration,
};

use descent_core::{
    desired::DesiredWork,
    id::{RunId, UnixMillis},
    view::liveness::{
        self, BEAT_EVERY_MS, HeartbeatView, LastBeat, LoopPhase, LoopSignals, WaitsFor,
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

/// The content of the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct HeartbeatRecord {
    schema: String,
    run: String,
    pid: u32,
    start_ticks: u64,
    boot_id: String,
    host: String,
    phase: LoopPhase,
    waits_for: Option<WaitsFor>,
    iteration: u64,
    serial: u64,
    in_flight: Vec<String>,
    /// How many further atoms are in flight.
    unnamed: usize,
    at: String,
    awake_ms: u64,
    total_ms: u64,
}

/// Writes heartbeats as long as it lives; then the file is removed.
#[derive(Debug)]
pub(crate) struct Heartbeat {
    shared: Arc<HeartbeatShared>,
    path: PathBuf,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct HeartbeatShared {
    activity: Mutex<LoopActivity>,
    changed: Condvar,
}

/// The last report of the loop.
#[derive(Debug)]
struct LoopActivity {
    heartbeat: HeartbeatRecord,
    /// When that was.
    turned_ms: u64,
    is_over: bool,
}

impl Heartbeat {
    /// The caller holds the lease.
    pub fn start(place: &StatePlace, run: &RunId, clock: Arc<dyn Clock>) -> Self {
        let path = path_in(&place.dir);
        let heartbeat = first(run, clock.now());
        write(&path, &heartbeat);
        let shared = Arc::new(HeartbeatShared {
            activity: Mutex::new(LoopActivity {
                turned_ms: heartbeat.awake_ms,
                heartbeat,
                is_over: false,
            }),
            changed: Condvar::new(),
        });
        let (inner, to) = (Arc::clone(&shared), path.clone());
        let thread = std::thread::Builder::new()
            .name("heartbeat".to_owned())
            .spawn(move || keep_beating(&inner, &to, &*clock));
        // Without a thread there are no heartbeats, which proves nothing.
        Self { shared, path, thread: thread.ok() }
    }

    /// Reports a turn of the loop.
    pub fn turn(&self, world: &World, desired: &DesiredWork, waits_for: Option<WaitsFor>) {
        let run = &world.state.run;
        let mut activity = self.shared.lock();
        let is_news = activity.heartbeat.waits_for != waits_for;
        activity.turned_ms = clock::since_boot().awake_ms;
        let heartbeat = &mut activity.heartbeat;
        // A run that is over ends in one long turn, even while it waits.
        heartbeat.phase = match liveness::phase(desired) {
            phase if waits_for.is_none() || desired.is_over => phase,
            _ => LoopPhase::Waiting,
        };
        heartbeat.waits_for = waits_for;
        heartbeat.iteration = run.iteration;
        heartbeat.serial = world.state.serial.0;
        let names = run.in_flight.iter().map(|intent| intent.atom.to_string());
        heartbeat.in_flight = names.take(NAMED_MAX).collect();
        heartbeat.unnamed = run.in_flight.len() - heartbeat.in_flight.len();
        if is_news {
            self.shared.changed.notify_one();
        }
    }
}

impl Drop for Heartbeat {
    fn drop(&mut self) {
        self.shared.lock().is_over = true;
        self.shared.changed.notify_one();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        // Anything else there is not ours.
        let _ = files::remove_file(&self.path);
    }
}

impl HeartbeatShared {
    fn lock(&self) -> MutexGuard<'_, LoopActivity> {
        self.activity.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn path_in(dir: &Path) -> PathBuf {
    dir.join("heartbeat")
}

fn keep_beating(shared: &HeartbeatShared, path: &Path, clock: &dyn Clock) {
    let mut activity = shared.lock();
    while !activity.is_over {
        let now = clock::since_boot();
        let is_stuck = now.awake_ms.saturating_sub(activity.turned_ms) > TURN_MS_MAX;
        if !(is_stuck && activity.heartbeat.phase.turns()) {
            let mut heartbeat = activity.heartbeat.clone();
            drop(activity);
            heartbeat.at = clock.now().rfc3339();
            (heartbeat.awake_ms, heartbeat.total_ms) = (now.awake_ms, now.total_ms);
            // The lock is not held meanwhile: a slow disk must not delay the loop.
            write(path, &heartbeat);
            activity = shared.lock();
        }
        if activity.is_over {
            return;
        }
        let pause = Duration::from_millis(BEAT_EVERY_MS);
        let waited = shared.changed.wait_timeout(activity, pause);
        activity = waited.unwrap_or_else(PoisonError::into_inner).0;
    }
}

fn first(run: &RunId, at: UnixMillis) -> HeartbeatRecord {
    let (pid, now) = (std::process::id(), clock::since_boot());
    HeartbeatRecord {
        schema: "descent/heartbeat/1".to_owned(),
        run: run.to_string(),
        pid,
        start_ticks: process::entry(pid).map_or(0, |entry| entry.start_ticks),
        boot_id: process::boot_id(),
        host: host(),
        phase: LoopPhase::Starting,
        waits_for: None,
        iteration: 0,
        serial: 0,
        in_flight: Vec::new(),
        unnamed: 0,
        at: at.rfc3339(),
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
    let written = read_record(&path_in(&place.dir));
    let now = clock::since_boot();
    let heartbeat = written.as_ref().filter(|heartbeat| is_of_this_boot(heartbeat));
    let holder_pid = holder.and_then(pid_in);
    let process = holder_pid.and_then(process::entry);
    let is_same = |heartbeat: &&HeartbeatRecord| Some(heartbeat.pid) == holder_pid;
    let view = written.as_ref().map(|written| HeartbeatView {
        run: written.run.clone(),
        pid: written.pid,
        host: written.host.clone(),
        phase: written.phase,
        iteration: written.iteration,
        in_flight: written.in_flight.clone(),
        at: written.at.clone(),
        age_ms: heartbeat.map(|heartbeat| age_ms(heartbeat, now)),
        slept_ms: heartbeat.map(|heartbeat| slept_ms(heartbeat, now)),
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
pub(crate) fn loop_process(place: &StatePlace, holder: &str) -> Option<(KnownProcess, LoopPhase)> {
    let heartbeat = read_record(&path_in(&place.dir)).filter(is_of_this_boot)?;
    let is_holder = pid_in(holder) == Some(heartbeat.pid);
    let process = KnownProcess::open(heartbeat.pid, heartbeat.start_ticks);
    Some((process.filter(|_| is_holder)?, heartbeat.phase))
}

/// The number in `pid 12, run`.
pub(crate) fn pid_in(holder: &str) -> Option<u32> {
    let number = holder.strip_prefix("pid ")?.split(',').next()?;
    number.trim().parse().ok()
}

/// Clocks that count from boot mean nothing on another machine or after another boot.
fn is_of_this_boot(heartbeat: &HeartbeatRecord) -> bool {
    let boot_id = process::boot_id();
    !boot_id.is_empty() && heartbeat.boot_id == boot_id && heartbeat.host == host()
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
