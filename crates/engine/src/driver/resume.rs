//! Finds what an earlier run left: finished attempts, commits that the repository lost, and processes by the records of
//! attempts, which it ends first.
//!
//! Invariant: the lease is held and leftover processes are ended, so nobody writes any of this any more. Not here: how
//! they are found and killed (`orphans` of `descent-process`).

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use descent_core::{
    event::{Leftovers, Outcome, Product},
    id::{AgentName, AttemptId, CommitId, RunId},
    state::{Intent, SideEffect, State},
    view,
};

use super::{
    Loop,
    executor::{BoxedFuture, RealExecutor, RunLeftovers, blocking},
};
use descent_agent::agent::{self, SessionRecord};
use descent_process as process;
use descent_store::StatePlace;
use descent_system::{failure::Failure, files};

pub(super) fn resume(executor: &RealExecutor, state: &State) -> BoxedFuture<RunLeftovers> {
    let (executor, state) = (executor.clone(), state.clone());
    let find = move || {
        let attempts = executor.place.attempts();
        let in_flight = state.run.in_flight.iter();
        let recorded: Vec<(&Intent, Outcome)> = in_flight
            .filter_map(|intent| Some((intent, agent::finished(&attempts, intent)?)))
            .collect();
        agent::remove_old(&attempts, &state.run.in_flight);
        let mut named = state.side_files();
        let wholes = recorded.iter().filter_map(|(_, one)| one.whole.as_ref());
        named.extend(wholes.map(|whole| whole.digest.clone()));
        executor.evidence.tidy(&named);
        let mut commits = view::commits(&state);
        let start = state.run.started_from.as_ref();
        commits.extend(recorded.iter().filter_map(|(_, outcome)| commit_of(outcome)));
        if let Some(start) = start {
            commits.remove(&start.commit);
        }
        let trees = executor.workspaces.trees();
        let gone = trees.map_or(Ok(BTreeSet::new()), |trees| trees.mend(start, &commits))?;
        let is_whole = |(_, outcome): &(&Intent, Outcome)| {
            commit_of(outcome).is_none_or(|commit| !gone.contains(&commit))
        };
        let whole = recorded.into_iter().filter(is_whole);
        let finished: Vec<(AttemptId, Outcome)> =
            whole.map(|(intent, outcome)| (intent.id.clone(), outcome)).collect();
        let went_on = going_on(&executor, &state, &finished);
        let carried = trees.map_or(Ok(None), |trees| trees.carried())?;
        let left = Leftovers {
            is_warm: carried.is_some_and(|carried| carried.are_carried()),
            finished,
            continued: went_on.keys().cloned().collect(),
            used: agent::told_so_far(&attempts, &asked_and_in_flight(&state)),
            gone,
        };
        let slots = went_on.iter().map(|(id, session)| (id.clone(), session.slot)).collect();
        executor.sessions.fill(went_on);
        Ok(RunLeftovers { left, slots })
    };
    Box::pin(async move { blocking(find).await })
}

/// All that agents are at: the attempts in flight, and the question.
pub(crate) fn asked_and_in_flight(state: &State) -> Vec<Intent> {
    let asked = state.run.consult.iter().map(Intent::of_question);
    state.run.in_flight.iter().cloned().chain(asked).collect()
}

/// The attempts whose agents can go on: the session is known, the workspace is the one that the agent had, and the
/// machine was not started anew.
fn going_on(
    executor: &RealExecutor,
    state: &State,
    finished: &[(AttemptId, Outcome)],
) -> BTreeMap<AttemptId, SessionRecord> {
    let RealExecutor { place, agents, workspaces, .. } = executor;
    let attempts = place.attempts();
    let is_finished = |intent: &&Intent| finished.iter().any(|(id, _)| *id == intent.id);
    let open = state.run.in_flight.iter().filter(|intent| !is_finished(intent));
    let sessions = open.filter(|intent| intent.effect == SideEffect::Tree).filter_map(|intent| {
        let session = agent::session(&attempts, intent)?;
        let is_same_agent =
            intent.agent.as_ref().map(AgentName::as_str) == Some(session.agent.as_str());
        // A model that is asked has left nothing in its workspace; its answers are to the state as it was.
        let is_asked = agents.is_asked(intent);
        // A person changed something since it began.
        let mut times = state.corrections.iter().filter_map(|one| one.data.timestamp.as_ref());
        if is_asked && times.any(|at| *at >= intent.at) {
            return None;
        }
        let is_as_left = is_asked
            || is_as_left(place, session.slot, &intent.id) && workspaces.is_as_given(session.slot);
        let can = is_same_agent && agents.goes_on(intent) && is_as_left;
        can.then(|| (intent.id.clone(), session))
    });
    sessions.collect()
}

