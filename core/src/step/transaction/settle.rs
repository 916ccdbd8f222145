//! Settles the usage of an attempt that leaves the list of those in flight: with the run, and with the phases above.
//!
//! Not here: the limits (`step/usage`).

use alloc::sync::Arc;

use super::Transaction;
use crate::state::{Intent, Usage};

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
            self.settle_with_phases(intent, &usage);
        }
    }

    fn settle_with_phases(&mut self, intent: &Intent, usage: &Usage) {
        let graph = Arc::clone(&self.graph);
        let Some(x) = graph.ix(&intent.atom) else {
            return;
        };
        for (plan, phase, _) in graph.phases_above(x) {
            let (plan, first) = (graph.id(plan), graph.id(phase.first()));
            let budget = self.plan_of(plan).and_then(|plan| plan.budget.as_ref());
            if budget.is_some_and(|budget| budget.limits_usage()) {
                self.change_plan(plan, |plan| {
                    if let Some(fragment) = plan.fragment_mut(first) {
                        fragment.usage.add(usage);
                    }
                });
            }
        }
    }
}
