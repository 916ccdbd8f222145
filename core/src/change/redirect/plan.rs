//! A plan that was edited: the changes that bring the state to what the file says now.

use alloc::{borrow::ToOwned, collections::BTreeSet, format, string::String, sync::Arc, vec::Vec};

use super::{Reading, graph::without, place};
use crate::{
    change::{
        Change, between,
        merge::plan::{PlanMerge, merge_plan},
    },
    doc::Node,
    graph::validate,
    id::AtomId,
    plan::TakenPlan,
    state::{Atom, State, atom_order},
};

impl Reading<'_> {
    pub(super) fn plan(&mut self) {
        let Some(theirs) = &self.redirect.plan else {
            return;
        };
        let mut merged = merge_plan(TakenPlan::of(self.state), self.state, theirs);
        self.part_with(&mut merged);
        let after = merged.state(self.state);
        self.faults.extend(validate::unmeasured(&after, &Node::null()));
        let removed = merged.removed.iter().cloned();
        self.changes.extend(removed.map(Change::Removal));
        self.changes.extend(between::objective(self.state, &after));
        self.changes.extend(between::constraints(self.state, &after));
        for (id, atom) in merged.atoms {
            self.replace(id, atom);
        }
        let kept = theirs.plan.iter().cloned();
        self.changes.extend(kept.map(Change::Plan));
    }

    fn replace(&mut self, id: AtomId, atom: Arc<Atom>) {
        let known = self.state.atom(&id);
        if known.is_some_and(|known| is_same_work(known, &atom)) {
            return;
        }
        // The result of a task says nothing of a group.
        if atom.task().is_none() && self.state.bindings.contains_key(&id) {
            self.changes.push(Change::Binding(id.clone(), None));
        }
        self.changes.push(Change::Atom(id, Some(atom)));
    }

    /// Takes what goes out of the groups that stay. Whoever still waits for it is a fault.
    fn part_with(&mut self, merged: &mut PlanMerge) {
        let gone = merged.removed.clone();
        let stays: BTreeSet<AtomId> = {
            let known = self.state.all_atoms().into_keys().cloned();
            let all = known.chain(merged.atoms.keys().cloned());
            all.filter(|id| !gone.contains(id)).collect()
        };
        for id in stays {
            let present = merged.atoms.get(&id).or_else(|| self.state.atom(&id));
            let Some(atom) = present.cloned() else {
                continue;
            };
            for needed in atom.depends_on.iter().filter(|id| gone.contains(*id)) {
                let message =
                    format!("{id} waits for {needed}, which the plan does not name any more");
                let hint = format!("descent redirect --remove {id}, or leave {needed} in the plan");
                self.fault("still-needed", &place(needed), message, Some(hint));
            }
            if !atom.kids().iter().any(|kid| gone.contains(kid)) || atom.plan().is_some() {
                continue;
            }
            let mut left = (*atom).clone();
            match without(&mut left, &gone) {
                Ok(()) => drop(merged.atoms.insert(id, Arc::new(left))),
                Err(message) => {
                    let hint: String = "leave a part of it in the plan".to_owned();
                    self.fault("still-needed", &place(&id), message, Some(hint));
                }
            }
        }
    }
}

impl PlanMerge {
    /// The state with the plan merged in, before anything follows from it.
    fn state(&self, before: &State) -> State {
        let mut after = before.clone();
        after.objective = Arc::new(self.objective.clone());
        for (id, atom) in &self.atoms {
            match after.bindings.get_mut(id) {
                Some(binding) => Arc::make_mut(binding).of = Arc::clone(atom),
                None => drop(after.atoms.insert(id.clone(), Arc::clone(atom))),
            }
        }
        for id in &self.removed {
            after.atoms.remove(id);
            after.bindings.remove(id);
        }
        after.order = Arc::new(atom_order::woven(&self.order, &before.settled_order()));
        after
    }
}

/// Remarks and unknown keys alone are no change.
fn is_same_work(known: &Atom, atom: &Atom) -> bool {
    let words = |atom: &Atom| -> Vec<String> {
        let task = atom.task();
        task.map_or_else(Vec::new, |task| task.spec.guidance.clone())
    };
    !between::other_keys(known, atom) && words(known) == words(atom)
}
