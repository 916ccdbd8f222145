//! The last question of a loop: the words of the final answer, once the run has ended and its result is delivered.
//!
//! Invariant: whatever comes of it, the run has ended as it did. It is waited for no longer than [`PATIENCE_MS`].

use std::sync::Arc;

use descent_core::{desired, event::Input, wording};

use super::Loop;
use crate::clock::to_next_poll;
use crate::{clock::Stopwatch, failure::Failure};

/// The time of the agent, with a checkout before and the end of its processes after.
const PATIENCE_MS: u64 = 60_000;

impl Loop<'_> {
    /// Has the answer worded, unless a person wants the loop to end.
    pub(super) async fn word(&mut self) {
        if wording::asked(&self.world.state).is_none() {
            return;
        }
        if self.signal.is_none() && self.early.is_none() {
            if let Err(error) = self.until_worded().await {
                let words = format!("the final answer stays as the program words it: {error}");
                (self.observer.on_note)(&words);
            }
            self.end_all().await;
        }
        if wording::asked(&self.world.state).is_some()
            && self.waits_for_file.is_none()
            && let Err(error) = self.observe(Input::Unworded).await
        {
            // The next run takes it back.
            tracing::warn!(%error, "the question for the final answer could not be taken back");
        }
        self.host.store.write_journal();
    }

    async fn until_worded(&mut self) -> Result<(), Failure> {
        let waited = Stopwatch::start(Arc::clone(&self.host.clock));
        loop {
            self.work_off().await?;
            let desired = desired::after_the_end(&self.world);
            (self.observer.on_turn)(&self.world, &desired, None);
            let is_late = waited.passed_ms() >= PATIENCE_MS;
            if desired.is_over || is_late || self.waits_for_file.is_some() {
                return Ok(());
            }
            self.reconcile(&desired)?;
            tokio::select! {
                biased;
                signal = self.host.signals.next() => {
                    self.signal = Some(signal);
                    return Ok(());
                }
                done = self.inbox.recv() => self.take(done)?,
                () = self.host.watch.changed() => self.look_at_file().await?,
                () = self.host.clock.sleep(to_next_poll(&*self.host.clock)) => {
                    self.watch_stamp = None;
                    self.look_at_file().await?;
                }
            }
        }
    }
}
