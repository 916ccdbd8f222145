//! The wait for the end of the run of a state.
//!
//! Not here: a request to end it (`stop`).

use std::{sync::Arc, time::Duration};

use descent_core::{state::RunStatus, world::World};

use super::{Client, Progress, current, liveness, run::RunReport};
use crate::{
    clock::{Clock, Stopwatch},
    driver::Watch,
    failure::{Failure, exit},
    render,
    store::Store,
};

/// Between two looks: the first after a commit of the loop, since its last is near its end, and the longest.
const LOOK_MS_MIN: u64 = 20;
const LOOK_MS_MAX: u64 = 1_000;

/// How long to wait at most, as a person wrote it.
#[derive(Debug)]
pub struct WaitLimit {
    pub ms: u64,
    pub text: String,
}

/// Waits until nobody holds the lease, and gives the ending. A run that ended before is not waited for.
pub async fn wait(
    client: &dyn Client,
    store: &mut Store,
    clock: Arc<dyn Clock>,
    limit: Option<&WaitLimit>,
) -> Result<RunReport, Failure> {
    let mut watch = Watch::of(&store.place().state);
    let waited = Stopwatch::start(Arc::clone(&clock));
    let (mut pause_ms, mut told) = (LOOK_MS_MIN, None);
    while store.is_live() {
        let left_ms = limit.map(|limit| limit.ms.saturating_sub(waited.passed_ms()));
        if let (Some(limit), Some(0)) = (limit, left_ms) {
            return Err(too_long(store, limit));
        }
        if pause_ms == LOOK_MS_MAX {
            tell_standstill(client, store, &mut told);
        }
        let pause =
            Duration::from_millis(left_ms.map_or(pause_ms, |left_ms| pause_ms.min(left_ms)));
        tokio::select! {
            () = watch.changed() => pause_ms = LOOK_MS_MIN,
            () = clock.sleep(pause) => pause_ms = (pause_ms * 2).min(LOOK_MS_MAX),
        }
    }
    ending(client, store)
}

/// Tells once of each standstill that somebody has to end.
fn tell_standstill(client: &dyn Client, store: &Store, told: &mut Option<String>) {
    let observed = liveness::observe(store, RunStatus::Running);
    let words = match (observed.is_hung(), observed.liveness.waits_for) {
        (true, _) => {
            let mend = observed.liveness.mend.as_deref().unwrap_or("descent status");
            Some(format!("{}: {mend}", observed.hung()))
        }
        (false, Some(what)) => Some(format!("the loop waits {}", liveness::waits_for(what))),
        (false, None) => None,
    };
    // The age of a heartbeat is in the words, and grows.
    let kind = |words: &String| words.chars().take_while(|c| !c.is_ascii_digit()).collect();
    let present: Option<String> = words.as_ref().map(kind);
    if present != *told {
        words.into_iter().for_each(|words| client.tell(&Progress::Note(words)));
        *told = present;
    }
}

fn too_long(store: &mut Store, limit: &WaitLimit) -> Failure {
    let state = store.read().ok().map(|loaded| loaded.state.clone());
    let stands = state.map(|state| {
        let world = World::new(state);
        let (resolved, unresolved) = world.split();
        let (done, all) = (resolved.len(), resolved.len() + unresolved.len());
        let in_flight = world.state.run.in_flight.iter();
        let names: Vec<String> = in_flight.map(|intent| intent.atom.to_string()).collect();
        let at_work = if names.is_empty() {
            String::new()
        } else {
            format!("; at work: {}", render::listed(&names, 8))
        };
        format!("{done} of {all} atoms resolved{at_work}")
    });
    let message = format!("the run has not ended within {}", limit.text);
    let hint = "descent status; descent wait waits on";
    let details = stands.into_iter().collect();
    Failure::new("E-WAIT-TIMEOUT", exit::LEASE, message, hint).with(details)
}

/// The ending that the state tells.
fn ending(client: &dyn Client, store: &mut Store) -> Result<RunReport, Failure> {
    let loaded = store.read()?;
    let state = current::seen(client, store, &loaded).state;
    let run = &state.run;
    if !run.status.is_active() && !run.ending.is_known() {
        let message = "nothing runs here, and no run has ended";
        return Err(Failure::new("E-NO-RUN", exit::STOPPED, message, "descent run"));
    }
    RunReport::of_state(store.place(), state)
}
