//! Changes of results: bound, opened again, parked, amended.

use alloc::sync::Arc;
use core::cell::OnceCell;

use super::{Facts, Transaction};
use crate::{
    graph::{AtomVec, Ix},
    id::AtomId,
    state::{Atom, Binding, TryEnd},
    world::results,
};

impl Transaction {
    /// Replaces an open atom by its result.
    pub(crate) fn bind(&mut self, id: &AtomId, make: impl FnOnce(Arc<Atom>) -> Binding) {
        let Some(atom) = self.facts.state.atoms.remove(id) else {
            return;
        };
        self.rebound.extend(self.graph.ix(id));
        let solved = self.solved.take();
        self.forget_solved();
        self.facts.state.bindings.insert(id.clone(), Arc::new(make(atom)));
        self.solve_more(solved, id);
        self.touched.atoms.insert(id.clone());
        self.touched.bindings.insert(id.clone());
    }

    /// Resolves what the result of this atom resolves, if it is known what was resolved before.
    fn solve_more(&mut self, solved: Option<Arc<AtomVec<bool>>>, id: &AtomId) {
        let (Some(mut solved), Some(x)) = (solved, self.graph.ix(id)) else {
            return;
        };
        let Facts { state, graph, active, .. } = &self.facts;
        let has_result = |y: Ix| state.bindings.contains_key(graph.id(y));
        results::solve_more(Arc::make_mut(&mut solved), graph, active, has_result, x);
        debug_assert_eq!(*solved, results::solved(graph, active, state));
        self.solved = OnceCell::from(solved);
    }

    /// Opens a resolved atom again, and gives what it was bound to.
    pub(crate) fn unbind(&mut self, id: &AtomId) -> Option<Arc<Binding>> {
        let binding = self.facts.state.bindings.remove(id)?;
        self.forget_solved();
        self.facts.state.atoms.insert(id.clone(), Arc::clone(&binding.of));
        self.touched.atoms.insert(id.clone());
        self.touched.bindings.insert(id.clone());
        Some(binding)
    }

    /// Parks a result in the try of its context until that context is in force.
    pub(crate) fn park(&mut self, id: &AtomId, mut binding: Binding) {
        let Some(context) = binding.context.clone() else {
            return;
        };
        // The atom itself holds the parked result: a copy of it inside would only grow the file.
        binding.of = Arc::default();
        if let Some(tried) = self
            .task(id)
            .and_then(|task| task.tries.iter_mut().find(|tried| tried.context == context))
        {
            tried.ended = Some(TryEnd::Parked(Arc::new(binding)));
        }
    }

    pub(crate) fn change_binding(&mut self, id: &AtomId, change: impl FnOnce(&mut Binding)) {
        self.is_line_settled.take();
        let Some(binding) = self.facts.state.bindings.get_mut(id) else {
            return;
        };
        change(Arc::make_mut(binding));
        self.touched.bindings.insert(id.clone());
    }
}
