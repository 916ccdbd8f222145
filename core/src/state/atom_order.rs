//! The order of the atoms: the one in which they were written, and in which they start and are shown.
//!
//! Invariant: each atom has one place. Not here: what is ready (`desired`).

use alloc::{collections::BTreeSet, sync::Arc, vec::Vec};

use super::{Atom, State};
use crate::id::AtomId;

impl State {
    /// Gives new atoms their places, and takes those of atoms that are gone.
    pub fn settle_order(&mut self) {
        self.order = self.settled_order();
    }

    /// The order in which the atoms are written.
    pub fn settled_order(&self) -> Arc<Vec<AtomId>> {
        match self.is_in_order() {
            true => Arc::clone(&self.order),
            false => Arc::new(settled(self)),
        }
    }

    fn is_in_order(&self) -> bool {
        let atoms = self.atoms.len() + self.bindings.len();
        self.order.len() == atoms && self.order.iter().all(|id| self.atom(id).is_some())
    }
}

/// A member of a group follows the member before it, and the first its group. Any other atom comes last.
fn settled(state: &State) -> Vec<AtomId> {
    let mut placed = BTreeSet::new();
    let known = state.order.iter().filter(|id| state.atom(id).is_some());
    let mut order: Vec<AtomId> = known.filter(|id| placed.insert((*id).clone())).cloned().collect();
    let all = state.all_atoms();
    let mut groups: Vec<&AtomId> = order.iter().filter(|id| all.contains_key(*id)).collect();
    let members: BTreeSet<&AtomId> = all.values().flat_map(|atom| atom.kids()).collect();
    let roots = all.keys().filter(|id| !placed.contains(**id) && !members.contains(**id));
    let roots: Vec<AtomId> = roots.map(|id| (*id).clone()).collect();
    groups.extend(&roots);
    let mut behind: Vec<(AtomId, Vec<AtomId>)> = Vec::new();
    for group in groups {
        behind.extend(new_members(all[group], group, &placed));
    }
    placed.extend(roots.iter().cloned());
    order.extend(roots);
    while let Some((before, new)) = behind.pop() {
        let new: Vec<AtomId> = new.into_iter().filter(|id| placed.insert(id.clone())).collect();
        let inner = new.iter().filter_map(|id| Some((id, all.get(id)?)));
        for (id, atom) in inner {
            behind.extend(new_members(atom, id, &placed));
        }
        let at = order.iter().position(|id| *id == before).map_or(order.len(), |at| at + 1);
        order.splice(at..at, new);
    }
    let rest = all.keys().filter(|id| !placed.contains(**id));
    order.extend(rest.map(|id| (*id).clone()));
    order
}

/// Runs of members without a place, each with the atom that it follows.
fn new_members(
    atom: &Arc<Atom>,
    group: &AtomId,
    placed: &BTreeSet<AtomId>,
) -> Vec<(AtomId, Vec<AtomId>)> {
    let mut runs: Vec<(AtomId, Vec<AtomId>)> = Vec::from([(group.clone(), Vec::new())]);
    for kid in atom.kids() {
        match (placed.contains(kid), runs.last_mut()) {
            (false, Some((_, run))) => run.push(kid.clone()),
            _ => runs.push((kid.clone(), Vec::new())),
        }
    }
    runs.retain(|(_, run)| !run.is_empty());
    runs
}
