//! Answers of planners and probes: their form, and faults that the core cannot see.

use std::sync::Arc;

use descent_core::{event::Outcome, finding, fragment, state::Role};

use crate::{agent::QuestionForm, store};

/// The form of a probe's answer.
pub(super) fn probing() -> QuestionForm {
    QuestionForm {
        role: Role::Probe,
        schema: finding::SCHEMA.to_owned(),
        fault: Arc::new(|object| finding::read(object).err()),
    }
}

/// Faults of a plan that the core cannot see.
pub(super) fn shell_faults(outcome: &Outcome, has_worker: bool) -> Vec<(String, String)> {
    let patterns = store::pattern_faults(&fragment::patterns(outcome)).into_iter();
    let patterns = patterns.map(|fault| (fault.pointer, fault.message));
    let without = match has_worker {
        true => Vec::new(),
        false => fragment::without_action(outcome),
    };
    let what = "it has no `action`, and there is no worker to do it";
    let nobody = without.into_iter().map(|at| (at, what.to_owned()));
    patterns.chain(nobody).collect()
}
