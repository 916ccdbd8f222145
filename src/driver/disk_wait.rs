//! Waiting until the disk takes what has to be written: it was full, or read-only, or no file could be opened.
//!
//! Nothing new begins meanwhile; what is in flight goes on, and what comes of it waits in memory. Then the same is
//! tried again. Invariant: it is tried at most twice a second, and a person is told once.

use std::{sync::Arc, time::Duration};

use descent_core::{desired::DesiredWork, view::liveness::WaitsFor};

use super::{Loop, follow};
use crate::{clock::Stopwatch, failure::Failure};

/// Between two tries, growing from the first to the second.
const PAUSE_MS_MIN: u64 = 500;
const PAUSE_MS_MAX: u64 = 5_000;

#[derive(Debug, Default)]
pub(super) struct DiskWait {
    /// What was said of it, until something was written again.
    told: Option<Failure>,
    /// Since when nothing is tried, and for how long.
    pause: Option<(Stopwatch, u64)>,
    pause_ms: u64,
}

impl DiskWait {
    /// Nothing is tried now.
    pub(super) fn is_lacking(&self) -> bool {
        self.pause
            .as_ref()
            .is_some_and(|(since, pause_ms)| since.passed_ms() < *pause_ms)
    }

    /// What lacked at the last try.
    pub(super) fn lacked(&self) -> Option<&Failure> {
        self.told.as_ref()
    }

    /// Until the next try.
    pub(super) fn left_ms(&self) -> Option<u64> {
        let (since, pause_ms) = self.pause.as_ref()?;
        Some(pause_ms.saturating_sub(since.passed_ms()))
    }
}

impl Loop<'_> {
    /// What fails for want of room alone is waited for; anything else is an error.
    pub(super) fn endure(&mut self, result: Result<(), Failure>) -> Result<(), Failure> {
        match result {
            Err(failure) if failure.lack.is_some() => {
                self.wait_for_room(failure);
                Ok(())
            }
            result => result,
        }
    }

    fn wait_for_room(&mut self, failure: Failure) {
        let clock = Arc::clone(&self.host.clock);
        let room = &mut self.room;
        room.pause_ms = (room.pause_ms * 2).clamp(PAUSE_MS_MIN, PAUSE_MS_MAX);
        room.pause = Some((Stopwatch::start(clock), room.pause_ms));
        // An edit may have been seen that could not be taken in.
        self.watch_stamp = None;
        if room.told.replace(failure.clone()).is_none() {
            // What git says may come in lines.
            let what = failure.message.lines().collect::<Vec<_>>().join(" ");
            (self.eyes.say)(&format!(
                "waiting: {what}; nothing is lost, and it goes on by itself: {}",
                failure.hint
            ));
        }
    }

    /// The result is put where a person looks, as soon as there is room for it; a signal ends the wait.
    pub(super) async fn deliver(&mut self) -> Result<(), Failure> {
        loop {
            let failure = match follow::deliver(self).await {
                Err(failure) if failure.lack.is_some() && self.early.is_none() => failure,
                result => {
                    self.there_is_room();
                    return result;
                }
            };
            self.wait_for_room(failure.clone());
            let over = DesiredWork {
                is_over: true,
                ..DesiredWork::default()
            };
            (self.eyes.look)(&self.world, &over, Some(WaitsFor::Disk));
            let pause = Duration::from_millis(self.room.left_ms().unwrap_or(PAUSE_MS_MIN));
            tokio::select! {
                _ = self.host.signals.next() => return Err(failure),
                () = self.host.clock.sleep(pause) => {}
            }
        }
    }

    /// Something was written, or done on the disk.
    pub(super) fn there_is_room(&mut self) {
        if self.room.told.take().is_some() {
            self.room = DiskWait::default();
            (self.eyes.say)("what was lacking is there again; going on");
        }
    }
}
