//! Ends a run: by a signal, by an immediate stop, by a failure, or for want of room in its state; then its final answer is
//! worded.
//!
//! Invariant: no work of the loop delays a requested end by more than twice [`timeouts::GRACE`]. No outcome is lost: one that
//! is being recorded is waited for so long, and those without room are taken in by the next run. The words are waited for no
//! longer than [`PATIENCE_MS`], and change nothing of the end.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
};

use descent_core::{
    desired,
    desired::WorkKey,
    event::Input,
    id::AttemptId,
    state::{
        Intent, Request, RunStatus, fields::Extra, final_result::EndedProcesses,
        objective::RequestKind,
    },
    wording,
};

use super::{Loop, RunEnding, disk_wait::DiskWait, executor::BoxedFuture};
use descent_process::timeouts;
use descent_system::{
    clock::{Stopwatch, to_next_poll},
    failure::{Failure, exit},
    signal::Signal,
};

impl Loop<'_> {
    pub(super) async fn on_signal(&mut self, signal: Signal) -> Result<(), Failure> {
        let is_second = self.signal.replace(signal).is_some();
        if let Some(lacked) = self.disk_wait.lacked() {
            return Err(lacked.clone());
        }
        if self.waits_for_file.is_some() {
            let what = "ended while the state file cannot be read";
            let hint = "mend the state file, then `descent run` goes on from it";
            return Err(Failure::new("E-STATE-INVALID", exit::INVALID, what, hint));
        }
        let kind = if is_second { RequestKind::StopNow } else { RequestKind::Stop };
        let request = self.stop_request(kind);
        let reason = Some(signal.name().to_owned());
        self.pending.push_back(Input::Asked { request, reason });
        self.pending.push_back(Input::Tick);
        Ok(())
    }

    /// Ends the run because something is gone that the loop needs. Attempts in flight are taken
    /// back for free, now if the state can be written, otherwise by the next run.
    pub(super) async fn stop_for(&mut self, failure: &Failure) {
        if failure.exit == exit::BUG
            || self.waits_for_file.is_some()
            || self.world.state.run.status != RunStatus::Running
        {
            return;
        }
        // If this can be written, that does not mean that there is room for more.
        self.disk_wait = DiskWait::default();
        let request = self.stop_request(RequestKind::Stop);
        let reason = Some(failure.message.clone());
        let mut inputs = std::mem::take(&mut self.pending);
        inputs.extend([Input::Asked { request, reason }, Input::Tick]);
        while !inputs.is_empty() {
            match self.observe_all(&mut inputs).await {
                Ok(true) => {}
                Ok(false) => return,
                Err(error) => {
                    tracing::warn!(%error, "the stop could not be written");
                    return;
                }
            }
        }
    }

    fn stop_request(&self, kind: RequestKind) -> Request {
        Request {
            id: descent_core::id::RequestId::new(uuid::Uuid::now_v7().to_string()),
            run: Some(self.host.run.clone()),
            by: self.host.by.clone(),
            at: self.host.clock.now().rfc3339(),
            kind,
            extra: Extra::default(),
        }
    }

    /// Counts what ends, and how long that takes, from the moment when a stop is known.
    pub(super) fn begin_proof(&mut self) {
        if self.world.state.control.stop_requested && self.stops_since.is_none() {
            self.stops_since = Some(Stopwatch::start(Arc::clone(&self.host.clock)));
            self.host.executor.count_ended();
        }
    }

    /// Records what a requested stop ended. Without the record nothing is lost but the proof.
    pub(super) async fn prove_end(&mut self) {
        let Some(since) = self.stops_since.take() else { return };
        let ended = EndedProcesses {
            processes: self.host.executor.ended(),
            ms: since.passed_ms(),
            extra: Extra::default(),
        };
        if let Err(error) = self.observe(Input::AllEnded(ended)).await {
            tracing::warn!(%error, "what the stop ended could not be written");
        }
    }

    /// Waits for work that is not tracked as an effect. A signal is kept for later; if the work
    /// goes on after it, it is cut off and fails. Later work fails too, since it would hang in the
    /// same way.
    pub(super) async fn patiently<T>(&mut self, mut work: BoxedFuture<T>) -> Result<T, Failure> {
        if !self.is_cut_off {
            tokio::select! {
                biased;
                done = &mut work => return done,
                signal = self.host.signals.next() => self.early = Some(signal),
            }
        }
        loop {
            tokio::select! {
                biased;
                done = &mut work => return done,
                () = self.host.clock.sleep(timeouts::GRACE) => self.cut_off(),
            }
        }
    }

    fn cut_off(&mut self) {
        self.is_cut_off = true;
        self.host.executor.cut_off();
    }

    /// Ends all running work and waits until it is gone.
    pub(super) async fn end_all(&mut self) {
        for (_, running) in std::mem::take(&mut self.running) {
            running.cancel.cancel();
            self.leaving += 1;
        }
        while self.leaving > 0 {
            tokio::select! {
                biased;
                done = self.inbox.recv() => match done {
                    Some(_) => self.leaving -= 1,
                    None => return,
                },
                () = self.host.clock.sleep(timeouts::GRACE) => self.cut_off(),
            }
        }
    }

    /// Work that failed because it was cut off is no failure.
    pub(super) fn ending(
        &mut self,
        result: Result<(), Failure>,
        is_cut_off: bool,
    ) -> Result<RunEnding, Failure> {
        let early = match result {
            Err(failure) if is_cut_off && failure.lack().is_none() => {
                (self.observer.on_note)(
                    "git did not end in time and was cut off (a filter that hangs?); `descent run` goes on from here",
                );
                self.early
            }
            result => result.map(|()| None)?,
        };
        Ok(RunEnding {
            world: self.world.clone(),
            signal: early.or(self.signal),
            has_no_result: early.is_some(),
        })
    }
}

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
    u64::try_from(timeouts::GRACE.as_millis()).unwrap_or(u64::MAX).saturating_sub(since.passed_ms())
}

impl Loop<'_> {
    /// Tells the session which attempts an end of the run waits for.
    pub(super) fn note_recording(&mut self) {
        let is_recording = |intent: &&Intent| {
            // One that waits for space on the disk is not running.
            let key = WorkKey::Attempt(intent.id.clone(), intent.epoch);
            self.running.contains_key(&key) && self.host.executor.is_recording(intent)
        };
        let now = self.world.state.run.in_flight.iter().filter(is_recording).map(|intent| {
            let known = self.recording.0.remove(&intent.id);
            let since = known.unwrap_or_else(|| Stopwatch::start(Arc::clone(&self.host.clock)));
            (intent.id.clone(), since)
        });
        self.recording = Recording(now.collect());
        let waited_for = self.recording.0.iter().filter(|(_, since)| left_ms(since) > 0);
        self.session.are_recorded(waited_for.map(|(attempt, _)| attempt.clone()).collect());
    }
}

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
        self.world.state.run.in_flight.iter().any(|intent| {
            let is_its = |key: &WorkKey| matches!(key, WorkKey::Attempt(id, _) if *id == intent.id);
            intent.effect.is_once_only() && self.running.keys().any(is_its)
        })
    }
}

/// The time of the agent, with a checkout before and the end of its processes after.
const PATIENCE_MS: u64 = 60_000;

impl Loop<'_> {
    /// Has the answer worded, unless a person wants the loop to end.
    pub(super) async fn word(&mut self) {
        if wording::asked(&self.world.state).is_none() {
            return;
        }
        let ended = self.world.clone();
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
        if !self.world.state.run.ending.is_known() {
            // A person changed something meanwhile. This run has ended as it did.
            self.world = ended;
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
