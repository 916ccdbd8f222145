//! Compares desired work with running work: starts what is missing, ends what is no longer desired. Finds a run that nothing
//! will ever move: it would never end, which is a bug of ours, and ends with that error.
//!
//! Invariant: only one piece of work at a time uses a checkout or a slot.

use std::{any::Any, collections::BTreeSet, panic::AssertUnwindSafe};

use descent_core::{
    desired::{DesiredWork, Work, WorkKey},
    id::{AttemptId, Serial},
};
use futures::FutureExt;
use tokio_util::sync::CancellationToken;

use super::{FinishedWork, Loop, RunningWork};
use descent_system::failure::Failure;

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
            Work::Attempt(intent) => self.slot(&intent.id),
            Work::Merge { .. } | Work::Rebuild { .. } | Work::Stage { .. } => 0,
            Work::Judge { .. } | Work::Consult(_) | Work::Learn(_) => 0,
        };
        let (cancel, executor) = (CancellationToken::new(), &self.host.executor);
        let work = executor.perform(&self.world, &self.session, effect, slot, cancel.clone());
        self.generations += 1;
        let generation = self.generations;
        let (done, name) = (self.done.clone(), key.clone());
        tokio::spawn(async move {
            // Work that is never done would be waited for without end.
            let result = AssertUnwindSafe(work).catch_unwind().await;
            let result = result.unwrap_or_else(|panic| Err(broken(&*panic)));
            let _ = done.send(FinishedWork { key: name, generation, result });
        });
        self.running.insert(key, RunningWork { cancel, generation });
    }
}

fn broken(panic: &(dyn Any + Send)) -> Failure {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let words = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or_default();
    Failure::bug(format!("a piece of work broke: {words}"))
}

/// How many turns in a row at one commit may find nothing to move the run. Inputs of the same
/// instant are seen by the next turn. Each turn of a deciding run is a whole step.
const LOOKS_MAX: u32 = 5;

#[derive(Debug, Default)]
pub(super) struct StallDetector {
    at: Serial,
    looks: u32,
}

impl StallDetector {
    /// Takes in a turn at a commit. `has_work`: work runs, a result waits, or the loop waits for a person or the disk.
    /// `wake_in_ms` says when the run wants the next turn; 0 if it is in the middle of deciding.
    pub(super) fn observe(
        &mut self,
        at: Serial,
        has_work: bool,
        wake_in_ms: Option<u64>,
    ) -> Result<(), Failure> {
        let waits = wake_in_ms.is_some_and(|in_ms| in_ms > 0);
        if has_work || waits || at != self.at {
            *self = Self { at, looks: 0 };
            return Ok(());
        }
        self.looks += 1;
        if self.looks <= LOOKS_MAX {
            return Ok(());
        }
        Err(Failure::bug(match wake_in_ms {
            None => "the run has nothing left to do and is not over",
            Some(_) => "the run goes on deciding and decides nothing",
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The commit of a turn, whether it has work, and when it wakes.
    type Turn = (u64, bool, Option<u64>);

    const IDLE: Turn = (7, false, None);
    const DECIDING: Turn = (7, false, Some(0));

    /// Whether a run with these turns is ended as a bug, and with which words.
    fn check(turns: impl IntoIterator<Item = Turn>) -> Option<String> {
        let mut rest = StallDetector::default();
        let mut turns = turns.into_iter();
        let ended = turns.find_map(|(at, work, wake)| rest.observe(Serial(at), work, wake).err());
        ended.map(|failure| {
            assert_eq!(failure.code, "E-BUG");
            failure.message
        })
    }

    #[test]
    fn a_run_that_waits_for_nothing_or_decides_nothing_for_ever_is_a_bug() {
        for (look, word) in [(IDLE, "nothing left to do"), (DECIDING, "decides nothing")] {
            let message = check([look; 10]).unwrap_or_default();
            assert!(message.contains(word), "{message}");
        }
        let by_turns = [IDLE, DECIDING].into_iter().cycle().take(10);
        assert!(check(by_turns).is_some());
    }

    #[test]
    fn work_a_wait_and_a_commit_each_move_a_run() {
        for moved in [(7, true, None), (7, false, Some(1))] {
            let by_turns = [[IDLE; 4].as_slice(), &[moved]].concat();
            assert_eq!(check(by_turns.into_iter().cycle().take(100)), None);
        }
        let commits = (0..1_000).map(|n| (n, false, Some(0)));
        assert_eq!(check(commits), None);
    }
}
