//! The executor of the loop's work, behind one seam: everything that touches trees, git and processes. Work that blocks is
//! done in a thread, which costs two wake-ups, and in place where it ends sooner.
//!
//! Invariant: the loop reaches the world only through its store, its clock, its signals and its [`Executor`]. Not here: which
//! work is desired (`desired`), and when.

use std::{
    collections::{BTreeMap, BTreeSet},
    future::Future,
    path::PathBuf,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use descent_core::{
    desired::Work,
    event::{Input, Leftovers, Outcome, Scope},
    id::{AttemptId, CommitId, Epoch, RunId},
    state::{Intent, StartedFrom, State, Usage},
    world::{Session, World},
};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::{Loop, agent_pool::Agents};
use descent_agent::agent::SessionRecord;
use descent_process::{Programs, environment::Environment};
use descent_store::{COMMIT_WAIT_MS, StatePlace, evidence::EvidenceStore};
use descent_system::{
    clock::{Clock, Stopwatch},
    failure::Failure,
    ports::PortBlocks,
};
use descent_workspace::{WorkspaceError, Workspaces};

pub(crate) type BoxedFuture<T> = Pin<Box<dyn Future<Output = Result<T, Failure>> + Send>>;

/// Gets the check that is measured now, and its scope; called from any thread.
pub type Measuring = Arc<dyn Fn(&Scope, &str) + Send + Sync>;

/// The start of a run, and messages for a person about how it was found.
pub(crate) type StartSnapshot = (Option<StartedFrom>, Vec<String>);

/// Results of an earlier run for this one.
#[derive(Debug, Default)]
pub struct RunLeftovers {
    pub left: Leftovers,
    /// The workspaces of the attempts that go on.
    pub slots: BTreeMap<AttemptId, usize>,
}

#[cfg(test)]
impl RunLeftovers {
    /// Without attempts that go on.
    pub fn new(finished: Vec<(AttemptId, Outcome)>, gone: BTreeSet<CommitId>) -> Self {
        let left = Leftovers { finished, gone, ..Leftovers::default() };
        Self { left, slots: BTreeMap::new() }
    }
}

/// The commits that are kept when a run is over.
#[derive(Debug)]
pub struct NeededCommits {
    pub commits: BTreeSet<CommitId>,
    /// Attempts whose changes a person may look at.
    pub shown: BTreeSet<AttemptId>,
}

pub trait Executor: Send + Sync {
    /// Ends what a killed loop left running. It is called before anything else; afterwards nobody
    /// writes any more.
    fn sweep(&self);
    /// Cuts off at once all work other than attempts and checks, such as git with a hanging filter.
    /// Its results are no longer wanted.
    fn cut_off(&self);
    /// Counts from now on the processes that end with their jobs.
    fn count_ended(&self);
    /// The number so far.
    fn ended(&self) -> u64;
    /// Finds what the run before left: finished attempts, and commits that the repository lost.
    fn resume(&self, state: &State) -> BoxedFuture<RunLeftovers>;
    /// The person's working tree as it is now.
    fn snapshot(&self) -> BoxedFuture<StartSnapshot>;
    /// Does one piece of desired work in that world; without a result if it was cancelled. Only one
    /// at a time uses a slot.
    fn perform(
        &self,
        world: &World,
        session: &Session,
        effect: Work,
        slot: usize,
        cancel: CancellationToken,
    ) -> BoxedFuture<Option<Input>>;
    /// Whether the attempt has ended, and its outcome is being recorded.
    fn is_recording(&self, _intent: &Intent) -> bool {
        false
    }
    /// Notes for a person on work that ended.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }
    /// Moves the result's ref to the head.
    fn follow(&self, head: CommitId) -> BoxedFuture<()>;
    /// Puts the result where a person can look at it, and releases all commits but the needed ones.
    fn deliver(&self, head: CommitId, needed: NeededCommits) -> BoxedFuture<()>;
    /// Saves the last bytes of a state file that vanished, and returns the path.
    fn save_state(&self, bytes: &[u8]) -> Result<PathBuf, Failure>;
}

/// The executor for this project's repository, on this machine: what each job of a run has. Clones share it.
#[derive(Clone)]
pub struct RealExecutor {
    pub place: StatePlace,
    pub run: RunId,
    pub workspaces: Workspaces,
    pub agents: Agents,
    pub environment: Environment,
    pub programs: Arc<dyn Programs>,
    pub clock: Arc<dyn Clock>,
    pub measuring: Measuring,
    pub usage: UsageReports,
    pub held: PendingOutcomes,
    /// The sessions of attempts that go on after a kill of the loop.
    pub sessions: Sessions,
    pub evidence: Arc<EvidenceStore>,
    /// The ports of its slots.
    pub ports: PortBlocks,
}

/// Outcomes that could not be written yet. Some may be of attempts that must happen only once, so
/// none is made again.
#[derive(Debug, Clone, Default)]
pub struct PendingOutcomes(Arc<Mutex<BTreeMap<(AttemptId, Epoch), Outcome>>>);

impl PendingOutcomes {
    fn all(&self) -> MutexGuard<'_, BTreeMap<(AttemptId, Epoch), Outcome>> {
        // Every change is one call, so a panic leaves nothing half done.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn put(&self, intent: &Intent, outcome: &Outcome) {
        self.all().insert((intent.id.clone(), intent.epoch), outcome.clone());
    }

    pub(super) fn get(&self, intent: &Intent) -> Option<Outcome> {
        self.all().get(&(intent.id.clone(), intent.epoch)).cloned()
    }

    pub(super) fn drop(&self, intent: &Intent) {
        self.all().remove(&(intent.id.clone(), intent.epoch));
    }
}

