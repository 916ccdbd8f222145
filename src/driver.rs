//! The loop: observe, step, commit, start what is owed, end what is not. No decisions here.
//!
//! Invariant: no effect outside the cache happens before the state that records its intent is durable: effects are
//! started from `owed`, which is read off what was committed.

pub mod adopt;
mod disk_wait;
mod ending;
mod executor;
mod follow;
mod reconcile;
mod resume;
mod stall;
#[cfg(test)]
mod tests;
mod watch;
mod work;

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
    time::Duration,
};

use descent_core::{
    desired::{self, DesiredWork, WorkKey},
    event::{Event, Input, Observation},
    id::{AttemptId, RunId, Serial},
    state::{Intent, StartedFrom},
    step::{self, Refusal, Session, Transition, World},
    view::liveness::WaitsFor,
};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::{
    clock::{Clock, Stopwatch},
    failure::Failure,
    signal::{Signal, Signals},
    store::{CommitContent, CommitError, LoadedState, Store},
};

/// As many attempts as this loop makes side by side, whatever `max_parallel_agents` says.
const SLOTS_MAX: u32 = 64;
/// Events that may wait while the state file cannot be written.
const PENDING_MAX: usize = 10_000;
/// The slow poll beside the file events.
const POLL_MS: u64 = 1_000;

use executor::RunLeftovers;
pub use executor::{Executor, Measuring, RealExecutor};
pub use watch::Watch;
pub use work::{PendingOutcomes, ReadyCheckout, no_worker, prepare_checkout};

/// What a run needs of its surroundings.
pub struct LoopHost {
    pub store: Store,
    pub clock: Arc<dyn Clock>,
    pub signals: Signals,
    pub watch: Watch,
    pub executor: Arc<dyn Executor>,
    pub run: RunId,
    pub by: String,
    /// Where a run that has not begun starts, instead of from the person's working tree.
    pub from: Option<StartedFrom>,
}

/// Who looks on.
pub struct Observer<'e> {
    /// What happened.
    pub tell: &'e mut dyn FnMut(&Event),
    /// What else a person should know.
    pub say: &'e mut dyn FnMut(&str),
    /// What should be going on, at every turn of the loop.
    pub look: &'e mut dyn FnMut(&World, &DesiredWork, Option<WaitsFor>),
}

/// How a run ended: the state as it is, and the signal to die by, if one ended it.
#[derive(Debug)]
pub struct RunEnding {
    pub world: World,
    pub signal: Option<Signal>,
    /// The signal came before this run had begun, or after it was over: there is nothing of it to be shown.
    pub has_no_result: bool,
}

/// Something that runs.
struct RunningWork {
    cancel: CancellationToken,
    /// Tells it from an earlier one of the same key that was cancelled and has not ended yet.
    generation: u64,
}

/// What a finished effect sends.
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
    /// Cancelled effects that have not come to their end yet.
    leaving: usize,
    /// Effects begun so far.
    generations: u64,
    slots: BTreeMap<AttemptId, usize>,
    done: mpsc::UnboundedSender<FinishedWork>,
    inbox: mpsc::UnboundedReceiver<FinishedWork>,
    pending: VecDeque<Input>,
    /// What is wrong with the file, while the loop waits for it to be mended.
    waits_for_file: Option<Vec<String>>,
    room: disk_wait::DiskWait,
    watch_stamp: watch::Stamp,
    stopwatch: Stopwatch,
    eyes: Observer<'t>,
    signal: Option<Signal>,
    /// A signal that came while something else was waited for, and was not answered yet.
    early: Option<Signal>,
    /// Something of git's did not end in time when the end was asked for.
    is_cut_off: bool,
    followed: follow::Follower,
    /// The serial that the journal holds.
    remembered: Serial,
    rest: stall::StallDetector,
}

/// Runs until the run has ended. The caller holds the lease.
pub async fn run(
    host: LoopHost,
    loaded: Arc<LoadedState>,
    eyes: Observer<'_>,
) -> Result<RunEnding, Failure> {
    host.executor.sweep();
    let world = World::new(loaded.state.clone());
    let (done, inbox) = mpsc::unbounded_channel();
    let mut this = Loop {
        watch_stamp: watch::stamp(&host.store.place().state),
        stopwatch: Stopwatch::start(Arc::clone(&host.clock)),
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
        room: disk_wait::DiskWait::default(),
        eyes,
        signal: None,
        early: None,
        is_cut_off: false,
        followed: follow::Follower::default(),
        remembered: Serial(0),
        rest: stall::StallDetector::default(),
    };
    this.whole().await
}

