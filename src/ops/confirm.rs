//! Records as a correction what only a person knows: whether an assertion holds, or an effect outside happened.

use std::sync::Arc;

use descent_core::{
    change::{self, Answer, Change, Resolution},
    id::{AttemptId, CommitId, TreeId},
    state::State,
    verdict::assertions::Assertion,
};

use super::{
    ChangeDenial, ChangeError, Client, CommitReport, commit_change, current, current::basis,
};
use crate::{
    failure::Failure,
    store::{LoadedState, Store},
    workspace::Workspaces,
};

/// A person's answer to an assertion.
#[derive(Debug)]
pub struct AnswerRequest<'a> {
    pub assertion: &'a Assertion,
    pub holds: bool,
    pub reason: Option<&'a str>,
}

/// Facts about the result that are read before the state is locked.
struct ResultBasis {
    result: Option<CommitId>,
    tree: Option<TreeId>,
}

/// Records an answer on the state that the client has read.
pub fn confirm(
    client: &dyn Client,
    store: &mut Store,
    loaded: Arc<LoadedState>,
    request: &AnswerRequest<'_>,
) -> Result<Result<CommitReport, ChangeDenial>, Failure> {
    let mut known = Some(loaded);
    commit_change(
        store,
        |store| {
            let state = &basis(&mut known, client, store)?.state;
            Ok(look_up(store, state, request.assertion)?)
        },
        |prepared, fresh| {
            if fresh.state.run.result() != prepared.result.as_ref() {
                return Err(ChangeError::Stale);
            }
            let answer = Answer {
                assertion: request.assertion,
                holds: request.holds,
                on: prepared.tree.as_ref(),
                reason: request.reason,
            };
            let change = [Change::Answer(&answer)];
            change::apply(&fresh.state, &change, &client.by(), client.now())
                .map_err(|refusal| ChangeDenial::on(&fresh.state, refusal))
        },
    )
}

/// Records whether the effect of an attempt happened.
pub fn resolve(
    client: &dyn Client,
    store: &mut Store,
    attempt: &AttemptId,
    resolution: Resolution<'_>,
) -> Result<Result<CommitReport, ChangeDenial>, Failure> {
    commit_change(
        store,
        |store| Ok(current(client, store)?),
        |_, fresh| {
            let change = [Change::Resolution(attempt, resolution)];
            change::apply(&fresh.state, &change, &client.by(), client.now())
                .map_err(|refusal| ChangeDenial::on(&fresh.state, refusal))
        },
    )
}

fn look_up(store: &Store, state: &State, assertion: &Assertion) -> Result<ResultBasis, Failure> {
    let result = state.run.result().cloned();
    let tree = if assertion.is_of_one_tree(state) {
        tree_of(store, state, result.as_ref())?
    } else {
        None
    };
    Ok(ResultBasis { result, tree })
}

/// The tree of the present result; before the first run the tree that it would start from.
fn tree_of(
    store: &Store,
    state: &State,
    head: Option<&CommitId>,
) -> Result<Option<TreeId>, Failure> {
    let constraints = &state.objective.constraints;
    let workspaces = Workspaces::open(store.place(), &state.lineage, constraints)?;
    match head {
        Some(head) => Ok(workspaces.tree_of(head)?),
        None => Ok(workspaces.snapshot()?.map(|start| start.tree)),
    }
}