/// The sessions of attempts that go on after a kill of the loop. Each is given out once: one that does not go on begins
/// anew.
#[derive(Debug, Clone, Default)]
pub struct Sessions(Arc<Mutex<BTreeMap<AttemptId, SessionRecord>>>);

impl Sessions {
    pub(super) fn fill(&self, sessions: BTreeMap<AttemptId, SessionRecord>) {
        // Every change is one assignment or one removal.
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = sessions;
    }

    pub(super) fn take(&self, attempt: &AttemptId) -> Option<SessionRecord> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(attempt)
    }
}

/// Usage that attempts report while they run, on its way to the loop. The newest report of an attempt alone waits.
#[derive(Debug, Clone, Default)]
pub struct UsageReports {
    newest: Arc<Mutex<BTreeMap<(AttemptId, Epoch), Usage>>>,
    has_news: Arc<Notify>,
}

impl UsageReports {
    /// All that the attempt used up to now.
    pub fn report(&self, intent: &Intent, usage: Usage) {
        let mut newest = self.newest.lock().unwrap_or_else(PoisonError::into_inner);
        newest.insert((intent.id.clone(), intent.epoch), usage);
        self.has_news.notify_one();
    }

    /// The reports since they were taken last, when there are any.
    pub(super) async fn next(&self) -> Vec<Input> {
        self.has_news.notified().await;
        let mut newest = self.newest.lock().unwrap_or_else(PoisonError::into_inner);
        let reports = std::mem::take(&mut *newest).into_iter();
        let input = |((attempt, epoch), usage)| Input::Used { attempt, epoch, usage };
        reports.map(input).collect()
    }
}

/// How often a lock that another process holds is tried again.
const TRY_AGAIN: Duration = Duration::from_millis(5);

impl Loop<'_> {
    /// Waits until nobody else commits. Meanwhile work goes on, and work that was cancelled ends.
    pub(super) async fn wait_for_lock(&mut self) -> Result<(), Failure> {
        if self.leaving > 0 {
            tokio::task::yield_now().await;
        }
        let waited = Stopwatch::start(Arc::clone(&self.host.clock));
        while self.host.store.is_lock_taken() {
            if waited.passed_ms() >= COMMIT_WAIT_MS {
                return Err(self.host.store.lock_timeout().into());
            }
            self.host.clock.sleep(TRY_AGAIN).await;
        }
        Ok(())
    }
}

/// Runs blocking work without stopping the loop.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| Failure::bug(format!("a worker thread broke: {error}")))?
}

/// Runs work that takes long only where git keeps the trees. In `shared` it is done in place.
pub(super) async fn with_trees<T: Send + 'static>(
    workspaces: &Workspaces,
    work: impl FnOnce(&Workspaces) -> Result<T, WorkspaceError> + Send + 'static,
) -> Result<T, Failure> {
    if workspaces.trees().is_none() {
        return Ok(work(workspaces)?);
    }
    let theirs = workspaces.clone();
    blocking(move || Ok(work(&theirs)?)).await
}
