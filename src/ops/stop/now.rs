//! Ends a loop at once, by a request if it reads one, and otherwise by signals to its process.
//!
//! A loop that has not begun, that waits for its file or for room, or that was stopped by a signal reads no request.
//! Invariant: only the process that the loop's own heartbeat names gets a signal, by its start time and this boot. A loop
//! that delivers is never killed.

use std::time::Duration;

use descent_core::{
    id::Serial,
    state::{RunStatus, objective::RequestKind},
    step::Refusal,
    view::liveness::LoopPhase,
};

use super::{
    super::{
        Client, Progress,
        liveness::{self, LoopObservation},
        request::{self, Patience},
    },
    outcome::{LoopSignal, REQUESTED, StopOutcome, StopRequest, proof},
};
use crate::{
    driver,
    failure::{Failure, exit},
    heartbeat,
    process::{KnownProcess, timeouts},
    store::Store,
};

/// How often a loop is asked that has not begun, or has not read the file yet, before it gets a signal.
const TRIES: u32 = 25;
/// Between two tries.
const RETRY: Duration = Duration::from_millis(20);
/// How long to wait for the first heartbeat, which names the process.
const NAMING_MS: u64 = 2_000;

pub(super) fn stop(
    client: &dyn Client,
    store: &mut Store,
    stop: &StopRequest,
) -> Result<StopOutcome, Failure> {
    let asked = ask(client, store, stop.reason.as_deref());
    let mut pressure = Pressure::default();
    let patience = Patience::new(REQUESTED, |_, _| Ok(()));
    let mut patience = patience.telling(Progress::LoopEndingNow);
    while store.is_live() {
        let observed = liveness::observe(store, RunStatus::Running);
        if asked.is_none() || !observed.reads_requests() || pressure.has_begun() {
            pressure.apply(store, &observed, patience.waited_ms)?;
        }
        if !stop.waits {
            return Ok(StopOutcome::Requested(pressure.signals));
        }
        patience.wait(client, store)?;
    }
    if pressure.signals.contains(&LoopSignal::Kill) {
        end_leftovers(store);
    }
    Ok(StopOutcome::Stopped(proof(store, asked, pressure.signals)))
}

/// Requests the end, and gives the serial of the request; `None` if the loop does not read it.
fn ask(client: &dyn Client, store: &mut Store, reason: Option<&str>) -> Option<Serial> {
    for _ in 0..TRIES {
        if !store.is_live() {
            return None;
        }
        // A loop that is stopped takes in no edit, and an edit must not be written over.
        let is_read = liveness::observe(store, RunStatus::Running).reads_requests();
        match store.read() {
            Ok(loaded) if !loaded.is_foreign => {
                match request::ask(client, store, RequestKind::StopNow, reason) {
                    Ok(Ok(report)) => return Some(report.loaded.state.serial),
                    Ok(Err(Refusal::AlreadyAsked)) => return Some(loaded.state.serial),
                    Ok(Err(_)) => {}
                    Err(error) => {
                        tracing::debug!(%error, "the stop could not be requested");
                        return None;
                    }
                }
            }
            Ok(_) if is_read => {}
            _ => return None,
        }
        std::thread::sleep(RETRY);
    }
    None
}

/// The signals that the process of a loop got so far.
#[derive(Debug, Default)]
struct Pressure {
    process: Option<KnownProcess>,
    /// When the pressure began, by the time that was waited.
    since_ms: Option<u64>,
    is_delivering: bool,
    signals: Vec<LoopSignal>,
}

impl Pressure {
    fn has_begun(&self) -> bool {
        self.process.is_some()
    }

    fn apply(
        &mut self,
        store: &Store,
        observed: &LoopObservation,
        waited_ms: u64,
    ) -> Result<(), Failure> {
        let passed_ms = waited_ms - *self.since_ms.get_or_insert(waited_ms);
        if self.process.is_none() {
            let holder = observed.holder.as_deref().unwrap_or_default();
            match heartbeat::loop_process(store.place(), holder) {
                Some((process, phase)) => {
                    self.since_ms = Some(waited_ms);
                    self.begin(process, phase);
                }
                None if passed_ms < NAMING_MS => {}
                None => return Err(unknown(observed)),
            }
        } else if Duration::from_millis(passed_ms) > timeouts::LOOP_GRACE {
            if self.is_delivering {
                return observed.lives("it delivers the result and is not killed, but ");
            }
            self.send(LoopSignal::Kill);
        }
        Ok(())
    }

    fn begin(&mut self, process: KnownProcess, phase: LoopPhase) {
        self.process = Some(process);
        self.is_delivering = phase == LoopPhase::Ending;
        // Continued afterwards: the other signal is there when it wakes.
        self.send(LoopSignal::Terminate);
        self.send(LoopSignal::Continue);
    }

    fn send(&mut self, signal: LoopSignal) {
        if self.signals.contains(&signal) {
            return;
        }
        if let Some(process) = &self.process {
            process.send(signal.signal());
            self.signals.push(signal);
        }
    }
}

/// A killed loop leaves no process, and what its guards had not ended yet is ended here.
fn end_leftovers(store: &Store) {
    match store.lease("stop") {
        Ok(_lease) => drop(driver::end_leftovers(store.place())),
        Err(error) => tracing::debug!(%error, "another loop has begun already"),
    }
}

fn unknown(observed: &LoopObservation) -> Failure {
    let holder = observed.holder.as_deref().unwrap_or("unknown");
    let message =
        format!("the loop reads no request, and its process is not known for certain ({holder})");
    let pid = observed.holder.as_deref().and_then(heartbeat::pid_in);
    let hint = pid.map_or_else(
        || "descent status".to_owned(),
        |pid| format!("ps -fp {pid}; if that is the loop: kill -9 {pid}"),
    );
    Failure::new("E-LOOP-HUNG", exit::LEASE, message, hint)
}
