//! Ends the loop of another process: by a request, else by signals to its process, with the proof that it ended.
//!
//! A loop that has not begun, that waits for its file or for room, or that was stopped by a signal reads no request.
//! Invariant: only the process that the loop's own heartbeat names gets a signal, by its start time and this boot. A loop
//! that delivers is never killed.

use std::time::Duration;

use descent_core::{
    id::Serial,
    state::{RunStatus, final_result::EndedProcesses, objective::RequestKind},
    step::Refusal,
    view::liveness::LoopPhase,
};
use rustix::process::Signal;

use super::{
    Client,
    liveness::{self, LoopObservation},
    request::{self, Patience},
};
use crate::{driver, heartbeat};
use descent_process::{KnownProcess, timeouts};
use descent_store::Store;
use descent_system::failure::{Failure, exit};

/// Requests the end of the loop.
pub fn stop(
    client: &dyn Client,
    store: &mut Store,
    stop: &StopRequest,
) -> Result<StopOutcome, Failure> {
    if !store.is_live() {
        return Ok(StopOutcome::NothingRuns);
    }
    let was_over = request::only_words_are_awaited(store);
    let outcome = match stop.kind {
        RequestKind::StopNow => at_once(client, store, stop)?,
        RequestKind::Stop | RequestKind::Redirect => in_order(client, store, stop)?,
    };
    Ok(match outcome {
        // The run had ended, and only the words of its final answer were taken back.
        StopOutcome::Stopped(proof) if was_over && proof.signals.is_empty() => {
            StopOutcome::NothingRuns
        }
        outcome => outcome,
    })
}

/// Requests the end, and waits for it if that is wanted.
fn in_order(
    client: &dyn Client,
    store: &mut Store,
    stop: &StopRequest,
) -> Result<StopOutcome, Failure> {
    let before = store.read().ok().map(|loaded| loaded.state.serial);
    let asked = match request::request(client, store, stop.kind, stop.reason.as_deref())? {
        Ok(report) => Some(report.loaded.state.serial),
        // The loop may have obeyed it already.
        Err(Refusal::AlreadyAsked) => {
            client.tell("a stop was requested already");
            before
        }
        Err(Refusal::NothingRuns) => return Ok(StopOutcome::NothingRuns),
        Err(refusal) => return Err(Failure::bug(refusal)),
    };
    if !stop.waits {
        liveness::observe(store, RunStatus::Running).goes_on(REQUESTED)?;
        return Ok(StopOutcome::Requested(Vec::new()));
    }
    // A hung loop is not waited for.
    let patience = Patience::new(REQUESTED, LoopObservation::goes_on);
    let mut patience = patience.telling("waiting for what may not be interrupted (--now ends it)");
    while store.is_live() {
        patience.wait(client, store)?;
    }
    Ok(StopOutcome::Stopped(end_proof(store, asked, Vec::new())))
}

const KILL: &str = "SIGKILL";

/// The request stays: a hung loop obeys when it goes on, and the next loop retires it.
const REQUESTED: &str = "the stop is requested, but ";

/// How the loop is to end.
#[derive(Debug)]
pub struct StopRequest {
    pub kind: RequestKind,
    pub reason: Option<String>,
    /// Whether to return only after it has ended.
    pub waits: bool,
}

/// The outcome of a stop.
#[derive(Debug)]
pub enum StopOutcome {
    NothingRuns,
    /// With the signals that its process got, if it read no request.
    Requested(Vec<&'static str>),
    Stopped(StopProof),
}

/// The end of a loop, as its last commit tells it.
#[derive(Debug)]
pub struct StopProof {
    pub serial: Option<Serial>,
    /// Absent if the run ended otherwise.
    pub ended: Option<EndedProcesses>,
    /// The signals that its process got, if it read no request.
    pub signals: Vec<&'static str>,
}

/// `asked` is the serial of the request. A result from before it proves nothing.
fn end_proof(store: &mut Store, asked: Option<Serial>, signals: Vec<&'static str>) -> StopProof {
    // The loop is gone, whatever became of its file.
    let loaded = store.read().ok();
    let state = loaded.as_ref().map(|loaded| &loaded.state);
    let of_this_stop = state.filter(|state| {
        state.run.status == RunStatus::Stopped && asked.is_some_and(|asked| state.serial > asked)
    });
    StopProof {
        ended: of_this_stop.and_then(|state| state.run.ending.stopped.clone()),
        serial: state.map(|state| state.serial),
        signals,
    }
}

/// How often a loop is asked that has not begun, or has not read the file yet, before it gets a signal.
const TRIES: u32 = 25;
/// Between two tries.
const RETRY: Duration = Duration::from_millis(20);
/// How long to wait for the first heartbeat, which names the process.
const NAMING_MS: u64 = 2_000;

fn at_once(
    client: &dyn Client,
    store: &mut Store,
    stop: &StopRequest,
) -> Result<StopOutcome, Failure> {
    let asked = ask(client, store, stop.reason.as_deref());
    let mut pressure = Pressure::default();
    let patience = Patience::new(REQUESTED, |_, _| Ok(()));
    let mut patience = patience.telling("waiting for the loop to end");
    while store.is_live() {
        let observed = liveness::observe(store, RunStatus::Running);
        if asked.is_none() || !observed.reads_requests() || pressure.process.is_some() {
            pressure.apply(store, &observed, patience.waited_ms)?;
        }
        if !stop.waits {
            return Ok(StopOutcome::Requested(pressure.signals));
        }
        patience.wait(client, store)?;
    }
    if pressure.signals.contains(&KILL) {
        end_leftovers(store);
    }
    Ok(StopOutcome::Stopped(end_proof(store, asked, pressure.signals)))
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
    signals: Vec<&'static str>,
}

impl Pressure {
    fn apply(
        &mut self,
        store: &Store,
        observed: &LoopObservation,
        waited_ms: u64,
    ) -> Result<(), Failure> {
        let passed_ms = waited_ms - *self.since_ms.get_or_insert(waited_ms);
        if self.process.is_none() {
            match heartbeat::loop_process(store.place(), observed.pid) {
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
            self.send(Signal::KILL, KILL);
        }
        Ok(())
    }

    fn begin(&mut self, process: KnownProcess, phase: LoopPhase) {
        self.process = Some(process);
        self.is_delivering = phase == LoopPhase::Ending;
        // Continued afterwards: the other signal is there when it wakes.
        self.send(Signal::TERM, "SIGTERM");
        self.send(Signal::CONT, "SIGCONT");
    }

    fn send(&mut self, signal: Signal, name: &'static str) {
        if self.signals.contains(&name) {
            return;
        }
        if let Some(process) = &self.process {
            process.send(signal);
            self.signals.push(name);
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
    let hint = observed.pid.map_or_else(
        || "descent status".to_owned(),
        |pid| format!("ps -fp {pid}; if that is the loop: kill -9 {pid}"),
    );
    Failure::new("E-LOOP-HUNG", exit::LEASE, message, hint)
}
