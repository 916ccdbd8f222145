//! The consequences of a result that a person wrote or took out: for its atom, and for what depends on it.

use super::draft::Draft;
use crate::doc::prelude::*;
use crate::{
    graph::{Graph, Ix},
    id::AtomId,
    state::{Atom, AtomStatus, Binding, State, Task, Try},
    world::results,
};

impl Draft<'_> {
    /// Gives back the repairs of atoms that depend on these and opens those that failed. Returns whether there are any.
    pub(super) fn reopen_downstream<'r>(
        &mut self,
        results: impl Iterator<Item = &'r AtomId>,
    ) -> bool {
        let graph = Graph::of(&self.state);
        let mut todo: Vec<Ix> = results.filter_map(|id| graph.ix(id)).collect();
        let mut downstream: BTreeSet<Ix> = BTreeSet::new();
        while let Some(x) = todo.pop() {
            let holders = core::iter::once(x).chain(graph.above(x));
            let users = holders.flat_map(|y| graph.needed_by(y));
            let users = users.flat_map(|user| graph.subtree(*user));
            todo.extend(users.filter(|user| downstream.insert(*user)));
        }
        self.reopen_failed(|id, _| graph.ix(id).is_some_and(|x| downstream.contains(&x)));
        for id in downstream.iter().map(|x| graph.id(*x)) {
            if let Some(atom) = self.state.atoms.get_mut(id) {
                give_repairs(atom, 1);
            }
            let binding = self.state.bindings.get_mut(id);
            if let Some(binding) = binding.filter(|binding| has_repairs(&binding.of, 0)) {
                give_repairs(&mut Arc::make_mut(binding).of, 0);
            }
        }
        !downstream.is_empty()
    }

    pub(super) fn overwrite(&mut self, id: &AtomId) {
        let Some(binding) = self.state.bindings.get_mut(id) else {
            return;
        };
        let binding: &mut Binding = Arc::make_mut(binding);
        binding.by = "person".to_string();
        binding.at.clone_from(&self.at);
        // A failure of a task that a person settles closes no choice any more.
        if let Some(task) = Arc::make_mut(&mut binding.of).task_mut() {
            for tried in task.tries.iter_mut().filter(|tried| tried.has_failed()) {
                tried.forget_failures();
            }
        }
        self.take_mark(id);
    }

    /// Takes out atoms that were forgotten together with what they need. One more is gone in each round.
    pub(super) fn drop_unfounded(&mut self, forgotten: &[&AtomId]) {
        let is_unfounded = |state: &State, id: &&AtomId| {
            let atom = state.atoms.get(*id).filter(|_| forgotten.contains(id));
            atom.is_some_and(|atom| {
                let mut named = atom.depends_on.iter().chain(atom.kids());
                named.any(|named| state.atom(named).is_none())
            })
        };
        let first = |state: &State| {
            let mut ids = state.atoms.keys();
            ids.find(|id| is_unfounded(state, id)).cloned()
        };
        while let Some(id) = first(&self.state) {
            self.state.atoms.remove(&id);
        }
    }

    /// Opens the atom of a binding that a person took out; gives the attempts that the result took.
    pub(super) fn forget(&mut self, before: &State, id: &AtomId) -> u32 {
        let Some(binding) = before.bindings.get(id) else {
            return 0;
        };
        let is_once_only = |task: &Task| task.spec.effect.is_once_only();
        let doubt = if binding.of.task().is_some_and(is_once_only) {
            self.doubt_result(id, binding, "its result was taken out of the state")
        } else {
            None
        };
        // The atom may have been taken out with its result.
        let Some(mut atom) = self.state.atoms.get(id).map(|atom| (**atom).clone()) else {
            return 0;
        };
        let mut given_back = 0;
        if let (Some(task), Some(context)) = (atom.task_mut(), &binding.context) {
            let of_result = task.tries.iter().filter(|tried| tried.context == *context);
            given_back = of_result.map(|tried| tried.attempts).sum();
            task.tries.retain(|tried| tried.context != *context);
            task.status = doubt.map_or(AtomStatus::Pending, AtomStatus::InDoubt);
        }
        if matches!(atom.task().map(|task| &task.status), Some(AtomStatus::InDoubt(_))) {
            let doubted = "in doubt, and not made again before `descent confirm` says so";
            self.follows_for(doubted, core::slice::from_ref(id));
        }
        self.state.atoms.insert(id.clone(), Arc::new(atom));
        given_back
    }

    /// Takes the attempts of removed results out of the budgets of the plans around them.
    pub(super) fn give_back(&mut self, taken_out: &[(AtomId, u32)]) {
        if taken_out.is_empty() {
            return;
        }
        let graph = Graph::of(&self.state);
        for (id, given_back) in taken_out {
            let less =
                |_: bool, attempts: &mut u32| *attempts = attempts.saturating_sub(*given_back);
            results::recount(&mut self.state, &graph, id, less);
        }
    }
}

fn has_repairs(atom: &Atom, kept: u32) -> bool {
    let is_more = |tried: &Try| tried.repairs > kept;
    atom.task().is_some_and(|task| task.tries.iter().any(is_more))
}

/// `kept`: the repairs that tell of an open context that it is under repair.
fn give_repairs(atom: &mut Arc<Atom>, kept: u32) {
    if !has_repairs(atom, kept) {
        return;
    }
    let tries = Arc::make_mut(atom).task_mut().into_iter().flat_map(|task| &mut task.tries);
    tries.for_each(|tried| tried.repairs = tried.repairs.min(kept));
}
