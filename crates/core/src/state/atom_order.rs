//! The order of the atoms: the one in which they were written, and in which they start and are shown.
//!
//! Invariant: each atom has one place. Not here: what is ready (`desired`).

use super::{Atom, State};
use crate::doc::prelude::*;
use crate::id::AtomId;

impl State {
    /// Gives new atoms their places, and takes those of atoms that are gone.
    pub fn settle_order(&mut self) {
        self.order = self.settled_order();
    }

    /// The order in which the atoms are written.
    pub fn settled_order(&self) -> Arc<Vec<AtomId>> {
        if self.is_in_order() { Arc::clone(&self.order) } else { Arc::new(settled(self)) }
    }

    fn is_in_order(&self) -> bool {
        let atoms = self.atoms.len() + self.bindings.len();
        self.order.len() == atoms && self.order.iter().all(|id| self.atom(id).is_some())
    }
}

/// The words for atoms in another order.
pub const MOVED: &str = "the order of the atoms";

/// The order after an edit. One that leaves the order of its base moves nothing that was moved beside it.
pub fn merged(base: Option<&[AtomId]>, ours: &[AtomId], theirs: &[AtomId]) -> Vec<AtomId> {
    if base.is_none_or(|base| is_other(base, theirs)) {
        woven(theirs, ours)
    } else {
        woven(ours, theirs)
    }
}

/// Whether the atoms that both have are in another order.
pub fn is_other(before: &[AtomId], after: &[AtomId]) -> bool {
    let [old, new] = [before, after].map(|list| list.iter().collect::<BTreeSet<_>>());
    let kept = before.iter().filter(|id| new.contains(id));
    !kept.eq(after.iter().filter(|id| old.contains(id)))
}

/// The atoms of `first`; each that only `second` has follows the one before it there.
pub fn woven(first: &[AtomId], second: &[AtomId]) -> Vec<AtomId> {
    let known: BTreeSet<&AtomId> = first.iter().collect();
    let (mut behind, mut before) = (BTreeMap::<_, Vec<&AtomId>>::new(), None);
    for id in second {
        if known.contains(id) {
            before = Some(id)
        } else {
            behind.entry(before).or_default().push(id)
        }
    }
    let places = core::iter::once(None).chain(first.iter().map(Some));
    let all = places.flat_map(|id| id.into_iter().chain(behind.remove(&id).unwrap_or_default()));
    all.cloned().collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edit_keeps_the_order_of_what_came_beside_it_unless_it_moves_something() {
        let ids = |text: &str| text.split(' ').map(AtomId::new).collect::<Vec<_>>();
        for (base, ours, theirs, wanted) in [
            ("z m a", "z x m a", "z m a", "z x m a"),
            ("z m a", "z b c m a", "z m a n", "z b c m a n"),
            ("z m a", "z x m a", "a m z", "a m z x"),
            ("z m a", "a m z", "z y m a", "a m z y"),
            ("z m a", "z m a", "y z a", "y z m a"),
        ] {
            let merged = merged(Some(&ids(base)), &ids(ours), &ids(theirs));
            assert_eq!(merged, ids(wanted), "{base}, {ours}, {theirs}");
        }
        assert!(!is_other(&ids("z m a"), &ids("x z a")) && is_other(&ids("z m"), &ids("m z")));
    }
}
