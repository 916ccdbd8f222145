//! A person's changes of constraints before a run begins: a correction of its own.

use std::sync::Arc;

use descent_core::change::{self, Change, ChangeRefusal, ConstraintChange};

use super::{ChangeError, Client, adopt_edit, announce, commit_change, trust};
use crate::{
    failure::Failure,
    store::{LoadedState, Store},
};

/// The state with the changes. The caller holds the lease.
pub fn change(
    client: &dyn Client,
    store: &mut Store,
    loaded: Arc<LoadedState>,
    changes: &[ConstraintChange],
) -> Result<Arc<LoadedState>, Failure> {
    let mut known = Some(loaded);
    let changes = changes.iter().cloned().map(Change::Constraint);
    let changes: Vec<Change<'_>> = changes.collect();
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
            change::apply(&fresh.state, &changes, &client.by(), client.now())
                .map_err(ChangeError::Refused)
        },
    )?;
    match committed {
        Ok(report) => {
            announce(client, &report.events, report.loaded.state.serial);
            Ok(report.loaded)
        }
        Err(ChangeRefusal::NoDifference) => Ok(store.read()?),
        Err(ChangeRefusal::WorkspaceIsFixed) => {
            let hint = "align --force --set workspace=… archives this run and begins anew";
            Err(Failure::usage(ChangeRefusal::WorkspaceIsFixed, hint))
        }
        Err(refusal) => Err(Failure::bug(refusal)),
    }
}

/// Adopts an edit and checks trust before and after, since this state will run.
pub fn adopt_under_lease(
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
