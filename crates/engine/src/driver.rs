//! The loop: it observes, steps, commits, starts desired work and ends undesired work. It makes no
//! decisions.
//!
//! Invariant: no effect outside the cache happens before the state with its intent is durable. Work
//! starts only from `desired`, which is derived from the committed state.

pub mod adopt;
mod agent_pool;
mod disk_wait;
mod ending;
mod executor;
mod follow;
mod reconcile;
mod resume;
#[cfg(test)]
mod tests;
mod together;
mod watch;
mod work;

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
    time::Duration,
};

use descent_core::{
    desired::{self, DesiredWork, WorkKey},
    event::Input,
    id::{AttemptId, RunId, Serial},
    state::{Intent, Lesson, RunStatus, StartedFrom},
    step::Transition,
    view::liveness::WaitsFor,
    world::{AgentTable, Session, World},
};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use descent_store::{CommitContent, CommitError, LoadedState, Store, StoreError};
use descent_system::{
    clock::{Clock, Stopwatch, to_next_poll},
    failure::Failure,
    files::ContentStamp,
    signal::{Signal, Signals},
};

pub use agent_pool::{Agents, no_worker};
use executor::RunLeftovers;
pub use executor::{
    Executor, Measuring, NeededCommits, PendingOutcomes, RealExecutor, Sessions, UsageReports,
};
pub(crate) use resume::{asked_and_in_flight, end_leftovers, slot_of};
pub(crate) use together::Observer;
pub use watch::Watch;
pub(crate) use work::{CheckSetting, CheckTree, ReadyCheckout};
pub use work::{PromptRequest, ToldPrompt};

/// How many attempts this loop makes in parallel at most, whatever `max_parallel_agents` says.
const SLOTS_MAX: u32 = 64;
/// How many inputs may wait while the state file cannot be written.
const PENDING_MAX: usize = 10_000;

/// The environment that a run needs.
pub struct LoopHost {
    pub store: Store,
    pub clock: Arc<dyn Clock>,
    pub signals: Signals,
    pub watch: Watch,
    pub(crate) executor: Arc<dyn Executor>,
    pub agents: Arc<AgentTable>,
    pub usage: UsageReports,
    pub run: RunId,
    pub by: String,
    /// The start of a run that has not begun; without it, the person's working tree.
    pub from: Option<StartedFrom>,
    /// Why attempts can write the state file; `None` behind a fence.
    pub gap: Option<String>,
    /// The lessons of earlier runs for a run that begins; `None` without memory.
    pub remembered: Option<Vec<Lesson>>,
}

/// How a run ended: the present state, and the signal to die by, if one ended it.
#[derive(Debug)]
pub struct RunEnding {
    pub world: World,
    pub signal: Option<Signal>,
    /// The signal came before this run had begun or after it was over, so it has no result to show.
    pub has_no_result: bool,
}

/// Work that is running.
struct RunningWork {
    cancel: CancellationToken,
    /// Distinguishes it from an earlier one with the same key that was cancelled and has not ended
    /// yet.
    generation: u64,
}

/// The message of finished work.
struct FinishedWork {
    key: WorkKey,
    generation: u64,
    result: Result<Option<Input>, Failure>,
}

struct Loop<'t> {
    host: LoopHost,
    world: World,
    session: Session,
    /// The file as this loop knows it.
    loaded: Arc<LoadedState>,
    running: BTreeMap<WorkKey, RunningWork>,
    /// Cancelled work that has not ended yet.
    leaving: usize,
    /// Work started so far.
    generations: u64,
    slots: BTreeMap<AttemptId, usize>,
    done: mpsc::UnboundedSender<FinishedWork>,
    inbox: mpsc::UnboundedReceiver<FinishedWork>,
    pending: VecDeque<Input>,
    /// The faults of the file, while the loop waits for a correction.
    waits_for_file: Option<Vec<String>>,
    disk_wait: disk_wait::DiskWait,
    watch_stamp: Option<ContentStamp>,
    /// The file when its bytes were compared last because of the time that had passed.
    compared: watch::Compared,
    stopwatch: Stopwatch,
    /// Active time before a wait for the file.
    before_rest_ms: Option<u64>,
    /// The failure of a state file that is gone, once its last bytes are saved.
    vanished: Option<Failure>,
    observer: Observer<'t>,
    signal: Option<Signal>,
    /// A signal that came during another wait and was not handled yet.
    early: Option<Signal>,
    /// Since when the loop knows of a requested stop.
    stops_since: Option<Stopwatch>,
    recording: ending::Recording,
    /// A call of git did not end in time after the stop.
    is_cut_off: bool,
    followed: follow::Follower,
    /// The serial that the journal holds.
    remembered: Serial,
    /// The serial after which nothing is left to sweep.
    tended: Option<Serial>,
    rest: reconcile::StallDetector,
}

