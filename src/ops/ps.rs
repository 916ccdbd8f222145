//! The runs of this machine, each as its state stands now.
//!
//! Not here: the records (`runs`), the words (`cli`).

use std::path::{Path, PathBuf};

use descent_core::{
    id::Lineage,
    state::{RunStatus, State},
    view::liveness::{Activity, WaitsFor},
    world::World,
};
use serde::Serialize;

use super::liveness;
use crate::{
    failure::quoted,
    heartbeat,
    runs::{self, FoundRecord, RunRecord, RunRecords},
    store::{StatePlace, Store, StoreError},
};

/// A state on which a run was started, as it stands
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct KnownRun {
    /// The state file.
    pub state: PathBuf,
    /// The project that it is about.
    pub project: PathBuf,
    /// Whether commands find this state in the project by themselves.
    #[serde(skip)]
    pub is_usual: bool,
    pub lineage: Lineage,
    /// Absent if the state cannot be read.
    pub goal: Option<String>,
    #[cfg_attr(test, schemars(extend("enum" = [null, "aligned", "running", "redirecting", "completed", "stopped", "exhausted", "needs_guidance"])))]
    pub status: Option<&'static str>,
    /// Whether a loop holds the lease.
    pub live: bool,
    pub activity: Activity,
    pub waits_for: Option<WaitsFor>,
    /// When the newest run began, or how long ago it ended.
    pub since: String,
    pub resolved: usize,
    pub unresolved: usize,
    /// The process of the loop.
    pub pid: Option<u32>,
    pub detached: bool,
    /// The log of a detached run.
    pub log: Option<PathBuf>,
    /// Why the state cannot be read.
    pub problem: Option<String>,
}

/// The runs of this machine: `descent status --all --json`
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RunListing {
    schema: &'static str,
    /// Those with a living loop first, then the newest.
    pub runs: Vec<KnownRun>,
    pub next: String,
    #[serde(skip)]
    pub warnings: Vec<String>,
}

impl KnownRun {
    /// The command that shows more of it.
    fn next(&self) -> String {
        if self.is_usual {
            format!("descent -C {} status", quoted(&self.project))
        } else {
            format!("descent --state {} status", quoted(&self.state))
        }
    }
}

/// Lists the runs: those that live first, then the newest. The records of states that are gone are removed.
pub fn list() -> RunListing {
    let listing = RunRecords::find().list();
    let mut warnings: Vec<String> = listing
        .odd
        .into_iter()
        .map(|odd| format!("warning: passed over {}", crate::render::line(&odd)))
        .collect();
    if listing.left_out > 0 {
        let count = listing.left_out;
        warnings.push(format!("warning: {count} older records were passed over"));
    }
    let mut runs: Vec<KnownRun> = Vec::new();
    for found in &listing.found {
        match known(found) {
            Some(run) => runs.push(run),
            None => RunRecords::forget(found),
        }
    }
    runs.sort_by(|one, other| (other.live, &other.since).cmp(&(one.live, &one.since)));
    let next = runs.first().map_or_else(
        || "descent run, where a goal is agreed (descent align --help)".to_owned(),
        KnownRun::next,
    );
    RunListing { schema: "descent/ps/1", runs, next, warnings }
}

/// `None` if the state is gone, or another agreement has its name.
fn known(found: &FoundRecord) -> Option<KnownRun> {
    let record = &found.record;
    if runs::is_absent(&record.state) {
        return None;
    }
    let dir = record.state.parent().unwrap_or(Path::new("/"));
    let place = StatePlace::find(dir, Some(&record.state))?;
    let mut store = Store::open(place);
    match store.read() {
        Ok(loaded) if loaded.state.lineage != record.lineage => None,
        Ok(loaded) => Some(of_state(&store, record, loaded.state.clone())),
        Err(error) => Some(unread(&store, record, &error)),
    }
}

fn of_state(store: &Store, record: &RunRecord, state: State) -> KnownRun {
    let world = World::new(state);
    let run = &world.state.run;
    let (resolved, unresolved) = world.split();
    let mut known = row(store, record, run.status);
    let ended = run.ending.ended.clone();
    known.since = ended.filter(|_| !known.live && !run.status.is_active()).unwrap_or(known.since);
    KnownRun {
        goal: Some(world.state.objective.goal.clone()),
        status: Some(run.status.word()),
        resolved: resolved.len(),
        unresolved: unresolved.len(),
        ..known
    }
}

fn unread(store: &Store, record: &RunRecord, error: &StoreError) -> KnownRun {
    KnownRun { problem: Some(error.to_string()), ..row(store, record, RunStatus::Running) }
}

fn row(store: &Store, record: &RunRecord, status: RunStatus) -> KnownRun {
    let observed = liveness::observe(store, status);
    let place = store.place();
    KnownRun {
        state: record.state.clone(),
        project: place.project.clone(),
        is_usual: place.is_usual(),
        lineage: record.lineage.clone(),
        goal: None,
        status: None,
        live: observed.holder.is_some() || store.is_live(),
        activity: observed.liveness.activity,
        waits_for: observed.liveness.waits_for,
        since: record.at.clone(),
        resolved: 0,
        unresolved: 0,
        pid: observed.holder.as_deref().and_then(heartbeat::pid_in),
        detached: record.log.is_some(),
        log: record.log.clone(),
        problem: None,
    }
}
