//! Waits until the disk can be written again: it was full or read-only, or no file could be opened. Waits as well until
//! the person's repository is there again.
//!
//! No new work starts meanwhile. Work in flight goes on, and its results wait in memory. Then the
//! same write is tried again. Invariant: it is tried at most twice a second, and reported to a
//! person once.

use std::{sync::Arc, time::Duration};

use descent_core::{desired::DesiredWork, state::RunStatus, view::liveness::WaitsFor};

use super::{Loop, follow};
use descent_system::{
    clock::Stopwatch,
    failure::{Failure, Lack},
};

/// The pause between two tries grows from the first value to the second.
const PAUSE_MS_MIN: u64 = 500;
const PAUSE_MS_MAX: u64 = 5_000;

#[derive(Debug, Default)]
pub(super) struct DiskWait {
    /// The reported failure, until a write succeeds.
    reported: Option<Failure>,
    /// The start of the present pause.
    paused: Option<Stopwatch>,
    pause_ms: u64,
}

impl DiskWait {
    /// Whether the disk is not tried now.
    pub(super) fn is_lacking(&self) -> bool {
        self.left_ms().is_some_and(|left_ms| left_ms > 0)
    }

    /// Whether the state file is not written now.
    pub(super) fn keeps_from_writing(&self) -> bool {
        self.is_lacking() && self.waits_for() == Some(WaitsFor::Disk)
    }

    /// The thing that is lacking, if anything.
    pub(super) fn waits_for(&self) -> Option<WaitsFor> {
        Some(match self.reported.as_ref()?.lack() {
            Some(Lack::Repository) => WaitsFor::Repository,
            _ => WaitsFor::Disk,
        })
    }

    /// The failure of the last try.
    pub(super) fn lacked(&self) -> Option<&Failure> {
        self.reported.as_ref()
    }

    /// The time until the next try.
    pub(super) fn left_ms(&self) -> Option<u64> {
        Some(self.pause_ms.saturating_sub(self.paused.as_ref()?.passed_ms()))
    }
}

impl Loop<'_> {
    /// Waits if the only cause is a lacking resource; returns any other failure.
    pub(super) fn endure(&mut self, result: Result<(), Failure>) -> Result<(), Failure> {
        match result {
            Err(failure) if failure.lack().is_some() => {
                self.wait_for_room(failure);
                Ok(())
            }
            result => result,
        }
    }

    fn wait_for_room(&mut self, failure: Failure) {
        let clock = Arc::clone(&self.host.clock);
        let wait = &mut self.disk_wait;
        wait.pause_ms = (wait.pause_ms * 2).clamp(PAUSE_MS_MIN, PAUSE_MS_MAX);
        wait.paused = Some(Stopwatch::start(clock));
        // An edit may have been seen that could not be adopted.
        self.watch_stamp = None;
        if wait.reported.replace(failure.clone()).is_none() {
            // A message of git may have several lines.
            let what = failure.message.lines().collect::<Vec<_>>().join(" ");
            (self.observer.on_note)(&format!(
                "waiting: {what}; nothing is lost, and it goes on by itself: {}",
                failure.hint
            ));
        }
    }

    /// Puts the result where a person looks, as soon as there is space for it; a signal ends the
    /// wait.
    pub(super) async fn deliver(&mut self) -> Result<(), Failure> {
        loop {
            let failure = match follow::deliver(self).await {
                Err(failure) if failure.lack().is_some() && self.early.is_none() => failure,
                result => {
                    self.there_is_room();
                    return result;
                }
            };
            // A person wants the end, and the next run delivers it.
            if self.world.state.run.status == RunStatus::Stopped {
                return Err(failure);
            }
            self.wait_for_room(failure.clone());
            let over = DesiredWork { is_over: true, ..DesiredWork::default() };
            (self.observer.on_turn)(&self.world, &over, self.disk_wait.waits_for());
            let pause = Duration::from_millis(self.disk_wait.left_ms().unwrap_or(PAUSE_MS_MIN));
            tokio::select! {
                _ = self.host.signals.next() => return Err(failure),
                () = self.host.clock.sleep(pause) => {}
            }
        }
    }

    /// Ends the wait for it: for the disk when the state was written, for the repository when work came to its end.
    pub(super) fn is_there(&mut self, what: WaitsFor) {
        if self.disk_wait.waits_for() == Some(what) {
            self.there_is_room();
        }
    }

    /// Something was written, or done on the disk.
    pub(super) fn there_is_room(&mut self) {
        if self.disk_wait.reported.take().is_some() {
            self.disk_wait = DiskWait::default();
            (self.observer.on_note)("what was lacking is there again; going on");
        }
    }
}
