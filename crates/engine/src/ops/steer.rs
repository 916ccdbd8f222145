//! A person's word about a part of a run: guidance, a skip or a retry of atoms, an answer to an assertion, whether an effect
//! happened. The loop goes on with everything else. Constraints before a run begins are changed here too.

use std::sync::Arc;

use descent_core::{
    change::{self, Answer, Change, ChangeRefusal, ConstraintChange, Resolution, Steering},
    id::{AtomId, AttemptId, TreeId},
    state::State,
    verdict::assertions::Assertion,
};

use super::{
    ChangeError, Client, CommitReport, adopt_edit, announce, commit_change,
    current::{basis, commit_on_current, faulty},
    redirect, trust,
};
use descent_store::{LoadedState, Store};
use descent_system::failure::Failure;
use descent_workspace::Workspaces;

/// An instruction, its atoms and its reason.
#[derive(Debug)]
pub struct SteeringOrder<'a> {
    pub steering: Steering<'a>,
    pub atoms: Vec<AtomId>,
    pub reason: Option<&'a str>,
}

/// Carries the instruction out on top of whatever a loop has committed meanwhile; `None` where it stands already.
pub fn steer(
    client: &dyn Client,
    store: &mut Store,
    order: &SteeringOrder<'_>,
) -> Result<Option<CommitReport>, Failure> {
    let committed = commit_on_current(client, store, None, |state| {
        let (steering, atoms) = (order.steering, order.atoms.as_slice());
        let (by, now) = (client.by(), client.now());
        Ok(change::steer(state, steering, atoms, order.reason, &by, now)?)
    })?;
    match committed {
        Err(ChangeRefusal::NoDifference) => Ok(None),
        committed => committed.map(Some).map_err(refused),
    }
}

fn refused(refusal: ChangeRefusal) -> Failure {
    let hint = match &refusal {
        ChangeRefusal::Invalid(faults) => {
            let hint = "mend what is named, then try again; nothing was written";
            return faulty("this has", faults, hint);
        }
        ChangeRefusal::NobodyAsks(failed) if failed.is_empty() => {
            "name the atoms: descent guide TEXT --for ATOM; descent graph lists them".to_owned()
        }
        ChangeRefusal::NobodyAsks(failed) => {
            let ids: Vec<&str> = failed.iter().map(AtomId::as_str).collect();
            let (all, each) = (ids.join(", "), ids.join(" --for "));
            format!("these failed: {all}; descent guide TEXT --for {each}")
        }
        _ => return Failure::bug(refusal),
    };
    Failure::usage(refusal, hint)
}

/// Records whether the effect of an attempt happened.
pub fn resolve(
    client: &dyn Client,
    store: &mut Store,
    attempt: &AttemptId,
    resolution: Resolution<'_>,
) -> Result<Result<CommitReport, ChangeRefusal>, Failure> {
    commit_on_current(client, store, None, |state| {
        Ok(change::resolve(state, attempt, resolution, &client.by(), client.now())?)
    })
}

/// Records an answer on the state that the client has read, and on its tree if it is about one.
pub fn confirm(
    client: &dyn Client,
    store: &mut Store,
    loaded: Arc<LoadedState>,
    answer: &Answer<'_>,
) -> Result<Result<CommitReport, ChangeRefusal>, Failure> {
    let mut known = Some(loaded);
    commit_change(
        store,
        |store| {
            let state = &basis(&mut known, client, store)?.state;
            // The tree is read before the state is locked.
            let on = tree_of(store, state, answer.assertion)?;
            Ok((state.run.result().cloned(), on))
        },
        |(result, on), fresh| {
            if fresh.state.run.result() != result.as_ref() {
                return Err(ChangeError::Stale);
            }
            let answer = Answer { on: on.as_ref(), ..*answer };
            Ok(change::answer(&fresh.state, &answer, &client.by(), client.now())?)
        },
    )
}

/// The tree that an answer is about: that of the present result, or before the first run the one that it would start from.
fn tree_of(store: &Store, state: &State, assertion: &Assertion) -> Result<Option<TreeId>, Failure> {
    if !assertion.is_of_one_tree(state) {
        return Ok(None);
    }
    let workspaces = Workspaces::of(store.place(), state)?;
    match state.run.result() {
        Some(head) => Ok(workspaces.tree_of(head)?),
        None => Ok(workspaces.snapshot()?.map(|start| start.tree)),
    }
}

/// The state with the changes. The caller holds the lease.
pub fn limit(
    client: &dyn Client,
    store: &mut Store,
    loaded: Arc<LoadedState>,
    changes: &[ConstraintChange],
) -> Result<Arc<LoadedState>, Failure> {
    let mut known = Some(loaded);
    let committed = commit_change(
        store,
        |store| match known.take() {
            Some(loaded) => Ok(loaded),
            None => {
                let edited = store.read().map_err(Failure::from)?;
                Ok(adopt_under_lease(client, store, edited)?)
            }
        },
        |_, fresh| {
            let change = Change::of_constraints(&fresh.state, changes)?;
            Ok(change::apply(&fresh.state, change, &client.by(), client.now())?)
        },
    )?;
    match committed {
        Ok(report) => {
            announce(client, &report.events, report.loaded.state.serial);
            Ok(report.loaded)
        }
        Err(refusal) => {
            redirect::unless_it_stands(refusal)?;
            Ok(store.read()?)
        }
    }
}

/// Adopts an edit and checks trust before and after, since this state will run.
pub(crate) fn adopt_under_lease(
    client: &dyn Client,
    store: &mut Store,
    loaded: Arc<LoadedState>,
) -> Result<Arc<LoadedState>, Failure> {
    trust::gate_adopted(client, store, &loaded)?;
    let adopted = adopt_edit(client, store, Arc::clone(&loaded))?;
    if !Arc::ptr_eq(&loaded, &adopted) && !trust::follows(&loaded, &adopted) {
        trust::gate_adopted(client, store, &adopted)?;
    }
    Ok(adopted)
}
