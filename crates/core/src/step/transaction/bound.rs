//! Changes of results and of tries: bound, opened again, parked, amended; and the usage of attempts that are over.

use alloc::sync::Arc;
use core::cell::OnceCell;

use super::{Facts, Transaction};
use crate::{
    graph::{AtomVec, Ix},
    id::AtomId,
    state::{Atom, Binding, Fragment, Intent, PhaseBudget, Task, TryEnd},
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
            .task_mut(id)
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

// Settles the usage of an attempt that leaves the list of those in flight: with the run, and with the phases above.

impl Transaction {
    /// An attempt counts as it reported; of one that was cut off, what it did not tell counts as was reserved for it.
    pub(super) fn settle(&mut self, intent: &Intent) {
        let reported = self.session.reported.remove(&intent.id);
        let mut reported = reported.unwrap_or_default();
        if !reported.is_whole {
            reported.usage.fill_from(&intent.reserved);
        }
        self.run().settle(&intent.payer(), intent.role, &reported.usage, reported.is_whole);
        let usage = reported.usage;
        if !usage.is_none() {
            self.change_fragments_around(&intent.atom, PhaseBudget::limits_usage, |fragment| {
                fragment.usage.add(&usage);
            });
        }
    }

    /// Changes the fragments around an atom whose budgets limit something.
    pub(crate) fn change_fragments_around(
        &mut self,
        atom: &AtomId,
        is_limited: fn(&PhaseBudget) -> bool,
        change: impl Fn(&mut Fragment),
    ) {
        let graph = Arc::clone(&self.graph);
        for (plan, phase, _) in graph.ix(atom).into_iter().flat_map(|x| graph.phases_above(x)) {
            let (plan, first) = (graph.id(plan), graph.id(phase.first()));
            let budget = self.plan_of(plan).and_then(|plan| plan.budget.as_ref());
            if budget.is_some_and(is_limited) {
                self.change_plan(plan, |plan| {
                    plan.fragment_mut(first).into_iter().for_each(&change);
                });
            }
        }
    }
}

// Changes of the tries of an atom, whether it is open or has a result.

impl Transaction {
    /// The work of an atom, to be changed; of one that has a result, as it was.
    pub(crate) fn change_work(&mut self, id: &AtomId, change: impl FnOnce(&mut Task)) {
        self.speculations.take();
        if !self.state.bindings.contains_key(id) {
            self.task_mut(id).map(change);
            return;
        }
        self.change_binding(id, |binding| {
            Arc::make_mut(&mut binding.of).task_mut().map(change);
        });
    }
}
