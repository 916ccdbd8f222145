//! A clock that jumps while nothing runs, and that can be set forward and back.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use descent_core::id::UnixMillis;
use tokio::time::Instant;

use descent_system::clock::{Clock, Sleep};

const BEGIN_MS: u64 = 1_700_000_000_000;

/// Follows the runtime's time, which must be paused: then it stands still while anything can run.
#[derive(Debug)]
pub(super) struct SetClock {
    since: Instant,
    /// The offset of the time of day.
    ahead_ms: Mutex<i64>,
}

impl SetClock {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self { since: Instant::now(), ahead_ms: Mutex::default() })
    }

    pub(super) fn put_forward(&self, by_ms: i64) {
        *self.ahead_ms.lock().unwrap() += by_ms;
    }
}

impl Clock for SetClock {
    fn now(&self) -> UnixMillis {
        let ahead_ms = *self.ahead_ms.lock().unwrap();
        let passed_ms = u64::try_from(self.active().as_millis()).unwrap();
        UnixMillis((BEGIN_MS + passed_ms).saturating_add_signed(ahead_ms))
    }

    fn active(&self) -> Duration {
        self.since.elapsed()
    }

    fn sleep(&self, length: Duration) -> Sleep {
        Box::pin(tokio::time::sleep(length))
    }
}
