//! Looks at runs from outside: one state again and again, the wait for its end, and all runs of this machine.
//!
//! Invariant: it only reads, and locks nothing. Whatever it reads may be gone or broken at any moment. Not here: a request
//! to end a run (`stop`), the records of runs (`runs`), the words (`cli`).

use std::{
    io::{Read, Seek, SeekFrom},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime},
};

use descent_core::{
    id::{AtomId, AttemptId, Lineage},
    state::{RunStatus, State, Usage},
    view::{
        liveness::{Activity, WaitsFor},
        work::WorkView,
    },
    world::World,
};
use serde::Serialize;

use super::{
    Client, current,
    liveness::{self, LoopObservation},
    run::RunReport,
};
use crate::{
    driver::{Watch, asked_and_in_flight},
    events::{EventReader, HappenedEvent},
    heartbeat,
};
use descent_agent::agent;
use descent_store::{LoadedState, StatePlace, Store};
use descent_system::{
    clock::{Clock, Stopwatch},
    failure::{Failure, exit, quoted},
    files,
    runs::{self, FoundRecord, RunRecords},
};

/// Bytes of an output that are read from its end.
const TAIL_BYTES: u64 = 256 * 1024;

/// Looks at one state again and again.
pub struct Lookout {
    store: Store,
    /// The inode, length and time of the file when it was read.
    stamp: Option<(u64, u64, SystemTime)>,
    loaded: Arc<LoadedState>,
    trouble: Option<String>,
    events: Option<EventReader>,
}

/// The findings of one look.
pub struct WatchReport {
    pub loaded: Arc<LoadedState>,
    /// Whether the state is another one than at the last look.
    pub is_news: bool,
    /// Why the file cannot be read now; `loaded` is the last that could.
    pub trouble: Option<String>,
    pub observed: LoopObservation,
    pub work: Option<WorkView>,
    /// The usage that attempts in flight have told.
    pub used: Vec<(AttemptId, Usage)>,
    /// The events since the last look; after a new run began, all of that run.
    pub events: Vec<HappenedEvent>,
}

impl WatchReport {
    pub fn state(&self) -> &State {
        &self.loaded.state
    }

    /// A loop is at work, or about to begin.
    pub fn is_live(&self) -> bool {
        self.observed.holder.is_some()
    }
}

impl Lookout {
    /// The first look has to succeed.
    pub fn new(mut store: Store) -> Result<Self, Failure> {
        let loaded = store.read()?;
        Ok(Self { store, stamp: None, loaded, trouble: None, events: None })
    }

    pub fn place(&self) -> &StatePlace {
        self.store.place()
    }

    /// For a person's command from here.
    pub fn store(&mut self) -> &mut Store {
        &mut self.store
    }

    pub fn look(&mut self) -> WatchReport {
        let meta = self.store.place().state.symlink_metadata();
        let stamp =
            meta.ok().and_then(|meta| Some((meta.ino(), meta.len(), meta.modified().ok()?)));
        let is_news = stamp.is_none() || stamp != self.stamp;
        if is_news {
            match self.store.read() {
                Ok(loaded) => (self.loaded, self.trouble) = (loaded, None),
                Err(error) => self.trouble = Some(error.to_string()),
            }
            self.stamp = stamp.filter(|_| self.trouble.is_none());
        }
        let observed = liveness::observe(&self.store, self.loaded.state.run.status);
        let run = self.loaded.state.run.id.as_ref().map(ToString::to_string);
        let run = run.unwrap_or_default();
        let is_live = observed.holder.is_some();
        let work = is_live.then(|| heartbeat::read_work(self.store.place(), &run));
        let attempts = self.store.place().attempts();
        WatchReport {
            used: agent::told_so_far(&attempts, &asked_and_in_flight(&self.loaded.state)),
            loaded: Arc::clone(&self.loaded),
            is_news,
            trouble: self.trouble.clone(),
            observed,
            work: work.flatten(),
            events: self.events(&run),
        }
    }

    /// The ending that the state tells.
    pub fn ending(&self, report: &WatchReport) -> Result<RunReport, Failure> {
        RunReport::of_state(self.store.place(), report.state().clone())
    }

    fn events(&mut self, run: &str) -> Vec<HappenedEvent> {
        let reader = self.events.take().filter(|reader| reader.run == run);
        let reader = reader.unwrap_or_else(|| EventReader::of(self.store.place(), run));
        self.events.insert(reader).read()
    }
}

