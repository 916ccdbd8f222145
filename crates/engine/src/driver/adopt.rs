//! Turns a person's edit of the file into a commit with a correction: the only way, with a loop and
//! without.
//!
//! Not here: what an edit means (`descent_core::change`), when to look (`follow`).

use std::sync::Arc;

use descent_core::{
    change::{self, Adoption},
    event::Event,
    id::UnixMillis,
    state::State,
};

use descent_store::{CommitContent, CommitError, LoadedState, Store, StoreError};

/// How many saves may come between finding the base of an edit and adopting it.
const RACES_MAX: u32 = 16;

/// A commit of a change.
#[derive(Debug)]
pub struct CommitReport {
    pub loaded: Arc<LoadedState>,
    pub events: Vec<Event>,
}

/// Commits what `decide` makes of the present file, under the commit lock. The file stays as it is if that is nothing.
pub(crate) fn commit<E>(
    store: &mut Store,
    mut decide: impl FnMut(&LoadedState) -> Result<Option<Adoption>, E>,
) -> Result<CommitReport, CommitError<E>> {
    let mut events = Vec::new();
    let loaded = store.commit(|fresh| {
        let Some(adopted) = decide(fresh)? else { return Ok(None) };
        events.clone_from(&adopted.events);
        let Adoption { state, touched, at, events, .. } = adopted;
        Ok(Some(CommitContent { state, touched, at, events }))
    })?;
    Ok(CommitReport { loaded, events })
}

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
) -> Result<CommitReport, AdoptionRefusal> {
    for _ in 0..RACES_MAX {
        let edited = store.read()?;
        let sides = EditSides::of(store, &edited.state, ours);
        let adopted = commit(store, |fresh| {
            if !fresh.is_foreign {
                return Ok(None);
            }
            // One serial may have been seen twice with different contents: the base is identified by
            // its seal too.
            let began = |state: &State| (state.serial, state.seal.clone());
            if began(&fresh.state) != began(&edited.state) {
                return Err(Again::Raced);
            }
            sides.adoption(&fresh.state, by, now).map(Some).ok_or(Again::OtherLineage)
        });
        match adopted {
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
    EditSides::of(store, edited, None).adoption(edited, by, now)
}

/// The states that an edit is merged with.
struct EditSides<'o> {
    base: Option<Arc<State>>,
    /// The newest kept commit, if the edit must be merged with it and the caller has an older one.
    kept: Option<Arc<State>>,
    /// The newest commit that the caller has.
    known: Option<&'o State>,
}

impl<'o> EditSides<'o> {
    fn of(store: &Store, edited: &State, known: Option<&'o State>) -> Self {
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
            let is_unbelieved = base.is_none() && change::is_out_of_reach(serial, kept.serial);
            (kept.serial >= began_at || is_unbelieved)
                && known.is_none_or(|ours| is_newer(kept, ours))
        };
        let kept = store.newest().filter(is_news);
        Self { base, kept, known }
    }

    /// `None` for the state of another lineage.
    fn adoption(&self, edited: &State, by: &str, now: UnixMillis) -> Option<Adoption> {
        let (base, ours) = (self.base.as_deref(), self.kept.as_deref().or(self.known));
        if ours.is_some_and(|ours| !is_of(ours, base, edited)) {
            return None;
        }
        let before = match (ours, base) {
            // Another process committed it, and nobody has read it yet.
            (Some(ours), Some(base)) if base.serial > ours.serial => Some(base),
            (ours, _) => ours,
        };
        Some(change::adopt(before, change::merge(base, ours, edited), by, now))
    }
}

/// Whether the edit is of the same lineage. A known seal shows that the lineage itself was edited.
pub(super) fn is_of(ours: &State, base: Option<&State>, edited: &State) -> bool {
    let has_its_seal = |state: &State| state.seal.is_some() && state.seal == edited.seal;
    edited.lineage == ours.lineage || has_its_seal(ours) || base.is_some_and(has_its_seal)
}
