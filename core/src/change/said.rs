//! Statuses that a person wrote into the file, as the changes that they ask for: never a fact.

use alloc::{format, sync::Arc, vec::Vec};

use super::{PersonsResult, draft::Draft, redirect};
use crate::{
    doc::Node,
    id::AtomId,
    state::{
        Atom, AtomStatus, Extra, ShownStatus, State,
        atom::binding::SKIPPED,
        record::{LostValue, Winner},
    },
};

impl Draft<'_> {
    /// Gives and takes the results that a status asks for. Returns the tasks that are to be tried again.
    pub(super) fn take_statuses(&mut self) -> Vec<AtomId> {
        let mut opened = Vec::new();
        for (id, status) in core::mem::take(&mut self.state.said) {
            match status {
                ShownStatus::Pending if self.state.bindings.contains_key(&id) => {
                    if let Some(result) = self.state.bindings.remove(&id) {
                        self.state.atoms.insert(id, Arc::clone(&result.of));
                    }
                }
                ShownStatus::Pending if is_task(&self.state, &id) => {
                    let atom = self.state.atoms.get_mut(&id).map(Arc::make_mut);
                    if let Some(task) = atom.and_then(Atom::task_mut) {
                        task.status = AtomStatus::Pending;
                    }
                    opened.push(id);
                }
                ShownStatus::Resolved if self.skips(&id) => {}
                _ => self.lost.push(LostValue {
                    at: format!("/work_graph/atoms/{id}/status"),
                    kept: Winner::Program,
                    value: Some(Node::string(status.word())),
                    extra: Extra::default(),
                }),
            }
        }
        opened
    }

    /// Counts an open task as done without being done.
    fn skips(&mut self, id: &AtomId) -> bool {
        let atom = self.state.atoms.get(id).filter(|_| is_task(&self.state, id)).cloned();
        let is_in_doubt = |status: &AtomStatus| matches!(status, AtomStatus::InDoubt(_));
        let atom = atom.filter(|atom| !atom.task().is_some_and(|task| is_in_doubt(&task.status)));
        let result = PersonsResult { atom: id.clone(), text: SKIPPED.into() };
        let binding = atom.and_then(|atom| redirect::binding(&self.state, atom, &result, &self.at));
        let Some(binding) = binding else {
            return false;
        };
        self.state.atoms.remove(id);
        self.state.bindings.insert(id.clone(), Arc::new(binding));
        true
    }
}

/// Whether it is open work, and no group or plan in force.
fn is_task(state: &State, id: &AtomId) -> bool {
    let atom = state.atoms.get(id);
    atom.is_some_and(|atom| atom.task().is_some() && atom.kids().is_empty())
}