/// The newest attempt of an atom that is in flight or whose files are kept. Those of an earlier agreement, which may have
/// had atoms of the same name, are older than the lineage.
pub fn newest_attempt(place: &StatePlace, state: &State, atom: &AtomId) -> Option<AttemptId> {
    let in_flight = state.run.in_flight.iter().map(|intent| intent.id.clone());
    // A person may have given the name of a lineage: then the time is the earliest one.
    let id = uuid::Uuid::parse_str(state.lineage.as_str()).ok();
    let time = id.and_then(|id| id.get_timestamp()).map(|time| time.to_unix());
    let since = time.map(|(seconds, nanos)| Duration::new(seconds, nanos));
    let begun = SystemTime::UNIX_EPOCH + since.unwrap_or_default();
    let is_of_lineage = |path: &&PathBuf| {
        let modified = path.symlink_metadata().and_then(|meta| meta.modified());
        modified.is_ok_and(|modified| modified >= begun)
    };
    let name = |path: &PathBuf| Some(AttemptId::new(path.file_name()?.to_str()?));
    let entries = files::entries(&place.attempts());
    let kept = entries.iter().filter(is_of_lineage).filter_map(name);
    let is_of_atom = |id: &AttemptId| id.parts().is_some_and(|(of, _)| of == atom.as_str());
    AttemptId::newest(in_flight.chain(kept).filter(is_of_atom))
}

/// The end of what an attempt printed; `None` if nothing is kept of it.
pub fn output_tail(place: &StatePlace, attempt: &AttemptId) -> Option<String> {
    let path = place.attempts().join(attempt.as_str()).join("output.log");
    let mut file = files::open(&path).ok()?;
    let length = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL_BYTES))).ok()?;
    let mut bytes = Vec::new();
    file.take(TAIL_BYTES).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Between two looks: the first after a commit of the loop, since its last is near its end, and the longest.
const LOOK_MS_MIN: u64 = 20;
const LOOK_MS_MAX: u64 = 1_000;

/// Whether the loop hangs, and what it waits for.
type Standstill = (bool, Option<WaitsFor>);

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
            let message = format!("the run has not ended within {}", limit.text);
            let hint = "descent status; descent wait waits on";
            return Err(Failure::new("E-WAIT-TIMEOUT", exit::LEASE, message, hint));
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
fn tell_standstill(client: &dyn Client, store: &Store, told: &mut Option<Standstill>) {
    let observed = liveness::observe(store, RunStatus::Running);
    let present = (observed.is_hung(), observed.liveness.waits_for);
    let words = match present {
        (true, _) => {
            let mend = observed.liveness.mend.as_deref().unwrap_or("descent status");
            Some(format!("{}: {mend}", observed.hung()))
        }
        (false, Some(what)) => Some(format!("the loop waits {}", liveness::waits_for(what))),
        (false, None) => None,
    };
    if told.replace(present) != Some(present) {
        words.iter().for_each(|words| client.tell(words));
    }
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

/// A state on which a run was started, as it stands
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
    #[cfg_attr(feature = "schema", schemars(extend("enum" = [null, "aligned", "running", "redirecting", "completed", "stopped", "exhausted", "needs_guidance"])))]
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
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
pub fn list_runs() -> RunListing {
    let listing = RunRecords::find().list();
    let mut warnings: Vec<String> = listing
        .odd
        .into_iter()
        .map(|odd| format!("warning: passed over {}", descent_system::phrase::line(&odd)))
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
    let mut store = Store::open(StatePlace::find(dir, Some(&record.state))?);
    let read = store.read();
    if read.as_ref().is_ok_and(|loaded| loaded.state.lineage != record.lineage) {
        return None;
    }
    let problem = read.as_ref().err().map(ToString::to_string);
    let world = read.ok().map(|loaded| World::new(loaded.state.clone()));
    let run = world.as_ref().map(|world| &world.state.run);
    let (resolved, unresolved) = world.as_ref().map(World::split).unwrap_or_default();
    let observed = liveness::observe(&store, run.map_or(RunStatus::Running, |run| run.status));
    let (place, live) = (store.place(), observed.holder.is_some() || store.is_live());
    let ended = run.filter(|run| !live && !run.status.is_active());
    let ended = ended.and_then(|run| run.ending.ended.clone());
    Some(KnownRun {
        state: record.state.clone(),
        project: place.project.clone(),
        is_usual: place.is_usual(),
        lineage: record.lineage.clone(),
        goal: world.as_ref().map(|world| world.state.objective.goal.clone()),
        status: run.map(|run| run.status.word()),
        live,
        activity: observed.liveness.activity,
        waits_for: observed.liveness.waits_for,
        since: ended.unwrap_or_else(|| record.at.clone()),
        resolved: resolved.len(),
        unresolved: unresolved.len(),
        pid: observed.pid,
        detached: record.log.is_some(),
        log: record.log.clone(),
        problem,
    })
}