/// Runs until the run has ended. The caller holds the lease.
pub async fn run(
    host: LoopHost,
    loaded: Arc<LoadedState>,
    observer: Observer<'_>,
) -> Result<RunEnding, Failure> {
    host.executor.sweep();
    let world = World::new(loaded.state.clone());
    let (done, inbox) = mpsc::unbounded_channel();
    let mut this = Loop {
        watch_stamp: ContentStamp::at(&host.store.place().state),
        compared: watch::Compared::default(),
        stopwatch: Stopwatch::start(Arc::clone(&host.clock)),
        before_rest_ms: None,
        host,
        world,
        session: Session::new(SLOTS_MAX),
        loaded,
        running: BTreeMap::new(),
        leaving: 0,
        generations: 0,
        slots: BTreeMap::new(),
        done,
        inbox,
        pending: VecDeque::new(),
        waits_for_file: None,
        disk_wait: disk_wait::DiskWait::default(),
        vanished: None,
        observer,
        signal: None,
        early: None,
        stops_since: None,
        recording: ending::Recording::default(),
        is_cut_off: false,
        followed: follow::Follower::default(),
        remembered: Serial(0),
        tended: None,
        rest: reconcile::StallDetector::default(),
    };
    this.session.agents = Arc::clone(&this.host.agents);
    this.session.remembered = this.host.remembered.take();
    this.whole().await
}

