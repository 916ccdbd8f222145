//! A request by another process to end the loop, and the wait until it has ended.

use descent_core::{
    state::{RunStatus, objective::RequestKind},
    step::Refusal,
};

use super::{
    Client, Progress,
    liveness::{self, LoopObservation},
    request::{self, Patience},
};
use crate::{failure::Failure, store::Store};

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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopOutcome {
    NothingRuns,
    Requested,
    Stopped,
}

/// Requests the end of the loop.
pub fn stop(
    client: &dyn Client,
    store: &mut Store,
    stop: &StopRequest,
) -> Result<StopOutcome, Failure> {
    if !store.is_live() {
        return Ok(StopOutcome::NothingRuns);
    }
    match request::request(client, store, stop.kind, stop.reason.as_deref())? {
        Ok(_) => {}
        Err(Refusal::AlreadyAsked) => client.tell(&Progress::StopRequestedAlready),
        Err(Refusal::NothingRuns) => return Ok(StopOutcome::NothingRuns),
        Err(refusal) => return Err(Failure::bug(refusal)),
    }
    if !stop.waits {
        liveness::observe(store, RunStatus::Running).lives(REQUESTED)?;
        return Ok(StopOutcome::Requested);
    }
    wait_for_end(client, store)?;
    Ok(StopOutcome::Stopped)
}

/// Waits for the end of the loop; a hung one is not waited for.
fn wait_for_end(client: &dyn Client, store: &Store) -> Result<(), Failure> {
    let patience = Patience::new(REQUESTED, LoopObservation::lives);
    let mut patience = patience.telling(|_| Progress::LoopEnding);
    while store.is_live() {
        patience.wait(client, store)?;
    }
    Ok(())
}
