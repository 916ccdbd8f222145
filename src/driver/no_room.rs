//! Ends a run whose state has no room for the next commit.
//!
//! Invariant: no outcome is lost. Its attempt stays in flight, and the next run takes it in from the disk. An attempt
//! that must happen only once is waited for. Not here: how large a state may be (`store`).

use std::collections::{BTreeSet, VecDeque};

use descent_core::{desired::WorkKey, event::Input, id::AttemptId};

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
        self.await_once_only().await?;
        self.take_arrived()?;
        inputs.append(&mut self.pending);
        let recorded = self.recorded(inputs);
        inputs.clear();
        inputs.push_back(Input::NoRoom {
            why: failure.message,
            recorded,
        });
        Ok(())
    }

    /// Waits for attempts that must happen only once; a signal ends that, and leaves them in doubt.
    async fn await_once_only(&mut self) -> Result<(), Failure> {
        while self.running.keys().any(|key| self.is_once_only(key)) {
            tokio::select! {
                biased;
                signal = self.host.signals.next() => {
                    self.signal = Some(signal);
                    return Ok(());
                }
                done = self.inbox.recv() => self.take(done)?,
            }
        }
        Ok(())
    }

    fn is_once_only(&self, key: &WorkKey) -> bool {
        let WorkKey::Attempt(id, _) = key else {
            return false;
        };
        let mut in_flight = self.world.state.run.in_flight.iter();
        in_flight.any(|intent| intent.id == *id && intent.effect.is_once_only())
    }

    /// The attempts in flight whose outcomes lie on the disk, or are being recorded.
    fn recorded(&self, inputs: &VecDeque<Input>) -> BTreeSet<AttemptId> {
        let ended = inputs.iter().flat_map(|input| match input {
            Input::Ended { attempt, .. } => vec![attempt],
            Input::Started { left, .. } => left.finished.iter().map(|(id, _)| id).collect(),
            _ => Vec::new(),
        });
        let in_flight = self.world.state.run.in_flight.iter();
        let recording = in_flight.filter(|intent| self.host.executor.is_recording(intent));
        let recording = recording.map(|intent| &intent.id);
        ended.chain(recording).cloned().collect()
    }
}