impl Loop<'_> {
    pub(super) async fn find_what_was_left(&mut self) -> Result<RunLeftovers, Failure> {
        let looking = self.host.executor.resume(&self.world.state);
        let found = self.patiently(looking).await?;
        let gone = &found.left.gone;
        if !gone.is_empty() {
            let names: Vec<&str> = gone.iter().take(NAMED_MAX).map(CommitId::as_str).collect();
            (self.observer.on_note)(&format!(
                "the repository lost commits that the state names ({}: {}); what stood on them is made again",
                gone.len(),
                names.join(", ")
            ));
        }
        Ok(found)
    }
}

/// The result of an attempt has a value only while its commit can be read.
fn commit_of(outcome: &Outcome) -> Option<CommitId> {
    match &outcome.made {
        Some(Product::Commit(commit)) => Some(commit.clone()),
        Some(Product::Unchanged | Product::Broken(_)) | None => None,
    }
}

/// Maximum of commits named in a message.
const NAMED_MAX: usize = 5;

const SLOT: &str = "slot-";
/// Maximum size of a record of processes.
const NOTE_BYTES_MAX: u64 = 64 << 10;

/// The record of a slot's processes. Since only one attempt at a time has the slot, a file for each
/// attempt is not needed. No attempt has such an id.
pub(super) fn note_of(place: &StatePlace, slot: usize) -> PathBuf {
    place.attempts().join(format!("{SLOT}{slot}.json"))
}

/// The slot in which an attempt is at work, by the record of its processes.
pub(crate) fn slot_of(place: &StatePlace, run: &RunId, attempt: &AttemptId) -> Option<usize> {
    let mark = mark_of(place, run, attempt);
    files::entries(&place.attempts()).into_iter().find_map(|path| {
        let slot = path.file_name()?.to_str()?.strip_prefix(SLOT)?.strip_suffix(".json")?;
        slot.parse().ok().filter(|_| record_at(&path).is_some_and(|record| record.mark == mark))
    })
}

/// Whether the record of that slot names this attempt, and the machine was not started anew since: after a power cut the
/// tree may be torn.
pub(super) fn is_as_left(place: &StatePlace, slot: usize, attempt: &AttemptId) -> bool {
    record_at(&note_of(place, slot)).is_some_and(|record| {
        let is_its_own = record.mark.rsplit('/').next() == Some(attempt.as_str());
        is_its_own && record.boot_id == process::boot_id()
    })
}

/// The mark of an attempt's processes.
pub(super) fn mark_of(place: &StatePlace, run: &RunId, attempt: &AttemptId) -> String {
    format!("{}/{run}/{attempt}", place.mark())
}

/// Ends what an earlier loop of this state left, and returns the ids. The caller holds the lease.
pub(crate) fn end_leftovers(place: &StatePlace) -> Vec<u32> {
    let is_note = |path: &PathBuf| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(SLOT))
    };
    let notes = files::entries(&place.attempts()).into_iter().filter(is_note);
    let started: Vec<process::JobRecord> = notes.filter_map(|path| record_at(&path)).collect();
    // The mark is of this state file and of no copy of it: an inode is not copied.
    process::sweep(&format!("{}/", place.mark()), &started)
}

fn record_at(path: &Path) -> Option<process::JobRecord> {
    serde_json::from_slice(&files::read(path, NOTE_BYTES_MAX).ok()?).ok()
}
