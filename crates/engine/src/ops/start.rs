//! The start of a run: the one that a person names, whether their tree moved on since, and another one that takes it in.
//!
//! Not here: the consequences of another start (`descent_core::change`).

use descent_core::state::{StartedFrom, State, Workspace};

use super::Client;
use descent_store::StatePlace;
use descent_system::{
    failure::{Failure, exit, quoted},
    phrase,
};
use descent_workspace::{self as workspace, Workspaces, Worktrees};

/// The word for the working tree as it is.
pub(crate) const WORKING_TREE: &str = ".";

/// Paths named at most.
pub const NAMED_MAX: usize = 10;

/// Another start of a run, with what is another there.
#[derive(Debug, Clone)]
pub struct MovedStart {
    pub start: StartedFrom,
    /// The paths in which it differs from the start so far.
    pub paths: Vec<String>,
}

/// The commit that `--from` names; only a run that has not begun can start elsewhere.
pub fn first(state: &State, workspaces: &Workspaces, rev: &str) -> Result<StartedFrom, Failure> {
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
        let rev = quoted(rev);
        let hint = format!(
            "descent run goes on with it, and descent redirect --from {rev} moves it there; to begin anew: descent align --force -f PLAN (it archives this run), then descent run --from {rev}"
        );
        return Err(Failure::new("E-USAGE", exit::USAGE, what, hint));
    }
    let trees = workspaces.trees();
    let start = trees.map_or(Ok(None), |trees| trees.start_from(rev))?;
    start.ok_or_else(|| no_such_rev(rev))
}

pub fn no_such_rev(rev: &str) -> Failure {
    let what = format!("'{rev}' names no commit of this repository");
    let hint = "a commit, a tag or a branch, as `git log --oneline --all` shows them";
    Failure::new("E-USAGE", exit::USAGE, what, hint)
}

/// Tells the client if the files changed since the start, but for what was brought home. Looking is a help alone: if it
/// fails, nothing is told.
pub(crate) fn tell_moved(
    client: &dyn Client,
    place: &StatePlace,
    trees: &Worktrees,
    state: &State,
) {
    let run = &state.run;
    let (Some(start), Some(_)) = (&run.started_from, &run.head) else {
        return;
    };
    let applied = workspace::applied(place, &state.lineage);
    let results = run.result().into_iter().chain(&run.head).cloned();
    let results: Vec<_> = results.chain(applied).collect();
    match trees.moved_since(start, &results) {
        Ok(paths) if paths.is_empty() => {}
        Ok(paths) => client.tell(&format!(
            "your files changed since the start of this run: {} (descent redirect --from . takes them in)",
            phrase::line(&phrase::listed(&paths, NAMED_MAX))
        )),
        Err(error) => tracing::debug!(%error, "whether the files changed could not be told"),
    }
}

/// The start that a person names for a run that has begun. It is not kept yet ([`Worktrees::hold`]).
pub fn moved(
    client: &dyn Client,
    place: &StatePlace,
    state: &State,
    rev: &str,
) -> Result<MovedStart, Failure> {
    refuse_workspace(state.objective.constraints.workspace(), rev)?;
    let (Some(before), Some(_)) = (&state.run.started_from, &state.run.head) else {
        return Err(not_begun(rev));
    };
    let workspaces = Workspaces::of(place, state)?;
    let Some(trees) = workspaces.trees() else {
        return Err(not_begun(rev));
    };
    let start = if rev == WORKING_TREE {
        if trees.git().is_amid_something() {
            let what =
                "a merge, a rebase or a bisect is under way, and its files are half of two trees";
            let hint = "end it (git status tells how), then the same again; or descent redirect --from HEAD";
            return Err(Failure::usage(what, hint));
        }
        let start = trees.snapshot()?;
        trees.notes().iter().for_each(|note| client.tell(note));
        start
    } else {
        trees.named(rev)?.ok_or_else(|| no_such_rev(rev))?
    };
    let paths = trees.paths_between(&before.tree, &start.tree)?;
    Ok(MovedStart { start, paths })
}

/// Keeps the objects of a start, before a state names it.
pub fn hold(place: &StatePlace, state: &State, start: &StartedFrom) -> Result<(), Failure> {
    let workspaces = Workspaces::of(place, state)?;
    workspaces.trees().map_or(Ok(()), |trees| Ok(trees.hold(start)?))
}

fn refuse_workspace(workspace: Workspace, rev: &str) -> Result<(), Failure> {
    match workspace {
        Workspace::Git => Ok(()),
        Workspace::Shadow if rev == WORKING_TREE => Ok(()),
        Workspace::Shadow => Err(Failure::usage(
            "a run starts from the files here: a private repository has no other commits",
            "descent redirect --from . takes in the files as they are",
        )),
        Workspace::Shared => Err(Failure::usage(
            "agents work in place here: your files are the result, and there is no start to move",
            "change the files; descent redirect --forget ID makes a result again",
        )),
    }
}

fn not_begun(rev: &str) -> Failure {
    let hint = match rev {
        WORKING_TREE => "descent run starts from the files as they are".to_owned(),
        rev => format!("descent run --from {}", quoted(rev)),
    };
    let what = "this run has not begun, so that there is no start to move";
    Failure::new("E-USAGE", exit::USAGE, what, hint)
}
