//! A request by another process to end the loop, and the wait until it has ended.
//!
//! Not here: what is done to a loop that reads no request (`now`).

mod now;
mod outcome;

use descent_core::{
    state::{RunStatus, objective::RequestKind},
    step::Refusal,
};

pub use self::outcome::{LoopSignal, StopOutcome, StopProof, StopRequest};
use self::outcome::{REQUESTED, proof};
use super::{
    Client, Progress,
    liveness::{self, LoopObservation},
    request::{self, Patience},
};
use crate::{failure::Failure, store::Store};

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
        RequestKind::StopNow => now::stop(client, store, stop)?,
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
            client.tell(&Progress::StopRequestedAlready);
            before
        }
        Err(Refusal::NothingRuns) => return Ok(StopOutcome::NothingRuns),
        Err(refusal) => return Err(Failure::bug(refusal)),
    };
    if !stop.waits {
        liveness::observe(store, RunStatus::Running).goes_on(REQUESTED)?;
        return Ok(StopOutcome::Requested(Vec::new()));
    }
    wait_for_end(client, store)?;
    Ok(StopOutcome::Stopped(proof(store, asked, Vec::new())))
}

/// Waits for the end of the loop; a hung one is not waited for.
fn wait_for_end(client: &dyn Client, store: &Store) -> Result<(), Failure> {
    let patience = Patience::new(REQUESTED, LoopObservation::goes_on);
    let mut patience = patience.telling(Progress::LoopEnding);
    while store.is_live() {
        patience.wait(client, store)?;
    }
    Ok(())
}
