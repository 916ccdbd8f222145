//! One throttle a server: how many questions go side by side, and a pause for all of them.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{
    sync::{Semaphore, SemaphorePermit},
    time::sleep,
};

use crate::process::Timer;

#[derive(Debug)]
pub(super) struct Throttle {
    turns: Semaphore,
    /// The end of the pause, since the throttle was made.
    paused_until: Mutex<Duration>,
    since: Timer,
}

impl Throttle {
    pub(super) fn new(side_by_side: usize) -> Self {
        Self {
            turns: Semaphore::new(side_by_side.max(1)),
            paused_until: Mutex::default(),
            since: Timer::start(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Duration> {
        // Every change is one assignment.
        self.paused_until.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Nobody asks for so long.
    pub(super) fn pause(&self, length: Duration) {
        let until = self.since.elapsed().saturating_add(length);
        let mut paused_until = self.lock();
        *paused_until = until.max(*paused_until);
    }

    /// Waits for a turn; dropping it lets the next question go. An error is a pause that is longer than the patience.
    pub(super) async fn enter(
        &self,
        patience: Duration,
    ) -> Result<Option<SemaphorePermit<'_>>, Duration> {
        loop {
            let left = self.lock().saturating_sub(self.since.elapsed());
            if left > patience {
                return Err(left);
            }
            sleep(left).await;
            // It is never closed.
            let turn = self.turns.acquire().await.ok();
            if *self.lock() <= self.since.elapsed() {
                return Ok(turn);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    #[tokio::test]
    async fn so_many_go_side_by_side_and_the_next_goes_when_one_is_dropped() {
        let throttle = Throttle::new(2);
        let first = throttle.enter(MINUTE).await.unwrap();
        let _second = throttle.enter(MINUTE).await.unwrap();
        let mut third = Box::pin(throttle.enter(MINUTE));
        assert!(third.as_mut().now_or_never().is_none());
        drop(first);
        assert!(third.await.is_ok());
    }

    #[tokio::test]
    async fn a_pause_holds_for_all_and_a_long_one_is_told() {
        let throttle = Throttle::new(1);
        throttle.pause(Duration::from_millis(30));
        let since = Timer::start();
        assert!(throttle.enter(MINUTE).await.is_ok());
        assert!(since.elapsed() >= Duration::from_millis(30));
        throttle.pause(MINUTE * 5);
        assert!(throttle.enter(MINUTE).await.unwrap_err() > MINUTE * 4);
    }
}
