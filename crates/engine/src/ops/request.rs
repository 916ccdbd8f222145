//! A request of another process to the running loop, and the wait for what it does.
//!
//! Not here: what the loop does then (`step` of the core).

use std::{sync::Arc, time::Duration};

use descent_core::{
    change,
    id::RequestId,
    state::{Request, RunStatus, State, fields::Extra, objective::RequestKind},
    step::Refusal,
    wording,
};

use super::{
    ChangeError, Client, CommitReport, commit_change,
    current::wait_for_loop,
    liveness::{self, LoopObservation},
};
use descent_store::{LoadedState, Store};
use descent_system::failure::Failure;

/// Between two looks at the loop.
const LOOK_MS: u64 = 10;
/// Between two checks whether it hangs.
const PULSE_MS: u64 = 500;
/// Between two messages while it takes long.
const WORD_MS: u64 = 5_000;
const NOT_READY: &str =
    "waiting for a loop that is about to begin, or to end (descent stop --now ends it)";

/// Commits a request to the loop. A live loop without an active run, which is about to begin or to end, is asked when it
/// has begun; without one nothing runs.
pub(super) fn request(
    client: &dyn Client,
    store: &mut Store,
    kind: RequestKind,
    reason: Option<&str>,
) -> Result<Result<CommitReport, Refusal>, Failure> {
    // Without a run to ask, a loop that waits for room cannot be asked.
    let patience = Patience::new("nothing is requested yet: ", LoopObservation::goes_on);
    let mut patience = patience.telling(NOT_READY);
    loop {
        let reply = ask(client, store, kind, reason)?;
        if !matches!(reply, Err(Refusal::NothingRuns)) || !store.is_live() {
            return Ok(reply);
        }
        patience.wait(client, store)?;
    }
}

/// Whether the run has ended, and its loop only waits for the words of the final answer.
pub(super) fn only_words_are_awaited(store: &mut Store) -> bool {
    let asked = |loaded: &LoadedState| wording::asked(&loaded.state).is_some();
    store.is_live() && store.read().is_ok_and(|loaded| asked(&loaded))
}

/// Waits until a loop is gone that only waits for the words of the final answer.
pub(super) fn wait_for_words(client: &dyn Client, store: &mut Store) -> Result<(), Failure> {
    let patience = Patience::new("nothing is done yet: ", LoopObservation::lives);
    let mut patience = patience.telling(NOT_READY);
    while only_words_are_awaited(store) {
        patience.wait(client, store)?;
    }
    Ok(())
}

/// One try: a pending edit has to be taken in by the loop first.
pub(super) fn ask(
    client: &dyn Client,
    store: &mut Store,
    kind: RequestKind,
    reason: Option<&str>,
) -> Result<Result<CommitReport, Refusal>, Failure> {
    let id = RequestId::new(uuid::Uuid::now_v7().to_string());
    let live = store.live_run();
    commit_change(
        store,
        |store| wait_for_loop(store)?.ok_or(ChangeError::Refused(Refusal::NothingRuns)),
        |_, fresh| {
            // The run of the file is dead, and the loop that goes on with it has not begun: it would not obey.
            if live.is_some() && fresh.state.run.id != live {
                return Err(ChangeError::Refused(Refusal::NothingRuns));
            }
            let request = Request {
                id: id.clone(),
                run: fresh.state.run.id.clone(),
                by: client.by(),
                at: client.now().rfc3339(),
                kind,
                extra: Extra::default(),
            };
            change::request(&fresh.state, request, reason.map(str::to_owned), client.now())
                .map_err(ChangeError::Refused)
        },
    )
}

/// Checks repeatedly, reports a long wait, and gives up on a loop that does nothing.
pub(super) struct Patience {
    words: Option<&'static str>,
    /// The beginning of the message of a failure: the part that is done.
    so_far: &'static str,
    check: fn(&LoopObservation, &str) -> Result<(), Failure>,
    pub(super) waited_ms: u64,
}

impl Patience {
    pub(super) fn new(
        so_far: &'static str,
        check: fn(&LoopObservation, &str) -> Result<(), Failure>,
    ) -> Self {
        Self { words: None, so_far, check, waited_ms: 0 }
    }

    /// With a message for a wait that takes long.
    pub(super) fn telling(self, words: &'static str) -> Self {
        Self { words: Some(words), ..self }
    }

    /// Waits for a state for which `holds`; `None` once no loop lives, or after so long.
    pub(super) fn until(
        mut self,
        client: &dyn Client,
        store: &mut Store,
        most_ms: u64,
        holds: impl Fn(&State) -> bool,
    ) -> Result<Option<Arc<LoadedState>>, Failure> {
        while store.is_live() && self.waited_ms < most_ms {
            let loaded = store.read()?;
            if holds(&loaded.state) {
                return Ok(Some(loaded));
            }
            self.wait(client, store)?;
        }
        Ok(None)
    }

    pub(super) fn wait(&mut self, client: &dyn Client, store: &Store) -> Result<(), Failure> {
        std::thread::sleep(Duration::from_millis(LOOK_MS));
        self.waited_ms += LOOK_MS;
        if self.waited_ms.is_multiple_of(PULSE_MS) {
            (self.check)(&liveness::observe(store, RunStatus::Running), self.so_far)?;
        }
        if let Some(words) = self.words.filter(|_| self.waited_ms.is_multiple_of(WORD_MS)) {
            client.tell(words);
        }
        Ok(())
    }
}
