//! Ends a run whose state has no room for the next commit.
//!
//! Invariant: no outcome is lost. All attempts stay in flight, and the next run takes their outcomes in from the disk. An
//! attempt that must happen only once is waited for. Not here: how large a state may be (`store`).

use std::collections::VecDeque;

use descent_core::{desired::WorkKey, event::Input};

use super::Loop;
use crate::failure::Failure;

impl Loop<'_> {
    /// Puts the end of the run in the place of the inputs that have no room.
    pub(super) async fn end_without_room(
        &mut self,
        inputs: &mut VecDeque<Input>,
        failure: Failure,
    ) -> Result<(), Failure> {
        let is_the_end = matches!(inputs.front(), Some(Input::NoRoom { .. }));
        if is_the_end || !self.world.state.run.status.is_active() {
            return Err(failure);
        }
        while self.runs_once_only() {
            tokio::select! {
                biased;
                // It leaves them in doubt.
                signal = self.host.signals.next() => {
                    self.signal = Some(signal);
                    break;
                }
                done = self.inbox.recv() => self.take(done)?,
            }
        }
        let why = failure.message;
        *inputs = VecDeque::from([Input::NoRoom { why }]);
        self.pending.clear();
        Ok(())
    }

    fn runs_once_only(&self) -> bool {
        let mut in_flight = self.world.state.run.in_flight.iter();
        in_flight.any(|intent| {
            let is_its = |key: &WorkKey| matches!(key, WorkKey::Attempt(id, _) if *id == intent.id);
            intent.effect.is_once_only() && self.running.keys().any(is_its)
        })
    }
}
