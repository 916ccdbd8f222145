//! Answers of planners and probes: their form, and faults that the core cannot see.

use std::sync::Arc;

use descent_core::{event::Outcome, finding, fragment, state::Role};

use super::Attempting;
use crate::{
    agent::{ObjectJudge, QuestionForm},
    store,
};

/// The form of the answer of an attempt that only thinks.
pub(super) fn form(a: &Attempting) -> Option<QuestionForm> {
    let (schema, fault): (String, ObjectJudge) = if a.intent.role == Role::Probe {
        let fault = |object: &str| finding::read(object).err();
        (finding::SCHEMA.to_owned(), Arc::new(fault))
    } else if a.is_plan {
        let (world, intent) = (a.world.clone(), a.intent.clone());
        let fault = move |object: &str| fragment::fault(world.fragment_request(&intent), object);
        (fragment::schema(), Arc::new(fault))
    } else {
        return None;
    };
    Some(QuestionForm {
        role: a.intent.role,
        schema,
        fault,
    })
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
