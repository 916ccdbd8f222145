//! A stop and its outcome: the proof that the loop ended, and the signals that it took.

use descent_core::{
    id::Serial,
    state::{RunStatus, final_result::EndedProcesses, objective::RequestKind},
};
use rustix::process::Signal;
use serde::Serialize;

use crate::store::Store;

/// The request stays: a hung loop obeys when it goes on, and the next loop retires it.
pub(super) const REQUESTED: &str = "the stop is requested, but ";

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
    Requested(Vec<LoopSignal>),
    Stopped(StopProof),
}

/// The end of a loop, as its last commit tells it.
#[derive(Debug)]
pub struct StopProof {
    pub serial: Option<Serial>,
    /// Absent if the run ended otherwise.
    pub ended: Option<EndedProcesses>,
    /// The signals that its process got, if it read no request.
    pub signals: Vec<LoopSignal>,
}

/// A signal to the process of a loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum LoopSignal {
    #[serde(rename = "SIGCONT")]
    Continue,
    #[serde(rename = "SIGTERM")]
    Terminate,
    #[serde(rename = "SIGKILL")]
    Kill,
}

impl LoopSignal {
    pub fn name(self) -> &'static str {
        match self {
            Self::Continue => "SIGCONT",
            Self::Terminate => "SIGTERM",
            Self::Kill => "SIGKILL",
        }
    }

    pub(super) fn signal(self) -> Signal {
        match self {
            Self::Continue => Signal::CONT,
            Self::Terminate => Signal::TERM,
            Self::Kill => Signal::KILL,
        }
    }
}

/// `asked` is the serial of the request. A result from before it proves nothing.
pub(super) fn proof(
    store: &mut Store,
    asked: Option<Serial>,
    signals: Vec<LoopSignal>,
) -> StopProof {
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
