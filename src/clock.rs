//! The door to the clocks: the time of day for records, and active time for budgets.
//!
//! Invariant: active time is monotonic and stands still while the machine sleeps; the loop reads no clock but the one
//! that was handed in.
#![allow(clippy::disallowed_methods)] // this is the door

use std::{
    fmt,
    future::Future,
    pin::Pin,
    sync::Arc,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use descent_core::id::UnixMillis;

pub type Sleep = Pin<Box<dyn Future<Output = ()> + Send>>;

/// What a loop asks of time.
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
    Arc::new(RealClock {
        since: Instant::now(),
    })
}

/// The time of day.
pub fn now() -> UnixMillis {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    UnixMillis(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

/// Measures what has passed between two looks.
#[derive(Debug)]
pub struct Stopwatch {
    clock: Arc<dyn Clock>,
    at: Duration,
}

impl Stopwatch {
    pub fn start(clock: Arc<dyn Clock>) -> Self {
        Self {
            at: clock.active(),
            clock,
        }
    }

    /// Milliseconds since the last lap.
    pub fn lap_ms(&mut self) -> u64 {
        let passed_ms = self.clock.active().saturating_sub(self.at).as_millis();
        let passed_ms = u64::try_from(passed_ms).unwrap_or(u64::MAX);
        // Only whole milliseconds are taken, so that many short laps lose nothing.
        self.at += Duration::from_millis(passed_ms);
        passed_ms
    }
}
