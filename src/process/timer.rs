//! A timer for what happens beside a job.

use std::time::{Duration, Instant};

#[derive(Debug, Clone, Copy)]
pub struct Timer(Instant);

impl Timer {
    #[must_use]
    pub fn start() -> Self {
        Self(Instant::now())
    }

    #[must_use]
    pub fn elapsed(self) -> Duration {
        self.0.elapsed()
    }
}
