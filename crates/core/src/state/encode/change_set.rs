//! The records that a transition changed.

use crate::doc::prelude::*;
use crate::{
    id::AtomId,
    state::{Records, State},
};

/// The records that a transition changed: exactly these are written and hashed anew.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ChangeSet {
    pub objective: bool,
    pub control: bool,
    pub run: bool,
    pub plan: bool,
    pub atoms: BTreeSet<AtomId>,
    pub bindings: BTreeSet<AtomId>,
    /// The lists only grow; `true` if one was cleared or replaced.
    pub lists_replaced: bool,
}

impl ChangeSet {
    /// Whether it is a request alone, which is small.
    pub fn is_request(&self) -> bool {
        let others = self.objective || self.run || self.plan || self.lists_replaced;
        self.control && !others && self.atoms.is_empty() && self.bindings.is_empty()
    }

    /// All records, as for a state that was not written before.
    pub fn all(state: &State) -> Self {
        Self {
            objective: true,
            control: true,
            run: true,
            plan: true,
            atoms: state.atoms.keys().cloned().collect(),
            bindings: state.bindings.keys().cloned().collect(),
            lists_replaced: true,
        }
    }

    /// Adds the records that an earlier transition of the same commit changed.
    pub fn add(&mut self, earlier: &Self) {
        self.objective |= earlier.objective;
        self.control |= earlier.control;
        self.run |= earlier.run;
        self.plan |= earlier.plan;
        self.atoms.extend(earlier.atoms.iter().cloned());
        self.bindings.extend(earlier.bindings.iter().cloned());
        self.lists_replaced |= earlier.lists_replaced;
    }

    /// The records of `after` that are not the very ones of `before`. Records that went are among them.
    pub fn between(before: &State, after: &State) -> Self {
        Self {
            objective: !Arc::ptr_eq(&before.objective, &after.objective),
            control: !Arc::ptr_eq(&before.control, &after.control),
            run: !Arc::ptr_eq(&before.run, &after.run),
            plan: match (&before.plan, &after.plan) {
                (Some(before), Some(after)) => !Arc::ptr_eq(before, after),
                (before, after) => before.is_some() || after.is_some(),
            },
            atoms: changed(&before.atoms, &after.atoms),
            bindings: changed(&before.bindings, &after.bindings),
            lists_replaced: !(is_grown(&before.trail, &after.trail)
                && is_grown(&before.corrections, &after.corrections)),
        }
    }
}

fn changed<T>(before: &Records<T>, after: &Records<T>) -> BTreeSet<AtomId> {
    let is_other = |records: &Records<T>, id: &AtomId, record: &Arc<T>| {
        let known = records.get(id);
        !known.is_some_and(|known| Arc::ptr_eq(known, record))
    };
    let new = after.iter().filter(|(id, record)| is_other(before, id, record));
    let gone = before.iter().filter(|(id, _)| !after.contains_key(*id));
    new.chain(gone).map(|(id, _)| id.clone()).collect()
}

fn is_grown<T>(before: &[Arc<T>], after: &[Arc<T>]) -> bool {
    let mut pairs = before.iter().zip(after);
    before.len() <= after.len() && pairs.all(|(old, new)| Arc::ptr_eq(old, new))
}
