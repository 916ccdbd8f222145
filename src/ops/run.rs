//! The start of a run: its lease, its workspaces and its first commit, before the loop takes over.

use descent_core::state::{StartedFrom, State, Workspace};

use super::{Client, Progress, liveness, result::commit_missing};
use crate::{
    config::{self, Config},
    driver,
    failure::{Failure, exit},
    process::environment::Environment,
    store::{Lease, Store, StoreError},
    workspace::Workspaces,
};

/// Takes the lease. A hung loop keeps it: then the failure says which loop it is, and how to go on.
pub fn lease(store: &Store, state: &State) -> Result<Lease, Failure> {
    store.lease("run").map_err(|error| {
        let look = liveness::look(store, state.run.status);
        match error {
            StoreError::LeaseHeld { .. } if look.is_hung() => {
                look.failure("E-LEASE-HELD", "another loop works on this state; ")
            }
            error => error.into(),
        }
    })
}

/// Tells the client if a save by hand is less safe here than elsewhere.
pub fn check_mode(client: &dyn Client, store: &Store) -> Result<(), Failure> {
    match store.mode() {
        Ok(mode) if mode.is_degraded() => {
            let (name, meaning) = (mode.name(), mode.meaning());
            client.tell(&Progress::DegradedFileSystem { name, meaning });
        }
        Ok(_) => {}
        // The first commit will report it better; but a lock is awaited only once.
        Err(error @ StoreError::LockTimeout { .. }) => return Err(error.into()),
        Err(error) => tracing::debug!(%error, "the file system of the state could not be tried"),
    }
    Ok(())
}

/// The workspaces, with the start of the run.
pub fn open(client: &dyn Client, store: &Store, state: &State) -> Result<Workspaces, Failure> {
    let constraints = &state.objective.constraints;
    let workspaces = Workspaces::open(store.place(), &state.lineage, constraints)?;
    let Some(start) = &state.run.started_from else {
        return Ok(workspaces.begin()?);
    };
    let Some(trees) = workspaces.trees() else {
        return Ok(workspaces);
    };
    if let Some(words) = trees.move_in(start)? {
        client.tell(&Progress::MovedIn(words));
    }
    // Later commits can be made again; the start of the run cannot, except from the very same files.
    if !trees.start_is_there(start)? {
        if !trees.remake_start(start)? {
            return Err(commit_missing(&start.commit, constraints.workspace()));
        }
        client.tell(&Progress::StartRemade);
    }
    Ok(workspaces)
}

/// The commit that `--from` names; only a run that has not begun can start elsewhere.
pub fn start_from(
    state: &State,
    workspaces: &Workspaces,
    rev: &str,
) -> Result<StartedFrom, Failure> {
    let constraints = &state.objective.constraints;
    let other = match constraints.workspace() {
        Workspace::Git => None,
        Workspace::Shared => Some((
            "agents work in place here, so there is no other commit to start from",
            "git switch to it, then run without --from; or align with --set workspace=git",
        )),
        Workspace::Shadow => Some((
            "a run starts from the files here: a private repository has no other commits",
            "run without --from; or, in a repository, align with --set workspace=git",
        )),
    };
    if let Some((what, hint)) = other {
        return Err(Failure::usage(what, hint));
    }
    if let (Some(start), Some(_)) = (&state.run.started_from, &state.run.head) {
        let short: String = start.commit.as_str().chars().take(12).collect();
        let what = format!("this run has begun already, from {short}");
        let hint = "descent run goes on with it; to begin anew elsewhere: descent align --force -f PLAN (it archives this run), then descent run --from REV";
        return Err(Failure::new("E-BEGUN", exit::USAGE, what, hint));
    }
    let trees = workspaces.trees();
    let start = trees.map_or(Ok(None), |trees| trees.start_from(rev))?;
    start.ok_or_else(|| no_such_rev(rev))
}

pub fn no_such_rev(rev: &str) -> Failure {
    let what = format!("'{rev}' names no commit of this repository");
    let hint = "a commit, a tag or a branch, as `git log --oneline --all` shows them";
    Failure::new("E-NO-SUCH-REV", exit::USAGE, what, hint)
}

/// Reports problems that would make every attempt fail before the first one starts.
pub fn check_worker(
    state: &State,
    config: &Config,
    environment: &Environment,
) -> Result<(), Failure> {
    let needs_worker = state
        .atoms
        .values()
        .any(|atom| atom.task().is_some_and(|task| task.spec.action.is_none()));
    if !needs_worker {
        return Ok(());
    }
    let Some(worker) = &config.worker else {
        return Err(driver::no_worker());
    };
    let path = environment
        .vars
        .iter()
        .find(|(name, _)| name == "PATH")
        .map(|(_, path)| path.clone())
        .unwrap_or_default();
    match config::missing_program(&worker.run, &path) {
        None => Ok(()),
        Some(program) => {
            let hint = format!("install {program}, or name another worker in descent.toml");
            let message = format!("the worker `{program}` of descent.toml is not installed");
            Err(Failure::new(
                "E-WORKER-MISSING",
                exit::UNAVAILABLE,
                message,
                hint,
            ))
        }
    }
}
