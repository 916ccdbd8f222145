//! Compares desired work with running work: starts what is missing, ends what is no longer desired.
//!
//! Invariant: only one piece of work at a time uses a checkout or a slot.

use std::collections::BTreeSet;

use descent_core::{
    desired::{DesiredWork, Work, WorkKey},
    id::AttemptId,
};
use tokio_util::sync::CancellationToken;

use super::{FinishedWork, Loop, RunningWork};
use crate::failure::Failure;

impl Loop<'_> {
    /// Starts desired work that does not run, and ends running work that is not desired.
    pub(super) fn reconcile(&mut self, desired: &DesiredWork) -> Result<(), Failure> {
        // With a broken file or a full disk nothing is started; work in flight finishes.
        let is_waiting = self.waits_for_file.is_some() || self.disk_wait.is_lacking();
        if !is_waiting {
            self.end_all_but(desired);
        }
        self.free_slots();
        for (key, effect) in &desired.effects {
            let is_in_the_way = self.leaving > 0 && self.may_be_used(effect);
            if !is_waiting && !is_in_the_way && !self.running.contains_key(key) {
                self.begin(key.clone(), effect.clone());
            }
        }
        self.follow_head();
        Ok(())
    }

    /// Cancelled work may still use the checkout that this work needs. That is the checkout for
    /// evaluations or, if the cancellation came to nothing, the attempt's own.
    fn may_be_used(&self, effect: &Work) -> bool {
        match effect {
            Work::Judge { .. } | Work::Consult(_) => true,
            Work::Attempt(intent) => self.slots.contains_key(&intent.id),
            Work::Merge { .. } | Work::Rebuild { .. } | Work::Stage { .. } | Work::Learn(_) => {
                false
            }
        }
    }

    /// Ends running work that is not desired, without waiting.
    pub(super) fn end_all_but(&mut self, desired: &DesiredWork) {
        let keys: BTreeSet<&WorkKey> = desired.effects.iter().map(|(key, _)| key).collect();
        let gone = self.running.extract_if(.., |key, _| !keys.contains(key));
        for (_, running) in gone {
            running.cancel.cancel();
            self.leaving += 1;
        }
    }

    /// Frees each slot whose attempt has landed and whose processes are gone.
    fn free_slots(&mut self) {
        let in_flight: Vec<&AttemptId> =
            self.world.state.run.in_flight.iter().map(|intent| &intent.id).collect();
        if self.leaving == 0 {
            self.slots.retain(|attempt, _| in_flight.contains(&attempt));
        }
    }

    fn slot(&mut self, attempt: &AttemptId) -> usize {
        if let Some(slot) = self.slots.get(attempt) {
            return *slot;
        }
        let taken: Vec<usize> = self.slots.values().copied().collect();
        let slot = (0..).find(|slot| !taken.contains(slot)).unwrap_or(taken.len());
        self.slots.insert(attempt.clone(), slot);
        slot
    }

    fn begin(&mut self, key: WorkKey, effect: Work) {
        let slot = match &effect {
            Work::Attempt(intent) => Some(self.slot(&intent.id)),
            Work::Merge { .. }
            | Work::Rebuild { .. }
            | Work::Stage { .. }
            | Work::Judge { .. }
            | Work::Consult(_)
            | Work::Learn(_) => None,
        };
        let cancel = CancellationToken::new();
        let work = self.host.executor.perform(
            &self.world,
            &self.session,
            effect,
            slot.unwrap_or(0),
            cancel.clone(),
        );
        self.generations += 1;
        let generation = self.generations;
        let (done, name) = (self.done.clone(), key.clone());
        tokio::spawn(async move {
            let result = work.await;
            let _ = done.send(FinishedWork { key: name, generation, result });
        });
        self.running.insert(key, RunningWork { cancel, generation });
    }
}
