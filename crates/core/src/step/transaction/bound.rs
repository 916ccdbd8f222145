//! Changes of results and of tries: bound, opened again, parked, amended; the usage of attempts that are over, and the
//! record of the control law.

use crate::doc::prelude::*;
use core::cell::OnceCell;

use super::{Facts, Transaction};
use crate::{
    graph::{AtomVec, Ix},
    id::{AtomId, Digest},
    law::distance,
    state::{
        Atom, Binding, Check, Fragment, Intent, PhaseBudget, Task, TryEnd,
        check::number_node,
        law::{FIRSTS_MAX, FirstNumber, LawRecord},
    },
    verdict::Basis,
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

// The record of the control law: made where it is needed, emptied by another base case.

impl Transaction {
    pub(crate) fn law(&mut self) -> &mut LawRecord {
        self.run().law.get_or_insert_default()
    }

    /// Another base case is another way: only the curve stays.
    pub(crate) fn empty_law_if_other(&mut self, check: &Check) {
        let of = Some(check.key());
        let known = self.state.run.law.as_ref();
        if known.is_some_and(|law| law.of == of) {
            return;
        }
        let is_first = known.is_none_or(|law| law.of.is_none());
        let law = self.law();
        let kept = core::mem::take(law);
        *law = if is_first {
            LawRecord { of, ..kept }
        } else {
            LawRecord { of, curve: kept.curve, extra: kept.extra, ..LawRecord::default() }
        };
    }

    /// Keeps the first number of each leaf on the wrong side of its limit: of the start's tree if that was measured, so
    /// that the first plan's changes count.
    pub(crate) fn note_first_numbers(&mut self, check: &Check, basis: &Basis) {
        let evaluator = self.evaluator(basis);
        let wrong = check.leaves().into_iter().filter_map(|one| {
            let (_, value) = distance::wrong_number(evaluator, one, one.leaf()?)?;
            Some((one.key(), value))
        });
        let wrong: Vec<(Digest, f64)> = wrong.collect();
        if wrong.is_empty() {
            return;
        }
        self.empty_law_if_other(check);
        let firsts = &mut self.law().firsts;
        for (leaf, value) in wrong {
            let is_new = !firsts.iter().any(|one| one.leaf == leaf);
            if is_new && firsts.len() < FIRSTS_MAX {
                let (value, extra) = (number_node(value), Default::default());
                firsts.push(FirstNumber { leaf, value, extra });
            }
        }
    }
}
