//! A request by another process to end the loop, and the wait until it has ended.

use std::time::Duration;

use descent_core::{
    change,
    id::RequestId,
    state::{Request, RunStatus, fields::Extra, objective::RequestKind},
    step::Refusal,
};

use super::{
    ChangeError, Client, Progress, commit_change,
    current::wait_for_loop,
    liveness::{self, LoopObservation},
};
use crate::{failure::Failure, heartbeat, store::Store};

/// Between two checks whether the loop has ended.
const LOOK_MS: u64 = 10;
/// Between two checks whether it hangs.
const PULSE_MS: u64 = 500;
/// Between two messages while it takes long.
const WORD_MS: u64 = 5_000;
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

/// The reply to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reply {
    New,
    Already,
    NothingRuns,
}

/// Requests the end of the loop.
pub fn stop(
    client: &dyn Client,
    store: &mut Store,
    request: &StopRequest,
) -> Result<StopOutcome, Failure> {
    if !store.is_live() {
        return Ok(StopOutcome::NothingRuns);
    }
    match ask_when_ready(client, store, request)? {
        Reply::New => {}
        Reply::Already => client.tell(&Progress::StopRequestedAlready),
        Reply::NothingRuns => return Ok(StopOutcome::NothingRuns),
    }
    if !request.waits {
        liveness::observe(store, RunStatus::Running).lives(REQUESTED)?;
        return Ok(StopOutcome::Requested);
    }
    wait_for_end(client, store)?;
    Ok(StopOutcome::Stopped)
}

/// For a live loop without an active run, which is about to begin or to end: it is asked when it has begun.
fn ask_when_ready(
    client: &dyn Client,
    store: &mut Store,
    request: &StopRequest,
) -> Result<Reply, Failure> {
    let mut patience = Patience {
        // It reads no requests now, and may wait for a hanging git filter; but it obeys a signal.
        progress: |store| Progress::LoopNotReady {
            pid: store.holder().as_deref().and_then(heartbeat::pid_in),
        },
        so_far: "nothing is requested yet: ",
        // Without a run to stop, a loop that waits for room cannot be asked.
        check: LoopObservation::goes_on,
        waited_ms: 0,
    };
    loop {
        let reply = ask(client, store, request)?;
        if reply != Reply::NothingRuns || !store.is_live() {
            return Ok(reply);
        }
        patience.wait(client, store)?;
    }
}

fn ask(client: &dyn Client, store: &mut Store, request: &StopRequest) -> Result<Reply, Failure> {
    let id = RequestId::new(uuid::Uuid::now_v7().to_string());
    let committed = commit_change(
        store,
        |store| match wait_for_loop(store)? {
            Some(_) => Ok(()),
            None => Err(ChangeError::Refused(Refusal::NothingRuns)),
        },
        |(), fresh| {
            let request_of_run = Request {
                id: id.clone(),
                run: fresh.state.run.id.clone(),
                by: client.by(),
                at: client.now().rfc3339(),
                kind: request.kind,
                extra: Extra::default(),
            };
            change::request(&fresh.state, request_of_run, request.reason.clone())
                .map_err(ChangeError::Refused)
        },
    )?;
    match committed {
        Ok(_) => Ok(Reply::New),
        Err(Refusal::AlreadyAsked) => Ok(Reply::Already),
        Err(Refusal::NothingRuns) => Ok(Reply::NothingRuns),
        Err(refusal) => Err(Failure::bug(refusal)),
    }
}

/// Waits for the end of the loop; a hung one is not waited for.
fn wait_for_end(client: &dyn Client, store: &Store) -> Result<(), Failure> {
    let mut patience = Patience {
        progress: |_| Progress::LoopEnding,
        so_far: REQUESTED,
        check: LoopObservation::lives,
        waited_ms: 0,
    };
    while store.is_live() {
        patience.wait(client, store)?;
    }
    Ok(())
}

/// Checks repeatedly, reports a long wait, and gives up on a loop that does nothing.
struct Patience {
    progress: fn(&Store) -> Progress,
    so_far: &'static str,
    check: fn(&LoopObservation, &str) -> Result<(), Failure>,
    waited_ms: u64,
}

impl Patience {
    fn wait(&mut self, client: &dyn Client, store: &Store) -> Result<(), Failure> {
        std::thread::sleep(Duration::from_millis(LOOK_MS));
        self.waited_ms += LOOK_MS;
        if self.waited_ms.is_multiple_of(PULSE_MS) {
            (self.check)(&liveness::observe(store, RunStatus::Running), self.so_far)?;
        }
        if self.waited_ms.is_multiple_of(WORD_MS) {
            client.tell(&(self.progress)(store));
        }
        Ok(())
    }
}
