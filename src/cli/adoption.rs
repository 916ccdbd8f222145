//! The state without an edit that nobody took in yet: what a command writes must not be written over one.
//!
//! A running loop takes its edits in itself, so it is waited for; what keeps it from that is said. Not here: what the
//! commands write.

use std::{sync::Arc, time::Duration};

use descent_core::state::RunStatus;

use super::{context::Context, liveness, trust};
use crate::{
    config::Config,
    failure::{Failure, quoted},
    store::{LoadedState, Store, StoreError},
};

/// Between two tries, while the loop takes in an edit or moves on.
const AGAIN_MS: u64 = 20;
pub(super) const AGAIN_TIMES: u32 = 250;
/// Tries between two looks at what the loop does.
const LOOK_TIMES: u32 = 25;

/// What is written on it becomes our own file: another hand's state must not become so unseen. So it is asked about as
/// it stands, and as it is taken in.
pub(super) fn settled(
    context: &Context,
    store: &mut Store,
    config: Option<&Config>,
) -> Result<Arc<LoadedState>, Failure> {
    let stands = trust::gate(context, store, config)?;
    tell_earlier(context, store, &stands)?;
    let settled = adopted(context, store)?;
    trust::gate_adopted(context, store, &settled.state, config)?;
    Ok(settled)
}

fn adopted(context: &Context, store: &mut Store) -> Result<Arc<LoadedState>, Failure> {
    if let Some(loaded) = taken_in(store)? {
        return Ok(loaded);
    }
    let lease = store.lease("taking in an edit")?;
    let loaded = store.read()?;
    let settled = match loaded.is_foreign {
        true => context.adopt_edit(store, loaded),
        false => Ok(loaded),
    };
    drop(lease);
    settled
}

/// An older agreement that has the name again goes on; what stood there since is kept, and a person is told.
pub(super) fn tell_earlier(
    context: &Context,
    store: &Store,
    loaded: &LoadedState,
) -> Result<(), Failure> {
    let Some(kept) = store.keep_what_replaced(&loaded.state)? else {
        return Ok(());
    };
    let (from, to) = (quoted(&kept), quoted(&store.place().state));
    context.out.say(&format!(
        "this is the state of an earlier agreement again; the one that replaced it is kept: cp {from} {to} brings it back"
    ));
    Ok(())
}

/// Waits until a running loop has taken in what was saved; `None`: something was, and no loop is there to do so.
pub(super) fn taken_in(store: &mut Store) -> Result<Option<Arc<LoadedState>>, Failure> {
    for again in 1..=AGAIN_TIMES {
        let loaded = store.read()?;
        if !loaded.is_foreign {
            return Ok(Some(loaded));
        }
        if !store.is_live() {
            return Ok(None);
        }
        if again.is_multiple_of(LOOK_TIMES) {
            liveness::look(store, RunStatus::Running).goes_on("nothing is written yet: ")?;
        }
        std::thread::sleep(Duration::from_millis(AGAIN_MS));
    }
    Err(restless(store))
}

/// A file that did not come to rest; or one that the loop does not take in as it is, and has said why.
pub(super) fn restless(store: &Store) -> Failure {
    let waiting = liveness::look(store, RunStatus::Running).refuses_the_file();
    waiting.unwrap_or_else(|| {
        let path = store.place().state.clone();
        StoreError::Restless { path }.into()
    })
}
