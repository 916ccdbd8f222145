//! Attempts whose commands have ended while their outcomes are being recorded: git takes in what they changed.
//!
//! An end of the run that comes then waits for them, else the next run would make them again. Invariant: it waits for
//! [`timeouts::GRACE`] at most, since a filter of git may hang.

use std::{collections::BTreeMap, sync::Arc};

use descent_core::{desired::WorkKey, id::AttemptId, state::Intent};

use super::Loop;
use crate::{clock::Stopwatch, process::timeouts};

/// The attempts, with the time since when the loop knows that they are being recorded.
#[derive(Debug, Default)]
pub(super) struct Recording(BTreeMap<AttemptId, Stopwatch>);

impl Recording {
    /// The shortest time until one is not waited for any more.
    pub(super) fn left_ms(&self) -> Option<u64> {
        let left_ms = self.0.values().map(left_ms);
        left_ms.filter(|left_ms| *left_ms > 0).min()
    }
}

fn left_ms(since: &Stopwatch) -> u64 {
    let grace_ms = u64::try_from(timeouts::GRACE.as_millis()).unwrap_or(u64::MAX);
    grace_ms.saturating_sub(since.passed_ms())
}

impl Loop<'_> {
    /// Tells the session which attempts an end of the run waits for.
    pub(super) fn note_recording(&mut self) {
        let is_recording = |intent: &&Intent| {
            // One that waits for space on the disk is not running.
            let key = WorkKey::Attempt(intent.id.clone(), intent.epoch);
            self.running.contains_key(&key) && self.host.executor.is_recording(intent)
        };
        let in_flight = self.world.state.run.in_flight.iter();
        let now = in_flight.filter(is_recording).map(|intent| {
            let known = self.recording.0.remove(&intent.id);
            let since = known.unwrap_or_else(|| Stopwatch::start(Arc::clone(&self.host.clock)));
            (intent.id.clone(), since)
        });
        let now = now.collect();
        self.recording = Recording(now);
        let waited_for = self.recording.0.iter();
        let waited_for = waited_for.filter(|(_, since)| left_ms(since) > 0);
        let waited_for = waited_for.map(|(attempt, _)| attempt.clone()).collect();
        self.session.are_recorded(waited_for);
    }
}
