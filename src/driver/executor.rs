//! The executor of the loop's work, behind one seam: everything that touches trees, git and
//! processes.
//!
//! Invariant: the loop reaches the world only through its store, its clock, its signals and its
//! [`Executor`]. Not here: which work is desired (`desired`), and when.

mod real;

use std::{
    collections::{BTreeMap, BTreeSet},
    future::Future,
    path::PathBuf,
    pin::Pin,
    sync::Arc,
};

use descent_core::{
    desired::Work,
    event::{Input, Leftovers, Scope},
    id::{AttemptId, CommitId, RunId},
    state::{Intent, StartedFrom, State},
    world::{Session, World},
};
use tokio_util::sync::CancellationToken;

use super::{
    agents::Agents, pending_outcomes::PendingOutcomes, sessions::Sessions,
    usage_reports::UsageReports,
};
use crate::{
    agent::UnneededDirs,
    clock::Clock,
    evidence::EvidenceStore,
    failure::Failure,
    process::{Programs, environment::Environment},
    store::StatePlace,
    workspace::Workspaces,
};

pub type BoxedFuture<T> = Pin<Box<dyn Future<Output = Result<T, Failure>> + Send>>;

/// Gets the check that is measured now, and its scope; called from any thread.
pub type Measuring = Arc<dyn Fn(&Scope, &str) + Send + Sync>;

/// The start of a run, and messages for a person about how it was found.
pub type StartSnapshot = (Option<StartedFrom>, Vec<String>);

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
    pub fn new(
        finished: Vec<(AttemptId, descent_core::event::Outcome)>,
        gone: BTreeSet<CommitId>,
    ) -> Self {
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
    pub unneeded: UnneededDirs,
    /// The sessions of attempts that go on after a kill of the loop.
    pub sessions: Sessions,
    pub evidence: Arc<EvidenceStore>,
}
