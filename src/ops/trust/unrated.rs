//! Drops the ratings that another hand's state brought: the person's own judge is asked again.
//!
//! Not here: when a state is another's (`subject`).

use std::sync::Arc;

use descent_core::{
    change::{self, Adoption},
    event::Event,
};

use crate::{
    failure::Failure,
    ops::{Client, Progress},
    store::{CommitContent, CommitError, LoadedState, Store},
};

/// Drops them, tells it, and gives the state without them; `None` if another was saved meanwhile.
///
/// A save that is in no commit loses them when it is taken in: nothing beside it tells what it began from.
pub(super) fn drop_ratings(
    client: &dyn Client,
    store: &mut Store,
    loaded: Arc<LoadedState>,
) -> Result<Option<Arc<LoadedState>>, Failure> {
    if loaded.is_foreign {
        return Ok(Some(loaded));
    }
    let Some(adoption) = change::unrated(&loaded.state, &client.by(), client.now()) else {
        return Ok(Some(loaded));
    };
    let written = store.commit(|fresh| match fresh.is(&loaded) {
        true => Ok(Some(content(&adoption))),
        false => Err(()),
    });
    let written = match written {
        Ok(written) => written,
        Err(CommitError::Decide(())) => return Ok(None),
        Err(CommitError::Store(error)) => return Err(error.into()),
    };
    // A loop writes the journal itself.
    if !store.is_live() {
        store.write_journal();
    }
    for event in &adoption.events {
        if let Event::Corrected { what, .. } = event {
            client.tell(&Progress::Note(what.clone()));
        }
    }
    Ok(Some(written))
}

fn content(adoption: &Adoption) -> CommitContent {
    CommitContent {
        state: adoption.state.clone(),
        touched: adoption.touched.clone(),
        at: adoption.at.clone(),
        events: adoption.events.clone(),
    }
}
