//! The door to the clocks: the time of day for records, and active time for budgets.
//!
//! Invariant: active time is monotonic and stands still while the machine sleeps.
#![allow(clippy::disallowed_methods)] // this is the door

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use descent_core::id::UnixMillis;

/// The time of day.
pub fn now() -> UnixMillis {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    UnixMillis(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

/// Measures what has passed between two looks.
#[derive(Debug)]
pub struct Stopwatch(Instant);

impl Stopwatch {
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// Milliseconds since the last lap.
    pub fn lap_ms(&mut self) -> u64 {
        let passed_ms = self.0.elapsed().as_millis();
        let passed_ms = u64::try_from(passed_ms).unwrap_or(u64::MAX);
        // Only whole milliseconds are taken, so that many short laps lose nothing.
        self.0 += std::time::Duration::from_millis(passed_ms);
        passed_ms
    }
}
