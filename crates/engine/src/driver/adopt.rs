//! Turns a person's edit of the file into a commit with a correction: the only way, with a loop and
//! without.
//!
//! Not here: what an edit means (`descent_core::change`), when to look (`follow`).

use std::sync::Arc;

use descent_core::{
    change::{self, Adoption, MergeOutcome},
    event::Event,
    id::UnixMillis,
    state::State,
};

use descent_store::{CommitContent, CommitError, LoadedState, Store, StoreError};

/// How many saves may come between finding the base of an edit and adopting it.
const RACES_MAX: u32 = 16;

/// Why a file's content was not adopted.
#[derive(Debug)]
pub enum AdoptionRefusal {
    /// It is the state of another lineage.
    OtherLineage,
    Store(StoreError),
}

impl From<StoreError> for AdoptionRefusal {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// Why the decision must be repeated.
enum Again {
    /// The edit is not the one whose base was found.
    Raced,
    OtherLineage,
}

/// Adopts a person's save; does nothing if the file is as committed.
///
/// `ours` is the newest committed state, if the caller has it; otherwise the newest that is kept.
pub fn adopt(
    store: &mut Store,
    ours: Option<&State>,
    by: &str,
    now: UnixMillis,
) -> Result<(Arc<LoadedState>, Vec<Event>), AdoptionRefusal> {
    for _ in 0..RACES_MAX {
        let edited = store.read()?;
        let (base, kept) = sides(store, &edited.state, ours);
        match once(store, &edited.state, base.as_deref(), kept.as_deref().or(ours), by, now) {
            Ok(done) => return Ok(done),
            Err(CommitError::Decide(Again::Raced)) => {}
            Err(CommitError::Decide(Again::OtherLineage)) => {
                return Err(AdoptionRefusal::OtherLineage);
            }
            Err(CommitError::Store(error)) => return Err(error.into()),
        }
    }
    let path = store.place().state.clone();
    Err(StoreError::Restless { path }.into())
}

/// The commit that the adoption of an edit will make; nothing is written. `None` for the state of another lineage.
pub(crate) fn foresee(
    store: &Store,
    edited: &State,
    by: &str,
    now: UnixMillis,
) -> Option<Adoption> {
    let (base, ours) = sides(store, edited, None);
    let (base, ours) = (base.as_deref(), ours.as_deref());
    let is_ours = ours.is_none_or(|ours| is_of(ours, base, edited));
    is_ours.then(|| commit_of(base, ours, change::merge(base, ours, edited), by, now))
}

/// The base of an edit, and the newest kept commit if the edit must be merged with it and the caller has an older one.
fn sides(
    store: &Store,
    edited: &State,
    ours: Option<&State>,
) -> (Option<Arc<State>>, Option<Arc<State>>) {
    let base = store.base(edited);
    // Another process may have committed what nobody read before the save. A kept state older
    // than the file knows less of what happened than the file. A serial that a person wrote
    // proves nothing. Without a base, a serial is believed only as far as unkept commits can
    // reach.
    let serial = edited.serial;
    let began_at = base.as_ref().map_or(serial, |base| base.serial.min(serial));
    let is_newer =
        |kept: &State, ours: &State| kept.lineage == ours.lineage && kept.serial > ours.serial;
    let is_news = |kept: &Arc<State>| {
        (kept.serial >= began_at || base.is_none() && change::is_out_of_reach(serial, kept.serial))
            && ours.is_none_or(|ours| is_newer(kept, ours))
    };
    let kept = store.newest().filter(is_news);
    (base, kept)
}

fn once(
    store: &mut Store,
    edited: &State,
    base: Option<&State>,
    ours: Option<&State>,
    by: &str,
    now: UnixMillis,
) -> Result<(Arc<LoadedState>, Vec<Event>), CommitError<Again>> {
    let mut events = Vec::new();
    let loaded = store.commit(|fresh| {
        if !fresh.is_foreign {
            return Ok(None);
        }
        // One serial may have been seen twice with different contents: the base is identified by
        // its seal too.
        let began = |state: &State| (state.serial, state.seal.clone());
        if began(&fresh.state) != began(edited) {
            return Err(Again::Raced);
        }
        if ours.is_some_and(|ours| !is_of(ours, base, &fresh.state)) {
            return Err(Again::OtherLineage);
        }
        let adopted = commit_of(base, ours, change::merge(base, ours, &fresh.state), by, now);
        events.clone_from(&adopted.events);
        Ok(Some(CommitContent {
            state: adopted.state,
            touched: adopted.touched,
            at: adopted.at,
            events: adopted.events,
        }))
    })?;
    Ok((loaded, events))
}

fn commit_of(
    base: Option<&State>,
    ours: Option<&State>,
    merged: MergeOutcome,
    by: &str,
    now: UnixMillis,
) -> Adoption {
    let before = match (ours, base) {
        // Another process committed it, and nobody has read it yet.
        (Some(ours), Some(base)) if base.serial > ours.serial => Some(base),
        (ours, _) => ours,
    };
    change::adopt(before, merged, by, now)
}

/// Whether the edit is of the same lineage. A known seal shows that the lineage itself was edited.
pub(super) fn is_of(ours: &State, base: Option<&State>, edited: &State) -> bool {
    let has_its_seal = |state: &State| state.seal.is_some() && state.seal == edited.seal;
    edited.lineage == ours.lineage || has_its_seal(ours) || base.is_some_and(has_its_seal)
}
