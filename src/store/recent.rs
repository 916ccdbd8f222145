//! The sealed states that this process has seen under the name: an edit may be based on any of
//! them.
//!
//! Not here: the commits of other processes and of the past (`journal`), what lies beside the file
//! (`sweep`).

use std::collections::VecDeque;
use std::sync::Arc;

use descent_core::id::{Digest, Lineage, Serial};
use descent_core::state::State;

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
