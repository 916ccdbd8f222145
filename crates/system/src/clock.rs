//! The door to the clocks: the time of day for records, active time for waits and budgets, and how long the machine
//! slept.
//!
//! Invariant: active time is monotonic and stands still while the machine sleeps. The time of day, which anybody can
//! set, decides nothing. The loop reads no clock but the one that was handed in.
#![allow(clippy::disallowed_methods)] // this is the door

use std::{
    fmt,
    future::Future,
    pin::Pin,
    sync::Arc,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use descent_core::id::UnixMillis;
use rustix::time::{ClockId, clock_gettime};

pub type Sleep = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The clock of a loop.
pub trait Clock: fmt::Debug + Send + Sync {
    /// The time of day: it may jump, in either direction.
    fn now(&self) -> UnixMillis;
    /// Active time since some moment.
    fn active(&self) -> Duration;
    /// Ends after that much active time.
    fn sleep(&self, length: Duration) -> Sleep;
}

/// The system's own clocks.
#[derive(Debug)]
struct RealClock {
    since: Instant,
}

impl Clock for RealClock {
    fn now(&self) -> UnixMillis {
        now()
    }

    fn active(&self) -> Duration {
        self.since.elapsed()
    }

    fn sleep(&self, length: Duration) -> Sleep {
        Box::pin(tokio::time::sleep(length))
    }
}

#[must_use]
pub fn real() -> Arc<dyn Clock> {
    Arc::new(RealClock { since: Instant::now() })
}

/// The time of day.
pub fn now() -> UnixMillis {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    UnixMillis(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

/// The time of day in the zone of this machine.
pub fn local() -> jiff::Zoned {
    jiff::Zoned::now()
}

/// Milliseconds since the machine started, which every process of it reads alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SinceBoot {
    /// Without the time that the machine slept.
    pub awake_ms: u64,
    /// With the sleep; the same if the system does not tell it.
    pub total_ms: u64,
}

pub fn since_boot() -> SinceBoot {
    let awake_ms = read_ms(ClockId::Monotonic);
    SinceBoot { awake_ms, total_ms: with_sleep_ms().unwrap_or(awake_ms) }
}

#[cfg(target_os = "linux")]
fn with_sleep_ms() -> Option<u64> {
    Some(read_ms(ClockId::Boottime))
}

#[cfg(not(target_os = "linux"))]
fn with_sleep_ms() -> Option<u64> {
    None
}

fn read_ms(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    let (seconds, nanos) = (time.tv_sec.max(0), time.tv_nsec.max(0));
    let whole_ms = u64::try_from(seconds).unwrap_or(0).saturating_mul(1_000);
    whole_ms.saturating_add(u64::try_from(nanos).unwrap_or(0) / 1_000_000)
}

/// Measures the time between two readings.
#[derive(Debug)]
pub struct Stopwatch {
    clock: Arc<dyn Clock>,
    at: Duration,
}

/// The interval of all that looks about once a second. It is a multiple of the coarse step of the runtime's timers
/// (64 ms), and the clock is older than the runtime by less than a millisecond. So such a wait ends with one wake-up.
pub(crate) const POLL_MS: u64 = 1_024;

/// The time from now to the next multiple of [`POLL_MS`]: all that wait for it wake together.
#[must_use]
pub fn to_next_poll(clock: &dyn Clock) -> Duration {
    let poll = Duration::from_millis(POLL_MS);
    let since = clock.active().as_nanos() % poll.as_nanos();
    poll - Duration::from_nanos(u64::try_from(since).unwrap_or(0))
}

impl Stopwatch {
    pub fn start(clock: Arc<dyn Clock>) -> Self {
        Self { at: clock.active(), clock }
    }

    /// Milliseconds since the last lap; the lap goes on.
    pub fn passed_ms(&self) -> u64 {
        let passed_ms = self.clock.active().saturating_sub(self.at).as_millis();
        u64::try_from(passed_ms).unwrap_or(u64::MAX)
    }

    /// Milliseconds since the last lap.
    pub fn lap_ms(&mut self) -> u64 {
        let passed_ms = self.passed_ms();
        // Only whole milliseconds are taken, so that many short laps lose nothing.
        self.at += Duration::from_millis(passed_ms);
        passed_ms
    }
}
