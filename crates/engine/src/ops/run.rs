//! A run: its lease, its workspaces and its start, the loop itself, and the place of its result.

use std::{path::PathBuf, sync::Arc};

use descent_core::{
    change::ConstraintChange,
    id::RunId,
    state::{Run, RunStatus, State},
    world::World,
};
use tokio::runtime::Runtime;

use super::{
    Client,
    agents::{AgentLook, AgentUse, not_set, unset_variables},
    compare::{LackingPath, lacking_paths},
    environment, file_faults, keep_superseded, liveness,
    memory::RunMemory,
    notify::{self, Notifier, WaitNotices},
    ready,
    request::wait_for_words,
    result::commit_missing,
    start, steer, trust, warnings,
};
use crate::{
    driver::{
        self, Agents, LoopHost, Observer, PendingOutcomes, RealExecutor, RunEnding, Sessions,
    },
    events::{EVENTS, EventLine, INPUTS, RunLog},
    heartbeat::{Heartbeat, LoopBoard},
};
use descent_agent::config::{Config, agent_table::Transport};
use descent_process::{self as process, OwnTag, Programs, environment::Environment};
use descent_store::{
    Lease, StatePlace, Store, StoreError,
    evidence::{EvidenceStore, Warn},
};
use descent_system::{
    clock::Clock,
    failure::{Failure, exit},
    phrase,
    ports::PortBlocks,
    runs::{RunRecord, RunRecords},
    signal::Signals,
};
use descent_workspace::Workspaces;

/// The wishes for one run, and its seams.
#[derive(Debug)]
pub struct RunOptions<'a> {
    /// Committed first.
    pub changes: &'a [ConstraintChange],
    pub run: RunId,
    /// The log of a detached run.
    pub log: Option<PathBuf>,
    /// The command that tells a person of endings and waits.
    pub notify: Option<&'a str>,
    /// The revision to start from, for a run that has not begun; without it, the working tree.
    pub from: Option<&'a str>,
    /// Whether lessons of earlier runs are read, and its own are written, as far as the constraint `memory` allows it.
    pub memory: bool,
    pub clock: Arc<dyn Clock>,
    pub programs: Arc<dyn Programs>,
    pub runtime: &'a Runtime,
}

/// The signals that end the loop, and a person's ear.
pub struct RunView<'a> {
    pub signals: Signals,
    /// Gets the state at every turn of the loop: the first is after its first commit.
    pub on_turn: Box<dyn FnMut(&World) + 'a>,
    /// Gets warnings of other threads.
    pub warn: Warn,
}

/// A run that has ended.
pub struct RunReport {
    pub place: StatePlace,
    pub ending: RunEnding,
    pub workspaces: Workspaces,
    /// The command that is to be told of this ending.
    pub notifier: Option<Arc<Notifier>>,
}

impl RunReport {
    /// The ending that a state tells, for whoever was not its loop.
    pub fn of_state(place: &StatePlace, state: State) -> Result<Self, Failure> {
        if state.run.status.is_active() {
            let message = "the run was cut off: its loop is gone, and there is no ending";
            let hint = "descent run goes on from here";
            return Err(Failure::new("E-CUT-OFF", exit::STOPPED, message, hint));
        }
        Ok(Self {
            place: place.clone(),
            workspaces: Workspaces::of(place, &state)?,
            ending: RunEnding { world: World::new(state), signal: None, has_no_result: false },
            notifier: None,
        })
    }

    /// The directory of the result; a run that could not begin made none.
    pub fn path(&self) -> Option<PathBuf> {
        self.ending.world.state.run.result()?;
        let path = self.workspaces.path_of_result();
        path.is_dir().then_some(path)
    }
}

