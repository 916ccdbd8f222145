//! Where an edit began: in memory, in the journal, or beside the file.
//!
//! Not here: what this process remembers (`known`), what is kept of the past (`journal`), what lies beside (`sweep`).

use std::path::Path;
use std::sync::Arc;

use descent_core::id::{Lineage, Serial};
use descent_core::state::State;
use descent_core::state::encode::StateText;

use super::{LoadedState, Store, StoreError, load, sweep};

impl Store {
    /// The state that an edit started from: the one whose seal it has; without a seal, the earlier commit of its serial.
    /// A serial can have been shown twice with other contents, when a commit could not be made to stay: one with another
    /// seal is none that it began from. A commit that was saved again as it was began from itself.
    #[must_use]
    pub fn base(&self, edited: &State) -> Option<Arc<State>> {
        let seal = edited.seal.as_ref();
        if seal.is_some_and(|seal| *seal == StateText::of(edited).seal(edited)) {
            return Some(Arc::new(edited.clone()));
        }
        let has_its_seal = |state: &Arc<State>| seal.is_some() && state.seal.as_ref() == seal;
        let known = seal.and_then(|seal| self.known.sealed(seal));
        known.or_else(|| {
            let at = self.known.at(edited.serial);
            let at = at.or_else(|| self.base_on_disk(edited.serial));
            if seal.is_none() {
                return at;
            }
            at.filter(has_its_seal)
                .or_else(|| self.beside(has_its_seal))
        })
    }

    /// Whether a commit that is not the newest has the name: somebody saved an old buffer as it was. It holds nothing of
    /// what came since, and that must not be lost.
    ///
    /// A process that has seen none yet asks the journal; what is newer there can have been committed since the bytes
    /// were read.
    pub(super) fn is_past(&self, found: &LoadedState) -> Result<bool, StoreError> {
        let (lineage, serial) = (&found.state.lineage, found.state.serial);
        let seen = self.committed.as_ref().map(|seen| &seen.state);
        if let Some(seen) = seen.filter(|seen| seen.lineage == *lineage) {
            let is_other = serial == seen.serial && found.state.seal != seen.seal;
            return Ok(serial < seen.serial || is_other);
        }
        let kept = self.history().newest(lineage);
        Ok(kept.is_some_and(|kept| kept > serial) && self.look()?.bytes == found.bytes)
    }

    /// What a person typed elsewhere, as it would be read in the state's place; `path` is where it stands.
    pub fn examine(&self, path: &Path, bytes: Vec<u8>) -> Result<LoadedState, StoreError> {
        let known = |lineage: &Lineage| self.latest(lineage);
        load::read_over(path, bytes, &known).map(|(loaded, _)| loaded)
    }

    /// The newest commit of a lineage that is known, kept, or lies beside the file.
    pub(super) fn latest(&self, lineage: &Lineage) -> Option<Arc<State>> {
        let kept = || {
            let history = self.history();
            let past = history.state(lineage, history.newest(lineage)?)?;
            Some(Arc::new(past.state))
        };
        let known = self.known.newest(lineage).or_else(kept);
        known.or_else(|| self.beside(|state| state.lineage == *lineage))
    }

    /// The newest commit of the lineage of what was read last that is known, kept, or lies beside the file: newer than
    /// an edit that began from an older one and has the name now.
    #[must_use]
    pub fn newest(&self) -> Option<Arc<State>> {
        let lineage = &self.cached.as_ref()?.state.lineage;
        // What this process committed, or saw, last is mostly the newest there is: then no old state is read.
        let known = self.known.newest(lineage);
        let kept = self.history().newest(lineage);
        if known
            .as_ref()
            .is_some_and(|known| kept <= Some(known.serial))
        {
            return known;
        }
        let beside = self.beside(|state| state.lineage == *lineage);
        let kept = kept.and_then(|serial| self.base_on_disk(serial));
        let all = [beside, known, kept].into_iter().flatten();
        all.max_by_key(|state| state.serial)
    }

    /// The newest sealed one of these among what lies beside the file.
    fn beside(&self, is_wanted: impl Fn(&Arc<State>) -> bool) -> Option<Arc<State>> {
        let all = sweep::sealed(&*self.disk, &self.names).into_iter();
        let mut all = all.map(|loaded| Arc::new(loaded.state));
        all.find(is_wanted)
    }

    fn base_on_disk(&self, serial: Serial) -> Option<Arc<State>> {
        let lineage = &self.cached.as_ref()?.state.lineage;
        let past = self.history().state(lineage, serial)?;
        Some(Arc::new(past.state))
    }
}
