//! The losses of another's state that is allowed: its sidecars are moved aside, and its ratings are dropped.
//!
//! Not here: the list of sidecars (`store`), and when a state is another's (`subject`).

use std::{path::PathBuf, sync::Arc};

use descent_core::{change, event::Event};

use super::{TrustQuestion, changed_meanwhile};
use crate::{
    failure::Failure,
    ops::{Client, Progress},
    store::{CommitContent, CommitError, LoadedState, Store},
};

/// Moves all sidecars: whoever made the state made these too.
pub(super) fn everything(client: &dyn Client, store: &mut Store) -> Result<(), Failure> {
    let sidecars = store.sidecars();
    set_aside(client, store, &sidecars)
}

/// Moves sidecars that came with commits. A live loop has taken in all that lies there.
pub(super) fn came_with_commits(
    client: &dyn Client,
    store: &mut Store,
    sidecars: &[PathBuf],
) -> Result<(), Failure> {
    if store.is_live() { Ok(()) } else { set_aside(client, store, sidecars) }
}

fn set_aside(client: &dyn Client, store: &mut Store, sidecars: &[PathBuf]) -> Result<(), Failure> {
    let at = client.now().rfc3339().replace([':', '-'], "");
    if let Some(aside) = store.set_aside(sidecars, &at)? {
        let home = store.place().dir.clone();
        client.tell(&Progress::MovedAside { names: aside.names, dir: aside.dir, home });
    }
    Ok(())
}

/// Drops the ratings, tells it, and gives the state without them: the person's own judge is asked again.
///
/// A save that is in no commit loses them when it is taken in: nothing beside it tells what it began from.
pub(super) fn unrated(
    client: &dyn Client,
    store: &mut Store,
    loaded: Arc<LoadedState>,
    question: &TrustQuestion,
) -> Result<Arc<LoadedState>, Failure> {
    if loaded.is_foreign {
        return Ok(loaded);
    }
    let Some(adoption) = change::unrated(&loaded.state, &client.by(), client.now()) else {
        return Ok(loaded);
    };
    let content = || CommitContent {
        state: adoption.state.clone(),
        touched: adoption.touched.clone(),
        at: adoption.at.clone(),
        events: adoption.events.clone(),
    };
    let written =
        store.commit(|fresh| if fresh.is(&loaded) { Ok(Some(content())) } else { Err(()) });
    let written = match written {
        Ok(written) => written,
        Err(CommitError::Decide(())) => return Err(changed_meanwhile(question)),
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
    Ok(written)
}
