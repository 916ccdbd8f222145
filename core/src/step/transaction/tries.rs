//! Changes of the tries of an atom, whether it is open or has a result.

use alloc::sync::Arc;

use super::Transaction;
use crate::{id::AtomId, state::Task};

impl Transaction {
    /// The work of an atom, to be changed; of one that has a result, as it was.
    pub(crate) fn change_work(&mut self, id: &AtomId, change: impl FnOnce(&mut Task)) {
        self.speculations.take();
        if !self.state.bindings.contains_key(id) {
            self.task(id).map(change);
            return;
        }
        self.change_binding(id, |binding| {
            Arc::make_mut(&mut binding.of).task_mut().map(change);
        });
    }
}