/// Refuses what leads from a checkout into the project. Tells what variables name there in vain, and gives the words.
fn look_around(
    client: &dyn Client,
    workspaces: &Workspaces,
    environment: &Environment,
    state: &State,
) -> Result<Vec<String>, Failure> {
    let Some(trees) = workspaces.trees() else {
        return Ok(Vec::new());
    };
    let start = state.run.started_from.as_ref();
    trees.refuse_ways_back(start.map(|start| &start.commit))?;
    // Nobody knows yet what `setup` makes: `align` has seen it.
    if workspaces.setup().is_some() {
        return Ok(Vec::new());
    }
    let linked = &state.objective.constraints.link;
    let lacking = lacking_paths(trees, environment, None, linked)?.into_iter();
    let notes = lacking.map(|LackingPath { is_named, advice }| {
        let words = format!("`{}`: {}: {}", advice.check, advice.what, advice.hint);
        if is_named {
            client.tell(&words);
        }
        words
    });
    Ok(notes.collect())
}

/// Runs the loop until it ends. The view is made just before the first attempt can start, and gets what goes on.
pub fn run<'a>(
    client: &dyn Client,
    mut store: Store,
    options: &RunOptions<'_>,
    view: impl FnOnce(Arc<LoopBoard>) -> Result<RunView<'a>, Failure>,
) -> Result<RunReport, Failure> {
    let status = trust::gate(client, &mut store)?.state.run.status;
    wait_for_words(client, &mut store)?;
    let lease = lease(&store, &options.run, status)?;
    check_mode(client, &store)?;
    let run = options.run.clone();
    let heartbeat = Heartbeat::start(store.place(), &run, Arc::clone(&options.clock));
    let loaded = ready(&mut store)?;
    options.note(client, &store, &loaded.state);
    warnings(&store, &loaded, true).iter().for_each(|text| client.tell(text));
    keep_superseded(client, &store, &loaded)?;
    let mut loaded = steer::adopt_under_lease(client, &mut store, loaded)?;
    if !options.changes.is_empty() {
        loaded = steer::limit(client, &mut store, loaded, options.changes)?;
    }
    for words in file_faults::unmatched(&loaded.state, &store.place().project) {
        client.tell(&words);
    }
    let config = client.config().cloned().unwrap_or_default();
    let environment = environment(&loaded.state);
    let look = AgentLook {
        config: &config,
        environment: &environment,
        programs: &*options.programs,
        dir: &store.place().project,
    };
    for agent in look.ready(&loaded.state, AgentUse::Run)? {
        for variable in unset_variables(&agent) {
            client.tell(&format!("the agent `{}`: {}", agent.name, not_set(variable)));
        }
    }
    if limits_unknown_money(&loaded.state, &config) {
        client.tell(MONEY_IS_REPORTED);
    }
    let notifier = options.notify.map(|command| {
        let programs = Arc::clone(&options.programs);
        Notifier::new(command, store.place(), &run, &environment, programs).map(Arc::new)
    });
    let notifier = notifier.transpose()?;
    let withheld = environment.withheld.iter();
    let withheld: Vec<String> = withheld.filter(|name| !config.uses(name)).cloned().collect();
    if !withheld.is_empty() {
        client.tell(&format!(
            "withheld from attempts: {} (name them in `env` to pass them on)",
            withheld.join(", ")
        ));
    }
    let workspaces = open(client, &store, &loaded.state)?;
    let environment = workspaces.environment(environment);
    let lacking = look_around(client, &workspaces, &environment, &loaded.state)?;
    let memory = options.remember(client, &store, &loaded.state);
    let from = options.from.map(|rev| start::first(&loaded.state, &workspaces, rev));
    let from = from.transpose()?;
    if let Some(trees) = workspaces.trees() {
        trees.tidy()?;
    }
    let place = store.place().clone();
    process::prepare()?;
    let gap = options.gap(client, &place, &workspaces);
    // Removed before the lease is released.
    let own = OwnTag::begin(&format!("{}/{run}/tools", place.mark()));
    let mut events = RunLog::start(&place, EVENTS, &run, Arc::clone(&options.clock));
    let mut inputs = RunLog::start(&place, INPUTS, &run, Arc::clone(&options.clock));
    let mut view = view(heartbeat.shared())?;
    let agents = Arc::new(config.table());
    let usage = driver::UsageReports::default();
    let work = heartbeat.shared();
    let executor = RealExecutor {
        evidence: Arc::new(EvidenceStore::of(&place, view.warn)),
        place: place.clone(),
        run: run.clone(),
        workspaces: workspaces.clone(),
        agents: Agents::new(config),
        environment,
        programs: Arc::clone(&options.programs),
        clock: Arc::clone(&options.clock),
        measuring: Arc::new(move |scope, check| work.measure(scope, check)),
        usage: usage.clone(),
        held: PendingOutcomes::default(),
        sessions: Sessions::default(),
        ports: PortBlocks::default(),
    };
    let mut waits = WaitNotices::new(notifier.clone(), &place, &run, Arc::clone(&options.clock));
    let mut has_begun = false;
    let ended = options.runtime.block_on(async {
        let host = LoopHost {
            store,
            clock: Arc::clone(&options.clock),
            signals: view.signals,
            watch: driver::Watch::of(&place.state),
            executor: Arc::new(executor),
            agents,
            usage,
            run,
            by: client.by(),
            gap,
            from,
            remembered: memory.as_ref().map(|memory| memory.lessons.clone()),
        };
        let observer = Observer {
            on_events: &mut |happened, world| {
                let lines = EventLine::of_world(happened, options.clock.now(), world);
                events.append(&lines);
                lines.iter().for_each(|line| client.event(line));
            },
            on_input: &mut |seen, serial| inputs.append_in_time(&seen.line(serial)),
            on_note: &mut |text| client.tell(text),
            on_turn: &mut |world, desired, waits_for| {
                has_begun = true;
                (view.on_turn)(world);
                heartbeat.turn(world, desired, waits_for);
                for why in waits.turn(world, waits_for) {
                    notify::tell_failed(client, &why);
                }
            },
        };
        let ended = driver::run(host, loaded, observer).await;
        waits.finish().await;
        ended
    });
    drop(heartbeat);
    drop(own);
    if let (Some(memory), Ok(ending)) = (&memory, &ended) {
        memory.learn(client, &ending.world, &options.run);
    }
    // Whoever is told finds a run that has ended.
    drop(lease);
    let ending = ended.inspect_err(|failure| {
        if let Some(notifier) = notifier.as_ref().filter(|_| has_begun) {
            let input = serde_json::to_string(&failure.output()).unwrap_or_default();
            options.runtime.block_on(notifier.tell_ending(client, input));
        }
    })?;
    let state = &ending.world.state.run;
    note_configurations(client, &place, state, &workspaces);
    if state.status == RunStatus::Exhausted {
        lacking.iter().for_each(|note| client.tell(note));
    }
    // A signal may have come before this very run had begun.
    let has_ended = state.id.as_ref() == Some(&options.run) && !state.status.is_active();
    Ok(RunReport { notifier: notifier.filter(|_| has_ended), place, ending, workspaces })
}