impl Loop<'_> {
    async fn whole(&mut self) -> Result<RunEnding, Failure> {
        // An edit may be based on the state that this run begins with, whatever happened to the
        // journal.
        self.host.store.write_journal();
        let mut result = self.go().await;
        if result.is_err() {
            // An attempt that has ended is not made again because of this failure.
            let _ = self.take_arrived();
        }
        let mut is_cut_off = self.is_cut_off;
        self.end_all().await;
        if result.is_ok() {
            self.prove_end().await;
            self.host.store.write_journal();
            result = self.deliver().await;
            is_cut_off = self.is_cut_off;
            if result.is_ok() {
                self.word().await;
            }
        } else if self.host.store.is_gone() {
            // Any other failure follows from this one, and a missing state cannot be asked.
            result = Err(self.vanished());
        } else if let Err(error @ StoreError::Moved { .. }) = self.host.store.read() {
            // Another directory has the name of the state's; the lineage's repository moved with it.
            result = Err(error.into());
        } else if let (Err(failure), None) = (&result, self.early) {
            self.stop_for(failure).await;
        }
        self.tell_rescued();
        self.ending(result, is_cut_off)
    }

    async fn go(&mut self) -> Result<(), Failure> {
        if self.host.watch.is_deaf() {
            (self.observer.on_note)(
                "the system gives no file events here (inotify is used up, or this process may open no more files; \
                 descent doctor tells): edits of the state file are noticed within a second",
            );
        }
        self.start().await?;
        if let Some(signal) = self.early.take() {
            self.on_signal(signal).await?;
        }
        loop {
            let worked = self.work_off().await;
            self.endure(worked)?;
            let desired =
                desired::desired_work(&self.world, &self.session, self.stopwatch.passed_ms());
            let waits_for = self.waits_for(&desired);
            (self.observer.on_turn)(&self.world, &desired, waits_for);
            if desired.is_over && self.waits_for_file.is_none() {
                return Ok(());
            }
            self.reconcile(&desired)?;
            let is_at_rest = waits_for == Some(WaitsFor::Backoff);
            let has_work = !is_at_rest || self.leaving > 0 || !self.pending.is_empty();
            // Fails if nothing will ever move this run.
            self.rest.observe(self.world.state.serial, has_work, desired.wake_in_ms)?;
            self.rest();
            let sleep = self.sleep(&desired);
            tokio::select! {
                // The order is fixed: the result depends on the inputs, never on chance.
                biased;
                signal = self.host.signals.next() => self.on_signal(signal).await?,
                done = self.inbox.recv() => {
                    let taken = self.take(done);
                    self.endure(taken)?;
                }
                used = self.host.usage.next() => self.pending.extend(used),
                () = self.host.watch.changed() => {
                    let looked = self.look_at_file().await;
                    self.endure(looked)?;
                }
                () = self.host.clock.sleep(sleep) => {
                    self.distrust_stamp();
                    let looked = self.look_around().await;
                    self.endure(looked)?;
                    self.pending.push_back(Input::Tick);
                }
            }
            // All results that arrived together are processed together. Work that is ready to tell
            // its result gets its turn before.
            tokio::task::yield_now().await;
            self.take_arrived()?;
        }
    }

    /// Takes the results that arrived.
    fn take_arrived(&mut self) -> Result<(), Failure> {
        while let Ok(done) = self.inbox.try_recv() {
            let taken = self.take(Some(done));
            self.endure(taken)?;
        }
        Ok(())
    }

    /// Makes the first commit of a run: from here on nothing of an earlier run is in flight.
    async fn start(&mut self) -> Result<(), Failure> {
        let RunLeftovers { left, slots } = self.find_what_was_left().await?;
        self.slots = slots;
        let from = match self.world.state.run.head {
            Some(_) => None,
            None if self.host.from.is_some() => self.host.from.take(),
            None => {
                let looking = self.host.executor.snapshot();
                let (start, notes) = self.patiently(looking).await?;
                notes.iter().for_each(|note| (self.observer.on_note)(note));
                start
            }
        };
        let run = self.host.run.clone();
        self.observe(Input::Started { run, from, left }).await?;
        Ok(())
    }

    /// The reason if no new work is started.
    fn waits_for(&self, desired: &DesiredWork) -> Option<WaitsFor> {
        if self.waits_for_file.is_some() {
            return Some(WaitsFor::File);
        }
        if let Some(lacking) = self.disk_wait.waits_for() {
            return Some(lacking);
        }
        if self.world.state.run.status == RunStatus::Redirecting {
            return Some(WaitsFor::Redirect);
        }
        let is_at_rest = desired.effects.is_empty() && self.running.is_empty() && !desired.is_over;
        is_at_rest.then_some(WaitsFor::Backoff)
    }

    fn sleep(&self, desired: &DesiredWork) -> Duration {
        let left_ms = self.disk_wait.left_ms().filter(|left_ms| *left_ms > 0);
        let wakes_ms = [desired.wake_in_ms, self.recording.left_ms()];
        let wake_in_ms = left_ms.or(wakes_ms.into_iter().flatten().min());
        let wake_in = wake_in_ms.map(|wake_in_ms| Duration::from_millis(wake_in_ms.max(1)));
        let poll = to_next_poll(&*self.host.clock);
        wake_in.map_or(poll, |wake_in| wake_in.min(poll))
    }

    fn take(&mut self, done: Option<FinishedWork>) -> Result<(), Failure> {
        let Some(done) = done else { return Ok(()) };
        let running = self.running.get(&done.key);
        if running.is_none_or(|running| running.generation != done.generation) {
            self.leaving = self.leaving.saturating_sub(1);
            return Ok(());
        }
        self.running.remove(&done.key);
        self.host.executor.notes().iter().for_each(|note| (self.observer.on_note)(note));
        if let Some(event) = done.result? {
            self.is_there(WaitsFor::Repository);
            self.pending.push_back(event);
        }
        Ok(())
    }

    /// Processes all pending inputs, unless the file cannot be written now.
    async fn work_off(&mut self) -> Result<(), Failure> {
        while self.waits_for_file.is_none() && !self.disk_wait.keeps_from_writing() {
            let mut inputs = std::mem::take(&mut self.pending);
            if inputs.is_empty() {
                return Ok(());
            }
            let observed = self.observe_all(&mut inputs).await;
            // The inputs that were not taken in come before those that came meanwhile.
            inputs.append(&mut self.pending);
            self.pending = inputs;
            observed?;
        }
        if self.pending.len() > PENDING_MAX {
            return Err(Failure::bug("too many events wait for the state file"));
        }
        Ok(())
    }

    /// Steps and commits; `false` if the file must be corrected first.
    async fn observe(&mut self, event: Input) -> Result<bool, Failure> {
        self.observe_all(&mut VecDeque::from([event])).await
    }

    /// Makes one commit of the first inputs, and takes them out of the list once it is made.
    async fn observe_all(&mut self, inputs: &mut VecDeque<Input>) -> Result<bool, Failure> {
        let (mut lap, mut most) = (self.lap(), together::INPUTS_MAX);
        loop {
            let stepped = self.step_all(inputs, &mut lap, most)?;
            let Some(together::Together { next, taken }) = stepped else { return Ok(true) };
            self.obey(&next);
            self.wait_for_lock().await?;
            match self.commit(&next)? {
                CommitOutcome::Done(loaded) => {
                    self.loaded = loaded;
                    // A stamp taken now might be of another's file; this one is of ours.
                    self.watch_stamp = self.host.store.published();
                    self.is_there(WaitsFor::Disk);
                    self.arrive(next);
                    for event in inputs.drain(..taken) {
                        self.record(lap.observation(event));
                    }
                    return Ok(true);
                }
                CommitOutcome::Changed => {
                    if !self.sync().await? {
                        return Ok(false);
                    }
                    // The step that is made again has a later time than that commit.
                    lap.now = self.host.clock.now();
                }
                // Some of them may fit.
                CommitOutcome::NoRoom(_) if taken > 1 => most = 1,
                CommitOutcome::NoRoom(failure) => self.end_without_room(inputs, failure).await?,
            }
        }
    }

    /// Ends at once what a requested stop ends, without waiting for the disk. Until the commit,
    /// killed attempts still count as in flight and would be retried for free. So this is not done
    /// while an attempt runs that must happen only once.
    fn obey(&mut self, next: &Transition) {
        self.begin_proof();
        let state = &self.world.state;
        let is_once_only = |intent: &Intent| intent.effect.is_once_only();
        if state.control.stop_requested && !state.run.in_flight.iter().any(is_once_only) {
            self.end_all_but(&desired::desired_work(&next.world, &next.session, 0));
        }
    }

    fn arrive(&mut self, next: Transition) {
        self.world = next.world;
        self.session = next.session;
        self.announce(&next.events);
    }

    /// Writes the next state, if the file is still the one that it was made from.
    fn commit(&mut self, next: &Transition) -> Result<CommitOutcome, Failure> {
        let known = Arc::clone(&self.loaded);
        let decide = |fresh: &LoadedState| -> Result<Option<CommitContent>, Stale> {
            if !fresh.is(&known) {
                return Err(Stale);
            }
            Ok(Some(CommitContent {
                state: next.world.state.clone(),
                touched: next.touched.clone(),
                at: next.at.clone(),
                events: next.events.clone(),
            }))
        };
        match self.host.store.commit(decide) {
            Ok(loaded) => Ok(CommitOutcome::Done(loaded)),
            Err(CommitError::Store(error @ StoreError::TooLarge { .. })) => {
                Ok(CommitOutcome::NoRoom(error.into()))
            }
            Err(CommitError::Decide(Stale)) => Ok(CommitOutcome::Changed),
            Err(CommitError::Store(error)) if error.is_about_content() || error.is_missing() => {
                Ok(CommitOutcome::Changed)
            }
            Err(CommitError::Store(error)) => Err(error.into()),
        }
    }
}

enum CommitOutcome {
    Done(Arc<LoadedState>),
    /// Another process wrote meanwhile, or the file cannot be read.
    Changed,
    /// The state would be too large.
    NoRoom(Failure),
}

/// The file is no longer the one that the step was made from.
#[derive(Debug)]
struct Stale;
