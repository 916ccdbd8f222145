//! Removes the leftovers of ended runs from the cache, from beside the state and from the repository.
//!
//! Invariant: of a lineage whose state is in place only trees go, under its lease. A result that was not applied is
//! removed only if a person says so. Not here: finding the leftovers (`workspace`).

use descent_store::{self as store, FileLock, StatePlace, Store};
use descent_system::failure::Failure;
use descent_workspace::{self as workspace, Leftover};

/// The leftovers that go, and those that stay.
#[derive(Debug)]
pub struct CleanReport {
    pub removed: Vec<Leftover>,
    /// Their results were not applied, or their states are nowhere else.
    pub kept: Vec<Leftover>,
    /// The size on the disk of all that goes.
    pub bytes: u64,
}

/// Removes the leftovers; a dry run only finds them. With `unapplied`, nothing stays.
pub fn clean(place: &StatePlace, unapplied: bool, is_dry: bool) -> Result<CleanReport, Failure> {
    let _lock = if is_dry { None } else { lock()? };
    let all = workspace::leftovers(place, workspace::cache_dir().as_deref())?;
    let goes = |one: &Leftover| unapplied || !(one.is_unapplied || one.saved_state.is_some());
    let (removed, kept): (Vec<Leftover>, Vec<Leftover>) = all.into_iter().partition(goes);
    if !is_dry {
        removed.iter().try_for_each(|one| remove(one, place))?;
    }
    let bytes = removed.iter().map(|one| one.bytes);
    Ok(CleanReport { bytes: bytes.fold(0, u64::saturating_add), removed, kept })
}

fn remove(one: &Leftover, place: &StatePlace) -> Result<(), Failure> {
    // No loop begins in trees that go.
    let standing = one.standing.clone().map(Store::open);
    let _lease = standing.map(|store| store.lease("clean")).transpose()?;
    Ok(one.remove(place)?)
}

/// Held while leftovers go, and while a lineage has workspaces but no state yet. `None` without a cache.
pub(super) fn lock() -> Result<Option<FileLock>, Failure> {
    let cache = workspace::cache_dir().filter(|dir| dir.is_dir());
    let file = cache.map(|dir| dir.join("leftovers.lock"));
    Ok(file.as_deref().map(store::exclusive).transpose()?)
}