impl RunOptions<'_> {
    /// Why attempts of this run can write the state file: a person hears it once.
    fn gap(
        &self,
        client: &dyn Client,
        place: &StatePlace,
        workspaces: &Workspaces,
    ) -> Option<String> {
        let trees = workspaces.trees().map(|_| workspaces.path_of_result());
        let gap = self.programs.gap(&trees.unwrap_or_else(|| place.project.clone()))?;
        client.tell(&format!(
            "no fence: attempts can write the state file, since {gap}; a change of it while they work waits for `descent trust`"
        ));
        Some(gap)
    }

    /// Lists the run among those of this machine. The list is for people alone: without it the run goes on.
    fn note(&self, client: &dyn Client, store: &Store, state: &State) {
        let (at, log) = (client.now().rfc3339(), self.log.as_deref());
        let record = RunRecord::new(&state.lineage, &store.place().state, at, log);
        if let Err(error) = RunRecords::find().note(&record) {
            tracing::info!(%error, "`descent status --all` does not list this run");
        }
    }

    /// The memory of this run; it is told what the run is given of it.
    fn remember(&self, client: &dyn Client, store: &Store, state: &State) -> Option<RunMemory> {
        if !self.memory {
            return None;
        }
        let memory = RunMemory::of(client, &store.place().project, state)?;
        if !memory.lessons.is_empty() {
            let lessons = phrase::count(memory.lessons.len(), "lesson");
            client.tell(&format!(
                "remembered: {lessons} of earlier runs (descent memory shows them)"
            ));
        }
        Some(memory)
    }
}

