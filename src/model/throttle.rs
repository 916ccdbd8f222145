//! One throttle a server: how many questions go side by side, and a pause for all of them.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::sync::Notify;

use crate::process::Timer;

#[derive(Debug)]
pub(super) struct Throttle {
    traffic: Mutex<Traffic>,
    changed: Notify,
    since: Timer,
}

#[derive(Debug, Default)]
struct Traffic {
    active: usize,
    /// Since the throttle was made.
    paused_until: Duration,
}

/// One of the questions that may go side by side; dropping it lets the next one go.
#[derive(Debug)]
pub(super) struct Permit(Arc<Throttle>);

impl Drop for Permit {
    fn drop(&mut self) {
        let mut traffic = self.0.lock();
        traffic.active = traffic.active.saturating_sub(1);
        drop(traffic);
        self.0.changed.notify_waiters();
    }
}

impl Throttle {
    pub(super) fn new() -> Self {
        Self { traffic: Mutex::default(), changed: Notify::new(), since: Timer::start() }
    }

    fn lock(&self) -> MutexGuard<'_, Traffic> {
        // Every change is one assignment.
        self.traffic.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Nobody asks for so long.
    pub(super) fn pause(&self, length: Duration) {
        let until = self.since.elapsed().saturating_add(length);
        let mut traffic = self.lock();
        traffic.paused_until = traffic.paused_until.max(until);
        drop(traffic);
        self.changed.notify_waiters();
    }

    /// Waits for a turn. An error is a pause that is longer than the patience.
    pub(super) async fn enter(
        self: &Arc<Self>,
        side_by_side: usize,
        patience: Duration,
    ) -> Result<Permit, Duration> {
        loop {
            let changed = self.changed.notified();
            let mut changed = std::pin::pin!(changed);
            changed.as_mut().enable();
            let pause = {
                let mut traffic = self.lock();
                let left = traffic.paused_until.saturating_sub(self.since.elapsed());
                if left > patience {
                    return Err(left);
                }
                if left.is_zero() && traffic.active < side_by_side.max(1) {
                    traffic.active += 1;
                    return Ok(Permit(Arc::clone(self)));
                }
                left
            };
            if pause.is_zero() {
                changed.await
            } else {
                drop(tokio::time::timeout(pause, changed).await)
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
        let throttle = Arc::new(Throttle::new());
        let first = throttle.enter(2, MINUTE).await.unwrap();
        let _second = throttle.enter(2, MINUTE).await.unwrap();
        let mut third = Box::pin(throttle.enter(2, MINUTE));
        assert!(third.as_mut().now_or_never().is_none());
        drop(first);
        assert!(third.await.is_ok());
    }

    #[tokio::test]
    async fn a_pause_holds_for_all_and_a_long_one_is_told() {
        let throttle = Arc::new(Throttle::new());
        throttle.pause(Duration::from_millis(30));
        let since = Timer::start();
        assert!(throttle.enter(1, MINUTE).await.is_ok());
        assert!(since.elapsed() >= Duration::from_millis(30));
        throttle.pause(MINUTE * 5);
        assert!(throttle.enter(1, MINUTE).await.unwrap_err() > MINUTE * 4);
    }
}
