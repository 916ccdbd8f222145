//! Moves files beside another's state aside, and tells the person.
//!
//! Not here: the list of sidecars (`store`), and when a state is another's (`subject`).

use std::path::PathBuf;

use crate::{
    failure::Failure,
    ops::{Client, Progress},
    store::Store,
};

/// Why files are moved aside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AsideReason {
    CameWithState,
    /// Somebody else committed them.
    Committed,
}

/// Moves all sidecars: whoever made the state made these too.
pub(super) fn everything(client: &dyn Client, store: &mut Store) -> Result<(), Failure> {
    let sidecars = store.sidecars();
    set_aside(client, store, &sidecars, AsideReason::CameWithState)
}

/// Moves sidecars that came with commits. A live loop has taken in all that lies there.
pub(super) fn came_with_commits(
    client: &dyn Client,
    store: &mut Store,
    sidecars: &[PathBuf],
) -> Result<(), Failure> {
    match store.is_live() {
        true => Ok(()),
        false => set_aside(client, store, sidecars, AsideReason::Committed),
    }
}

fn set_aside(
    client: &dyn Client,
    store: &mut Store,
    sidecars: &[PathBuf],
    reason: AsideReason,
) -> Result<(), Failure> {
    let at = client.now().rfc3339().replace([':', '-'], "");
    if let Some(aside) = store.set_aside(sidecars, &at)? {
        let home = store.place().dir.clone();
        client.tell(&Progress::MovedAside { reason, names: aside.names, dir: aside.dir, home });
    }
    Ok(())
}