/// Remembers what attempts wrote into a configuration, whoever brings it home, and tells of it.
fn note_configurations(
    client: &dyn Client,
    place: &StatePlace,
    run: &Run,
    workspaces: &Workspaces,
) {
    let (Some(start), Some(head), Some(trees)) =
        (&run.started_from, run.result(), workspaces.trees())
    else {
        return;
    };
    let attempted =
        trust::Attempted { git: trees.git(), start: &start.commit, head, project: &place.project };
    match attempted.note(Some(client)) {
        Ok(paths) => paths.iter().for_each(|path| client.tell(&super::result::configures(path))),
        // `apply` says it as an error, and brings nothing home.
        Err(failure) => client.tell(&format!("warning: {}", failure.message)),
    }
}

/// Takes the lease. A hung loop keeps it: then the failure says which loop it is, and how to go on.
fn lease(store: &Store, run: &RunId, status: RunStatus) -> Result<Lease, Failure> {
    store.lease_for(run).map_err(|error| {
        let observed = liveness::observe(store, status);
        match error {
            StoreError::LeaseHeld { .. } if observed.is_hung() => {
                observed.failure("E-LEASE-HELD", "another loop works on this state; ")
            }
            error => error.into(),
        }
    })
}

/// Tells the client if a save by hand is less safe here than elsewhere.
fn check_mode(client: &dyn Client, store: &Store) -> Result<(), Failure> {
    match store.mode() {
        Ok(mode) if mode.is_degraded() => {
            let [name, meaning] = mode.words();
            client.tell(&format!("the file system of the state is degraded ({name}): {meaning}"));
        }
        Ok(_) => {}
        // The first commit will report it better; but a lock is awaited only once.
        Err(error @ StoreError::LockTimeout { .. }) => return Err(error.into()),
        Err(error) => tracing::debug!(%error, "the file system of the state could not be tried"),
    }
    Ok(())
}

/// The workspaces, with the start of the run.
fn open(client: &dyn Client, store: &Store, state: &State) -> Result<Workspaces, Failure> {
    let workspaces = Workspaces::of(store.place(), state)?;
    let Some(start) = &state.run.started_from else {
        return Ok(workspaces.begin()?);
    };
    let Some(trees) = workspaces.trees() else {
        return Ok(workspaces);
    };
    // Later commits can be made again; the start of the run cannot, except from the very same files.
    if !trees.start_is_there(start)? {
        if !trees.remake_start(start)? {
            let kind = state.objective.constraints.workspace();
            return Err(commit_missing(&start.commit, kind));
        }
        client.tell("the repository of this run was lost: it is begun again from the files, which are as they were");
    }
    start::tell_moved(client, store.place(), trees, state);
    Ok(workspaces)
}

/// Whether money is limited, while nobody knows yet that the worker, a shell command, reports any.
fn limits_unknown_money(state: &State, config: &Config) -> bool {
    let is_limited = state.objective.constraints.budget.cost_usd.is_some();
    let worker = config.doer(false, None).ok().flatten();
    let is_shell = worker.is_some_and(|worker| matches!(worker.transport, Transport::Shell(_)));
    is_limited && is_shell && state.run.spent.usage.cost.is_none()
}

const MONEY_IS_REPORTED: &str = "budget.cost_usd counts what the worker reports as `usage` in $DESCENT_RESULT, and it has reported \
                                 nothing yet";
