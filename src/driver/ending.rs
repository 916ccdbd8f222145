//! Ends a run before its goal: by a signal, by an immediate stop, by a failure.
//!
//! Invariant: no work of the loop delays a requested end by more than twice [`timeouts::GRACE`].

use std::sync::Arc;

use descent_core::{
    event::Input,
    state::{
        Request, RunStatus, fields::Extra, final_result::EndedProcesses, objective::RequestKind,
    },
};

use super::{Loop, RunEnding, disk_wait::DiskWait, executor::BoxedFuture};
use crate::{
    clock::Stopwatch,
    failure::{Failure, exit},
    process::timeouts,
    signal::Signal,
};

impl Loop<'_> {
    pub(super) async fn on_signal(&mut self, signal: Signal) -> Result<(), Failure> {
        let is_second = self.signal.replace(signal).is_some();
        if let Some(lacked) = self.disk_wait.lacked() {
            return Err(lacked.clone());
        }
        if self.waits_for_file.is_some() {
            let hint = "mend the state file, then `descent run` goes on from it";
            return Err(Failure::new(
                "E-STATE-INVALID",
                exit::INVALID,
                "ended while the state file cannot be read",
                hint,
            ));
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
        let Some(since) = self.stops_since.take() else {
            return;
        };
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
