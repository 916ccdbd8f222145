//! Returns to an earlier state, as a new commit.

use std::sync::Arc;

use descent_core::{
    change::{self, Adoption, Change, ChangeRefusal, EarlierState},
    event::Event,
    id::{AtomId, CommitId},
    state::State,
};

use super::{
    ChangeError, Client, Progress, commit_change,
    current::{basis, restless, with_usage},
};
use crate::{
    failure::Failure,
    store::{LoadedState, Store},
    workspace::Workspaces,
};

/// The result of an undo, or of a dry run.
#[derive(Debug)]
pub struct UndoReport {
    pub state: State,
    pub what: String,
    pub effects: Vec<String>,
}

/// Nothing changes. The effects of these atoms, if any, are outside of the tree and not taken back.
#[derive(Debug)]
pub struct NothingToUndo(pub Vec<AtomId>);

type UndoOutcome = Result<UndoReport, NothingToUndo>;

/// Plans the undo; nothing is written.
pub fn plan(
    client: &dyn Client,
    store: &Store,
    now: &State,
    then: &State,
) -> Result<UndoOutcome, Failure> {
    let workspaces = Workspaces::open(store.place(), &now.lineage, &then.objective.constraints)?;
    match adopt(client, &workspaces, now, then) {
        Ok(adopted) => Ok(Ok(UndoReport {
            what: what(&adopted.events),
            effects: adopted.effects,
            state: adopted.state,
        })),
        Err(ChangeError::Refused(nothing)) => Ok(Err(nothing)),
        Err(ChangeError::Failed(failure)) => Err(failure),
        Err(ChangeError::Stale) => Err(restless(store)),
    }
}

/// Undoes, on top of whatever a loop has committed meanwhile. The result's files follow, unless a loop updates them.
pub fn undo(
    client: &dyn Client,
    store: &mut Store,
    loaded: Arc<LoadedState>,
    then: &State,
) -> Result<UndoOutcome, Failure> {
    let workspaces = Workspaces::open(store.place(), &then.lineage, &then.objective.constraints)?;
    let (place, mut known) = (store.place().clone(), Some(loaded));
    let committed = commit_change(
        store,
        |store| Ok(basis(&mut known, client, store)?),
        |_, fresh| {
            if fresh.state.lineage != then.lineage {
                return Err(ChangeError::Stale);
            }
            let fresh = with_usage(&place, &fresh.state);
            adopt(client, &workspaces, &fresh, then)
        },
    )?;
    let committed = match committed {
        Ok(committed) => committed,
        Err(nothing) => return Ok(Err(nothing)),
    };
    if !store.is_live() {
        update_result(client, store, &committed.loaded.state);
    }
    Ok(Ok(UndoReport {
        what: what(&committed.events),
        effects: committed.effects,
        state: committed.loaded.state.clone(),
    }))
}

fn adopt(
    client: &dyn Client,
    workspaces: &Workspaces,
    now: &State,
    then: &State,
) -> Result<Adoption, ChangeError<NothingToUndo>> {
    let earlier = EarlierState {
        state: then,
        has_commit: &|commit: &CommitId| workspaces.head_is_there(commit).unwrap_or(false),
    };
    let change = [Change::Undo(&earlier)];
    change::apply(now, &change, &client.by(), client.now()).map_err(|refusal| match refusal {
        ChangeRefusal::NothingToUndo(outside) => ChangeError::Refused(NothingToUndo(outside)),
        refusal => ChangeError::Failed(Failure::bug(refusal)),
    })
}

fn what(events: &[Event]) -> String {
    let corrected = events.iter().find_map(|event| {
        let Event::Corrected { what, .. } = event else {
            return None;
        };
        Some(what.clone())
    });
    corrected.unwrap_or_default()
}

/// Updates the result's ref and its worktree, as a run leaves them. The state is the truth: the next run mends failures
/// here.
fn update_result(client: &dyn Client, store: &Store, state: &State) {
    let (Some(head), place) = (&state.run.head, store.place()) else {
        return;
    };
    let constraints = &state.objective.constraints;
    let updated = Workspaces::open(place, &state.lineage, constraints).and_then(|workspaces| {
        let Some(trees) = workspaces.trees() else {
            return Ok(());
        };
        trees.follow(head)?;
        trees.deliver(head).map(drop)
    });
    if let Err(error) = updated {
        let error = error.to_string();
        client.tell(&Progress::ResultNotUpdated { error });
    }
}
