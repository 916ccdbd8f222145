//! The executor of the loop's work, behind one seam: everything that touches trees, git and
//! processes.
//!
//! Invariant: the loop reaches the world only through its store, its clock, its signals and its
//! [`Executor`]. Not here: which work is desired (`desired`), and when.

use std::{
    collections::BTreeSet,
    future::Future,
    path::{Path, PathBuf},
    pin::Pin,
    sync::Arc,
};

use descent_core::{
    desired::Work,
    event::{Input, Outcome, Scope},
    id::{AttemptId, CommitId, RunId},
    state::{StartedFrom, State},
    world::{Session, World},
};
use tokio_util::sync::CancellationToken;

use super::{blocking, resume, work};
use crate::{
    clock::Clock,
    config::Config,
    evidence::EvidenceStore,
    failure::Failure,
    files,
    process::{self, Programs, environment::Environment},
    store::StatePlace,
    workspace::{WorkspaceError, Workspaces},
};

pub type BoxedFuture<T> = Pin<Box<dyn Future<Output = Result<T, Failure>> + Send>>;

/// Gets the check that is measured now, and its scope; called from any thread.
pub type Measuring = Arc<dyn Fn(&Scope, &str) + Send + Sync>;

/// The start of a run, and messages for a person about how it was found.
pub type StartSnapshot = (Option<StartedFrom>, Vec<String>);

/// What an earlier run left for this one.
#[derive(Debug, Default)]
pub struct RunLeftovers {
    /// Outcomes to be used as they are.
    pub finished: Vec<(AttemptId, Outcome)>,
    /// Commits that the state names and the repository has lost.
    pub gone: BTreeSet<CommitId>,
}

pub trait Executor: Send + Sync {
    /// Ends what a killed loop left running. It is called before anything else; afterwards nobody
    /// writes any more.
    fn sweep(&self);
    /// Cuts off at once all work other than attempts and checks, such as git with a hanging filter.
    /// Its results are no longer wanted.
    fn cut_off(&self);
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
    /// Moves the result's ref to the head.
    fn follow(&self, head: CommitId) -> BoxedFuture<()>;
    /// Puts the result where a person can look at it, and releases all commits but the needed ones.
    fn deliver(&self, head: CommitId, needed: BTreeSet<CommitId>) -> BoxedFuture<()>;
    /// Saves the last bytes of a state file that vanished, and returns the path.
    fn save_state(&self, bytes: &[u8]) -> Result<PathBuf, Failure>;
}

/// The executor for this project's repository, on this machine.
pub struct RealExecutor {
    pub place: StatePlace,
    pub run: RunId,
    pub workspaces: Workspaces,
    pub config: Config,
    pub environment: Environment,
    pub programs: Arc<dyn Programs>,
    pub clock: Arc<dyn Clock>,
    pub measuring: Measuring,
    pub held: super::work::PendingOutcomes,
    pub evidence: Arc<EvidenceStore>,
}

impl Executor for RealExecutor {
    fn sweep(&self) {
        let attempts = self.place.attempts();
        let records = started(&attempts);
        // The mark is of this state file and of no copy of it: an inode is not copied.
        for pid in process::sweep(&format!("{}/", self.place.mark()), &records) {
            tracing::info!(pid, "ended a process that an earlier run left");
        }
        process::own_tag::open_fork_server();
    }

    fn cut_off(&self) {
        self.programs.cut_off_tools();
    }

    fn resume(&self, state: &State) -> BoxedFuture<RunLeftovers> {
        resume::resume(self, state)
    }

    fn snapshot(&self) -> BoxedFuture<StartSnapshot> {
        let workspaces = self.workspaces.clone();
        on_a_thread(move || {
            let start = workspaces.start()?;
            Ok((start, workspaces.notes()))
        })
    }

    fn perform(
        &self,
        world: &World,
        session: &Session,
        effect: Work,
        slot: usize,
        cancel: CancellationToken,
    ) -> BoxedFuture<Option<Input>> {
        work::perform(self, (world, session), effect, slot, cancel)
    }

    fn follow(&self, head: CommitId) -> BoxedFuture<()> {
        let workspaces = self.workspaces.clone();
        on_a_thread(move || workspaces.follow(&head))
    }

    fn deliver(&self, head: CommitId, needed: BTreeSet<CommitId>) -> BoxedFuture<()> {
        let workspaces = self.workspaces.clone();
        on_a_thread(move || {
            workspaces.follow(&head)?;
            workspaces.release(&needed)?;
            workspaces.deliver(&head).map(drop)
        })
    }

    fn save_state(&self, bytes: &[u8]) -> Result<PathBuf, Failure> {
        Ok(self.workspaces.save_state(bytes)?)
    }
}

/// The record of a slot's processes. Since only one attempt at a time has the slot, a file for each
/// attempt is not needed. No attempt has such an id.
pub(super) fn note_of(place: &StatePlace, slot: usize) -> PathBuf {
    place.attempts().join(format!("{SLOT}{slot}.json"))
}

const SLOT: &str = "slot-";
/// Maximum size of a record of processes.
const NOTE_BYTES_MAX: u64 = 64 << 10;

/// The processes that an earlier loop recorded: one file per slot or, in an older version, per
/// attempt.
fn started(attempts: &Path) -> Vec<process::JobRecord> {
    let paths = files::entries(attempts).into_iter().map(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        match name.starts_with(SLOT) {
            true => path,
            false => path.join("started.json"),
        }
    });
    paths
        .filter_map(|path| files::read(&path, NOTE_BYTES_MAX).ok())
        .filter_map(|bytes| serde_json::from_slice(&bytes).ok())
        .collect()
}

fn on_a_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, WorkspaceError> + Send + 'static,
) -> BoxedFuture<T> {
    Box::pin(async move { Ok(blocking(work).await??) })
}
