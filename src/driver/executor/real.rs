//! The one executor that touches the project's repository and this machine.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use descent_core::{
    desired::Work,
    event::Input,
    id::CommitId,
    state::State,
    world::{Session, World},
};
use tokio_util::sync::CancellationToken;

use super::{
    super::{blocking, resume, work},
    BoxedFuture, Executor, RealExecutor, RunLeftovers, SLOT, StartSnapshot,
};
use crate::{failure::Failure, files, process, workspace::WorkspaceError};

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
            let Some(trees) = workspaces.trees() else {
                return Ok(StartSnapshot::default());
            };
            Ok((Some(trees.start()?), trees.notes()))
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
        work::perform(self, world, session, effect, slot, cancel)
    }

    fn follow(&self, head: CommitId) -> BoxedFuture<()> {
        let workspaces = self.workspaces.clone();
        on_a_thread(move || {
            workspaces
                .trees()
                .map_or(Ok(()), |trees| trees.follow(&head))
        })
    }

    fn deliver(&self, head: CommitId, needed: BTreeSet<CommitId>) -> BoxedFuture<()> {
        let workspaces = self.workspaces.clone();
        on_a_thread(move || {
            let Some(trees) = workspaces.trees() else {
                return Ok(());
            };
            trees.follow(&head)?;
            trees.release(&needed)?;
            trees.deliver(&head).map(drop)
        })
    }

    fn save_state(&self, bytes: &[u8]) -> Result<PathBuf, Failure> {
        Ok(self.workspaces.save_state(bytes)?)
    }
}

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
