//! Measurements that came in: they are recorded as evidence, then the candidate or the base case is looked at.

use alloc::vec::Vec;

use super::{candidate, delivery, transaction::Transaction};
use crate::{
    event::Scope,
    id::Digest,
    state::Check,
    verdict::{Basis, Measurement},
};

pub(super) fn judged(
    draft: &mut Transaction,
    scope: &Scope,
    basis: &Basis,
    seen: Vec<(Digest, Measurement)>,
) {
    let Some(check) = check_of(draft, scope) else {
        return;
    };
    let measured_ms: u64 = seen.iter().map(|(_, one)| one.duration_ms).sum();
    for (key, measurement) in seen {
        if let Some(leaf) = check.leaves().into_iter().find(|leaf| leaf.key() == key) {
            draft.session.evidence.record(leaf, basis, measurement);
        }
    }
    match scope {
        Scope::Atom(id) => candidate::ask_again_later(draft, id, &check, basis),
        Scope::BaseCase => {
            let session = &mut draft.session;
            let since_ms = session.active_ms.saturating_sub(session.base_since_ms);
            session.verify_ms += measured_ms.max(since_ms);
            delivery::base_case_judged(draft, &check, basis);
        }
    }
}

fn check_of(draft: &Transaction, scope: &Scope) -> Option<Check> {
    match scope {
        Scope::BaseCase => draft.state.objective.base_case.clone(),
        Scope::Atom(id) => {
            let intent = draft.in_flight(id)?;
            draft.task_of(&intent.atom)?.spec.checks.clone()
        }
    }
}
