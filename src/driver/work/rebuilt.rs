//! The result made anew from its commits, and the tree of a choice that is tried beside it.
//!
//! Not here: when a result is made anew (the core).

use descent_core::{
    event::Input,
    id::{AtomId, CommitId},
    state::ResultCommit,
};

use crate::{
    driver::blocking::with_trees,
    failure::Failure,
    workspace::{self, Workspaces},
};

pub(super) async fn rebuild(
    workspaces: Workspaces,
    start: CommitId,
    from: CommitId,
    stays: Vec<ResultCommit>,
    keep: Vec<ResultCommit>,
) -> Result<Option<Input>, Failure> {
    let (head, rebuilt, dropped) = built(workspaces, "head".to_owned(), from, keep).await?;
    let line = stays.into_iter().chain(rebuilt).collect();
    Ok(Some(Input::Built {
        start,
        head,
        line,
        dropped,
    }))
}

/// Rebuilds a line of commits. A reference of that name keeps it before anything builds on it.
async fn built(
    workspaces: Workspaces,
    name: String,
    from: CommitId,
    keep: Vec<ResultCommit>,
) -> Result<workspace::RebuildResult, Failure> {
    let theirs = workspaces.clone();
    let built = with_trees(&theirs, move || {
        let Some(trees) = workspaces.trees() else {
            return Ok((from, keep, Vec::new()));
        };
        let built = trees.rebuild(&from, &keep)?;
        trees.keep(&name, &built.0, &from)?;
        Ok::<_, workspace::WorkspaceError>(built)
    });
    Ok(built.await??)
}

/// Merges like the result, but under a reference of its own, which keeps the base of whatever
/// builds on it.
pub(super) async fn stage(
    workspaces: Workspaces,
    speculation: (AtomId, AtomId),
    start: CommitId,
    wanted: Vec<ResultCommit>,
    from: CommitId,
    keep: Vec<ResultCommit>,
) -> Result<Option<Input>, Failure> {
    let name = format!("beside.{}", speculation.1);
    let (head, _, dropped) = built(workspaces, name, from, keep).await?;
    Ok(Some(Input::Staged {
        speculation,
        start,
        wanted,
        head,
        dropped,
    }))
}
