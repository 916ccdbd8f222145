//! What the loop has done for it, behind one seam: all that touches trees, git and processes.
//!
//! Invariant: the loop reaches the world through its store, its clock, its signals and its [`Hands`] alone.
//! Not here: what is to be done (`owed`), and when.

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
    step::{Session, World},
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

/// Told which check is measured now, and for whom; from whatever thread that happens on.
pub type Measuring = Arc<dyn Fn(&Scope, &str) + Send + Sync>;

/// Where a run starts, and what a person should know of how that was found.
pub type StartSnapshot = (Option<StartedFrom>, Vec<String>);

/// What a run finds of the one before it.
#[derive(Debug, Default)]
pub struct RunLeftovers {
    /// Outcomes to be taken as they are.
    pub finished: Vec<(AttemptId, Outcome)>,
    /// Commits that the state names and the repository has no more.
    pub gone: BTreeSet<CommitId>,
}

pub trait Executor: Send + Sync {
    /// What a killed loop left running is ended before anything else; then nobody writes any more.
    fn sweep(&self);
    /// Ends at once what is at work for other than attempts and checks (git, and a filter of it that hangs): its results
    /// are not wanted any more.
    fn cut_off(&self);
    /// What the run before left: attempts that came to their end, and what the repository lost of it.
    fn resume(&self, state: &State) -> BoxedFuture<RunLeftovers>;
    /// The person's working tree as it is now.
    fn snapshot(&self) -> BoxedFuture<StartSnapshot>;
    /// Carries out what is owed in that world; without an event when it was cancelled. One effect at a time uses a slot.
    fn perform(
        &self,
        world: &World,
        session: &Session,
        effect: Work,
        slot: usize,
        cancel: CancellationToken,
    ) -> BoxedFuture<Option<Input>>;
    /// Lets the result's ref follow the head.
    fn follow(&self, head: CommitId) -> BoxedFuture<()>;
    /// Puts the result where a person can look at it, and lets go of all commits but the needed ones.
    fn deliver(&self, head: CommitId, needed: BTreeSet<CommitId>) -> BoxedFuture<()>;
    /// Saves the last bytes of a state file that vanished; gives where.
    fn save_state(&self, bytes: &[u8]) -> Result<PathBuf, Failure>;
}

/// Hands in this project's repository and on this machine.
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
    pub shelf: Arc<EvidenceStore>,
}

impl Executor for RealExecutor {
    fn sweep(&self) {
        let attempts = self.place.attempts();
        let records = started(&attempts);
        // Of this state file, and of no copy of it: an inode is not copied.
        for pid in process::sweep(&format!("{}/", self.place.mark()), &records) {
            tracing::info!(pid, "ended a process that an earlier run left");
        }
        process::own_tag::open_nursery();
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

/// Where the processes of a slot are noted: a file for each attempt would be made and removed for nothing, since only one
/// at a time has the slot. No attempt has such an id.
pub(super) fn note_of(place: &StatePlace, slot: usize) -> PathBuf {
    place.attempts().join(format!("{SLOT}{slot}.json"))
}

const SLOT: &str = "slot-";
/// What a note of processes takes up at most.
const NOTE_BYTES_MAX: u64 = 64 << 10;

/// What an earlier loop noted of the processes that it started: a file a slot, and of an older version one an attempt.
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
