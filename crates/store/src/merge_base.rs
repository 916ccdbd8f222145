//! Finds the base of an edit: among the states that this process has seen, in the journal, or beside the file.
//!
//! Not here: what is kept of the past (`journal`), what lies beside (`sweep`).

use std::{collections::VecDeque, path::Path, sync::Arc};

use descent_core::{
    id::{Digest, Lineage, Serial},
    state::{State, encode::StateText},
};

use super::{LoadedState, Store, StoreError, load, sweep};

impl Store {
    /// The base of an edit: the state with its seal or, without a seal, the earlier commit of its
    /// serial. If a commit could not be made durable, its serial may occur twice with different
    /// contents. So a commit with another seal is not the base. An unmodified commit saved again is
    /// its own base.
    pub fn base(&self, edited: &State) -> Option<Arc<State>> {
        let seal = edited.seal.as_ref();
        if seal.is_some_and(|seal| *seal == StateText::of(edited).seal(edited)) {
            return Some(Arc::new(edited.clone()));
        }
        let has_its_seal = |state: &State| seal.is_some() && state.seal.as_ref() == seal;
        let known = seal.and_then(|seal| self.known.sealed(seal));
        known.or_else(|| {
            let at = self.known.at(edited.serial);
            let at = at.or_else(|| self.base_on_disk(edited.serial));
            if seal.is_none() {
                return at;
            }
            // A person may have typed another serial.
            let newest = || self.newest_kept().filter(|state| has_its_seal(state));
            let at = at.filter(|state| has_its_seal(state)).or_else(newest);
            at.or_else(|| self.newest_beside(has_its_seal))
        })
    }

    /// Whether the file is a commit that is not the newest: somebody saved an old buffer unchanged.
    /// It lacks everything newer, which must not be lost.
    ///
    /// A process that has seen no commit yet asks the journal. A newer entry there may have been
    /// committed since the bytes were read.
    pub(super) fn is_past(&self, found: &LoadedState) -> Result<bool, StoreError> {
        let (lineage, serial) = (&found.state.lineage, found.state.serial);
        let seen = self.committed.as_ref().map(|seen| &seen.state);
        if let Some(seen) = seen.filter(|seen| seen.lineage == *lineage) {
            let is_other = serial == seen.serial && found.state.seal != seen.seal;
            return Ok(serial < seen.serial || is_other);
        }
        let kept = self.history().newest(lineage);
        Ok(kept.is_some_and(|kept| kept > serial) && self.read_bytes()?.bytes == found.bytes())
    }

    /// Reads what a person typed elsewhere as if it were the state file; `path` is where it is.
    pub fn examine(&self, path: &Path, bytes: Vec<u8>) -> Result<LoadedState, StoreError> {
        load::read_over(path, bytes, &|| self.newest_kept()).map(|(loaded, _)| loaded)
    }

    /// The newest commit that this process saw, else the newest in the journal.
    pub(super) fn newest_kept(&self) -> Option<Arc<State>> {
        let seen = self.committed.as_ref().map(|seen| Arc::new(seen.state.clone()));
        seen.or_else(|| {
            let history = self.history();
            let lineage = history.newest_lineage()?;
            let past = history.state(&lineage, history.newest(&lineage)?)?;
            Some(Arc::new(past.state))
        })
    }

    /// The newest commit of the lineage that was read last: in memory, in the journal, or beside
    /// the file. It may be newer than the base of the edit that has the name now.
    pub fn newest(&self) -> Option<Arc<State>> {
        let lineage = &self.cached.as_ref()?.state.lineage;
        // The last commit that this process made or saw is mostly the newest: then no old state is
        // read.
        let known = self.known.newest(lineage);
        let kept = self.history().newest(lineage);
        if known.as_ref().is_some_and(|known| kept <= Some(known.serial)) {
            return known;
        }
        let newest = self.newest_beside(|state| state.lineage == *lineage);
        let kept = kept.and_then(|serial| self.base_on_disk(serial));
        let all = [newest, known, kept].into_iter().flatten();
        all.max_by_key(|state| state.serial)
    }

    /// The newest sealed state of these among the files beside the state.
    fn newest_beside(&self, is_wanted: impl Fn(&State) -> bool) -> Option<Arc<State>> {
        sweep::newest_sealed(&*self.disk, &self.names, is_wanted).map(Arc::new)
    }

    fn base_on_disk(&self, serial: Serial) -> Option<Arc<State>> {
        let lineage = &self.cached.as_ref()?.state.lineage;
        let past = self.history().state(lineage, serial)?;
        Some(Arc::new(past.state))
    }
}

// The sealed states that this process has seen under the name: an edit may be based on any of them.

const REMEMBERED_MAX: usize = 64;

#[derive(Debug, Default)]
pub(super) struct RecentStates {
    /// The newest is last; all are of one lineage.
    committed: VecDeque<Arc<State>>,
    /// States whose commit failed or gave way after they had got the name: an editor may have read
    /// them.
    glimpsed: VecDeque<Arc<State>>,
}

impl RecentStates {
    pub(super) fn committed(&mut self, state: Arc<State>) {
        self.committed.retain(|known| known.lineage == state.lineage);
        push(&mut self.committed, state);
    }

    pub(super) fn glimpsed(&mut self, state: Arc<State>) {
        push(&mut self.glimpsed, state);
    }

    /// One serial may have been seen twice with different contents: the seal tells them apart.
    pub(super) fn sealed(&self, seal: &Digest) -> Option<Arc<State>> {
        let mut all = self.committed.iter().rev().chain(&self.glimpsed);
        all.find(|state| state.seal.as_ref() == Some(seal)).cloned()
    }

    pub(super) fn at(&self, serial: Serial) -> Option<Arc<State>> {
        let mut all = self.committed.iter().rev();
        all.find(|state| state.serial == serial).cloned()
    }

    pub(super) fn newest(&self, lineage: &Lineage) -> Option<Arc<State>> {
        let mut all = self.committed.iter().rev();
        all.find(|state| state.lineage == *lineage).cloned()
    }

    pub(super) fn clear(&mut self) {
        self.committed.clear();
        self.glimpsed.clear();
    }
}

fn push(states: &mut VecDeque<Arc<State>>, state: Arc<State>) {
    states.push_back(state);
    if states.len() > REMEMBERED_MAX {
        states.pop_front();
    }
}