impl Loop<'_> {
    async fn whole(&mut self) -> Result<RunEnding, Failure> {
        // An edit may begin from what this run begins from, wherever the journal went.
        self.host.store.remember();
        let mut result = self.go().await;
        let mut is_cut_off = self.is_cut_off;
        self.end_all().await;
        if result.is_ok() {
            self.host.store.remember();
            result = self.deliver().await;
            is_cut_off = self.is_cut_off;
        } else if self.host.store.is_gone() {
            // What else failed, failed for that; and nothing can be asked of a state that is not there.
            result = result.map_err(|failure| match failure.code {
                "E-STATE-VANISHED" => failure,
                _ => self.vanished(),
            });
        } else if let Some(moved) = self.directory_was_moved() {
            // The lineage's repository went with it.
            result = result.map_err(|_| moved);
        } else if let (Err(failure), None) = (&result, self.early) {
            self.stop_for(failure).await;
        }
        self.tell_rescued();
        self.ending(result, is_cut_off)
    }

    async fn go(&mut self) -> Result<(), Failure> {
        if self.host.watch.is_deaf() {
            (self.eyes.say)(
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
            let owed =
                desired::desired_work(&self.world, &self.session, self.stopwatch.passed_ms());
            let waits_for = self.waits_for(&owed);
            (self.eyes.look)(&self.world, &owed, waits_for);
            if owed.is_over && self.waits_for_file.is_none() {
                return Ok(());
            }
            self.reconcile(&owed)?;
            self.is_going_somewhere(&owed, waits_for)?;
            let sleep = Duration::from_millis(self.sleep_ms(&owed));
            tokio::select! {
                // The same order every time: what happens follows from what came, and from no chance.
                biased;
                signal = self.host.signals.next() => self.on_signal(signal).await?,
                done = self.inbox.recv() => {
                    let taken = self.take(done);
                    self.endure(taken)?;
                }
                () = self.host.watch.changed() => {
                    let looked = self.look_at_file().await;
                    self.endure(looked)?;
                }
                () = self.host.clock.sleep(sleep) => {
                    // A write through a memory map may change neither time nor length: the bytes are looked at.
                    self.watch_stamp = None;
                    let looked = self.look_around().await;
                    self.endure(looked)?;
                    self.pending.push_back(Input::Tick);
                }
            }
            // What arrived together is worked off together.
            while let Ok(done) = self.inbox.try_recv() {
                let taken = self.take(Some(done));
                self.endure(taken)?;
            }
        }
    }

    /// The first commit of a run: from here on nothing of an earlier one is in flight.
    async fn start(&mut self) -> Result<(), Failure> {
        let RunLeftovers { finished, gone } = self.find_what_was_left().await?;
        let from = match self.world.state.run.head {
            Some(_) => None,
            None if self.host.from.is_some() => self.host.from.take(),
            None => {
                let looking = self.host.executor.snapshot();
                let (start, notes) = self.patiently(looking).await?;
                notes.iter().for_each(|note| (self.eyes.say)(note));
                start
            }
        };
        let run = self.host.run.clone();
        self.observe(Input::Started {
            run,
            from,
            finished,
            gone,
        })
        .await?;
        Ok(())
    }

    async fn look_around(&mut self) -> Result<(), Failure> {
        self.look_at_file().await?;
        self.tend()
    }

    /// Small chores of the store while nothing happens.
    fn tend(&mut self) -> Result<(), Failure> {
        if self.waits_for_file.is_some() || self.room.is_lacking() {
            return Ok(());
        }
        self.host.store.tend(self.host.clock.now())?;
        if self.remembered != self.world.state.serial {
            self.remembered = self.world.state.serial;
            self.host.store.remember();
        }
        self.tell_rescued();
        Ok(())
    }

    /// An edit that came too late to be read, or whose commit is nowhere.
    fn tell_rescued(&mut self) {
        for path in self.host.store.newly_rescued() {
            (self.eyes.say)(&format!(
                "an edit that is in no commit was kept as {}",
                path.display()
            ));
        }
    }

    /// Why nothing new begins, if so.
    fn waits_for(&self, owed: &DesiredWork) -> Option<WaitsFor> {
        if self.waits_for_file.is_some() {
            return Some(WaitsFor::File);
        }
        if self.room.lacked().is_some() {
            return Some(WaitsFor::Disk);
        }
        let is_at_rest = owed.effects.is_empty() && self.running.is_empty() && !owed.is_over;
        is_at_rest.then_some(WaitsFor::Backoff)
    }

    /// An error where nothing will ever move this run.
    fn is_going_somewhere(
        &mut self,
        owed: &DesiredWork,
        waits_for: Option<WaitsFor>,
    ) -> Result<(), Failure> {
        let is_at_rest = waits_for == Some(WaitsFor::Backoff);
        self.rest.look(stall::LoopTurn {
            at: self.world.state.serial,
            has_work: !is_at_rest || self.leaving > 0 || !self.pending.is_empty(),
            wake_in_ms: owed.wake_in_ms,
        })
    }

    fn sleep_ms(&self, owed: &DesiredWork) -> u64 {
        let left_ms = self.room.left_ms().filter(|left_ms| *left_ms > 0);
        let wake_in_ms = left_ms.or(owed.wake_in_ms);
        wake_in_ms.unwrap_or(POLL_MS).clamp(1, POLL_MS)
    }

    fn take(&mut self, done: Option<FinishedWork>) -> Result<(), Failure> {
        let Some(done) = done else { return Ok(()) };
        let is_wanted = self
            .running
            .get(&done.key)
            .is_some_and(|running| running.generation == done.generation);
        if is_wanted {
            self.running.remove(&done.key);
        } else {
            self.leaving = self.leaving.saturating_sub(1);
            return Ok(());
        }
        if let Some(event) = done.result? {
            self.pending.push_back(event);
        }
        Ok(())
    }

    /// Takes in all that happened, unless the file cannot be written now.
    async fn work_off(&mut self) -> Result<(), Failure> {
        while self.waits_for_file.is_none() && !self.room.is_lacking() {
            let Some(event) = self.pending.pop_front() else {
                return Ok(());
            };
            let observed = self.observe(event.clone()).await;
            if !matches!(observed, Ok(true)) {
                self.pending.push_front(event);
            }
            observed?;
        }
        if self.pending.len() > PENDING_MAX {
            return Err(Failure::bug("too many events wait for the state file"));
        }
        Ok(())
    }

    /// Steps and commits; false when the file must be mended first.
    async fn observe(&mut self, event: Input) -> Result<bool, Failure> {
        let active_ms = self.stopwatch.lap_ms();
        let seen = Observation {
            now: self.host.clock.now(),
            active_ms,
            event,
        };
        loop {
            let next = match step::step(&self.world, &self.session, seen.clone()) {
                Ok(next) => next,
                Err(Refusal::MeasureRose { before, after }) => {
                    return Err(Failure::bug(Refusal::MeasureRose { before, after }));
                }
                Err(refusal @ (Refusal::NothingRuns | Refusal::AlreadyAsked)) => {
                    tracing::debug!(%refusal, "a request was not taken");
                    return Ok(true);
                }
            };
            if next.is_quiet {
                self.arrive(next);
                return Ok(true);
            }
            self.obey(&next);
            match self.commit(&next)? {
                CommitOutcome::Done(loaded) => {
                    self.loaded = loaded;
                    // Whose file a stamp taken now would be is not known: the next look reads it.
                    self.watch_stamp = None;
                    self.there_is_room();
                    self.arrive(next);
                    return Ok(true);
                }
                CommitOutcome::Changed => {
                    if !self.sync().await? {
                        return Ok(false);
                    }
                }
            }
        }
    }

    /// A stop that was asked for is not kept waiting by the disk: what it ends is ended now. Should the commit fail, or
    /// a crash come before it, what was ended stands in flight still, and is made again at no cost; so not where
    /// something may be made once only.
    fn obey(&mut self, next: &Transition) {
        let state = &self.world.state;
        let is_once_only = |intent: &Intent| intent.effect.is_once_only();
        if state.control.stop_requested && !state.run.in_flight.iter().any(is_once_only) {
            self.end_all_but(&desired::desired_work(&next.world, &next.session, 0));
        }
    }

    fn arrive(&mut self, next: Transition) {
        self.world = next.world;
        self.session = next.session;
        for notice in &next.notices {
            (self.eyes.tell)(notice);
        }
    }

    /// Writes the next state, if the file is the one that it was made from.
    fn commit(&mut self, next: &Transition) -> Result<CommitOutcome, Failure> {
        let known = Arc::clone(&self.loaded);
        let decide = |fresh: &LoadedState| -> Result<Option<CommitContent>, Stale> {
            if fresh.bytes != known.bytes {
                return Err(Stale);
            }
            Ok(Some(CommitContent {
                state: next.world.state.clone(),
                touched: next.touched.clone(),
            }))
        };
        match self.host.store.commit(decide) {
            Ok(loaded) => Ok(CommitOutcome::Done(loaded)),
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
    /// Somebody else wrote meanwhile, or the file cannot be read.
    Changed,
}

/// The file is not the one that the step was made from.
#[derive(Debug)]
struct Stale;

/// Runs blocking work beside the loop.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Failure> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|error| Failure::bug(format!("a worker thread broke: {error}")))
}
