//! Commits a text that a person changed on a copy, by a merge.
//!
//! Not here: the editor and the copy (`cli`), the merge and the consequences of a change (`descent_core`).

use std::{path::Path, sync::Arc};

use descent_core::{
    change,
    doc::Fault,
    state::{State, check::schemas, decode::decode},
};

use super::{ChangeError, Client, CommitReport, current::commit_on_current};
use descent_store::{self as store, LoadedState, Store, StoreError};
use descent_system::failure::Failure;

/// Why a text is refused.
#[derive(Debug)]
pub enum EditRefusal {
    /// The faults, with their places in the text.
    Invalid(Vec<Fault>),
    Unreadable(StoreError),
    /// It is valid by itself, but not together with later commits.
    Conflict(Vec<Fault>),
}

/// Reads a person's text, from the bytes of `path`; `None` if it is only formatted differently.
pub fn read(
    store: &Store,
    begun: &LoadedState,
    path: &Path,
    bytes: Vec<u8>,
) -> Result<Option<LoadedState>, EditRefusal> {
    let typed = match store.examine(path, bytes) {
        Ok(typed) => typed,
        Err(StoreError::Invalid { faults, .. }) => {
            let faults = faults.into_iter().map(|placed| placed.fault);
            return Err(EditRefusal::Invalid(faults.collect()));
        }
        Err(error) => return Err(EditRefusal::Unreadable(error)),
    };
    if !typed.is_foreign {
        return Ok(None);
    }
    // A text that no run would start from is refused, unless the state was so before.
    if begun.gate().is_empty() && !typed.gate().is_empty() {
        return Err(EditRefusal::Invalid(typed.gate().to_vec()));
    }
    let root = decode(typed.bytes()).root;
    let bad = root.map_or_else(Vec::new, |root| store::pattern_faults(&schemas(&root)));
    if !bad.is_empty() {
        return Err(EditRefusal::Invalid(bad));
    }
    Ok(Some(typed))
}

/// Commits a person's text on top of the commits since `begun`.
pub fn commit(
    client: &dyn Client,
    store: &mut Store,
    begun: &Arc<LoadedState>,
    typed: &State,
) -> Result<Result<CommitReport, EditRefusal>, Failure> {
    commit_on_current(client, store, Some(Arc::clone(begun)), |ours| {
        if ours.lineage != begun.state.lineage {
            return Err(ChangeError::Stale);
        }
        let merged = change::merge(Some(&begun.state), Some(ours), typed);
        // Two valid states can merge into an invalid one.
        let faults = change::faults_of(&merged.state, false);
        if !faults.is_empty() {
            return Err(ChangeError::Refused(EditRefusal::Conflict(faults)));
        }
        Ok(change::adopt(Some(ours), merged, &client.by(), client.now()))
    })
}
