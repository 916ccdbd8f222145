//! The one executor that touches the project's repository and this machine.

use std::path::PathBuf;

use descent_core::{
    desired::Work,
    event::Input,
    id::CommitId,
    state::{Intent, State},
    world::{Session, World},
};
use tokio_util::sync::CancellationToken;

use super::{
    super::{blocking::with_trees, leftovers, resume, work},
    BoxedFuture, Executor, NeededCommits, RealExecutor, RunLeftovers, StartSnapshot,
};
use crate::{
    failure::Failure,
    process::{self, ended},
    workspace::{WorkspaceError, Workspaces, Worktrees},
};

impl Executor for RealExecutor {
    fn sweep(&self) {
        for pid in leftovers::end_leftovers(&self.place) {
            tracing::info!(pid, "ended a process that an earlier run left");
        }
        process::own_tag::open_fork_server();
    }

    fn cut_off(&self) {
        self.programs.cut_off_tools();
    }

    fn count_ended(&self) {
        ended::begin();
    }

    fn ended(&self) -> u64 {
        ended::count()
    }

    fn resume(&self, state: &State) -> BoxedFuture<RunLeftovers> {
        resume::resume(self, state)
    }

    fn snapshot(&self) -> BoxedFuture<StartSnapshot> {
        on_trees(&self.workspaces, |workspaces| {
            let Some(trees) = workspaces.trees() else {
                return Ok(StartSnapshot::default());
            };
            Ok((Some(trees.start()?), trees.take_notes()))
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
        let workspaces = self.workspaces.clone();
        let work = work::perform(self, world, session, effect, slot, cancel);
        Box::pin(async move { of_work(&workspaces, work.await) })
    }

    fn is_recording(&self, intent: &Intent) -> bool {
        self.held.holds(intent)
    }

    fn notes(&self) -> Vec<String> {
        let trees = self.workspaces.trees();
        trees.map_or_else(Vec::new, Worktrees::take_notes)
    }

    fn follow(&self, head: CommitId) -> BoxedFuture<()> {
        on_trees(&self.workspaces, move |workspaces| {
            let trees = workspaces.trees();
            trees.map_or(Ok(()), |trees| trees.follow(&head))
        })
    }

    fn deliver(&self, head: CommitId, needed: NeededCommits) -> BoxedFuture<()> {
        on_trees(&self.workspaces, move |workspaces| {
            let Some(trees) = workspaces.trees() else {
                return Ok(());
            };
            trees.follow(&head)?;
            trees.release(&needed.commits, &needed.shown)?;
            trees.deliver(&head).map(drop)
        })
    }

    fn save_state(&self, bytes: &[u8]) -> Result<PathBuf, Failure> {
        Ok(self.workspaces.save_state(bytes)?)
    }
}

/// The result of work, unless a place is missing that it needs.
fn of_work(
    workspaces: &Workspaces,
    done: Result<Option<Input>, Failure>,
) -> Result<Option<Input>, Failure> {
    match done {
        Ok(Some(Input::Judged { .. })) => match workspaces.missing() {
            Some(missing) => Err(missing.into()),
            None => done,
        },
        done => of_trees(workspaces, done),
    }
}

/// The missing place that explains a failure without a cause, if there is one.
fn of_trees<T>(workspaces: &Workspaces, done: Result<T, Failure>) -> Result<T, Failure> {
    done.map_err(|failure| match failure.cause {
        None => workspaces.missing().map_or(failure, Failure::from),
        Some(_) => failure,
    })
}

fn on_trees<T: Send + 'static>(
    workspaces: &Workspaces,
    work: impl FnOnce(&Workspaces) -> Result<T, WorkspaceError> + Send + 'static,
) -> BoxedFuture<T> {
    let workspaces = workspaces.clone();
    Box::pin(async move {
        let theirs = workspaces.clone();
        let done = with_trees(&workspaces, move || work(&theirs)).await?;
        of_trees(&workspaces, done.map_err(Failure::from))
    })
}
