//! Takes in measurements: they are recorded as evidence, then the candidate or the base case is examined.

use alloc::vec::Vec;

use super::{candidate, delivery, transaction::Transaction};
use crate::{
    event::Scope,
    id::Digest,
    state::Check,
    verdict::{Basis, Measurement},
};

pub(super) fn judged(
    transaction: &mut Transaction,
    scope: &Scope,
    basis: &Basis,
    seen: Vec<(Digest, Measurement)>,
) {
    let Some(check) = check_of(transaction, scope) else {
        return;
    };
    let measured_ms: u64 = seen.iter().map(|(_, one)| one.duration_ms).sum();
    for (key, measurement) in seen {
        if let Some(leaf) = check.leaves().into_iter().find(|leaf| leaf.key() == key) {
            transaction.session.evidence.record(leaf, basis, measurement);
        }
    }
    match scope {
        Scope::Atom(id) => candidate::ask_again_later(transaction, id, &check, basis),
        Scope::BaseCase => {
            let session = &mut transaction.session;
            let since_ms = session.active_ms.saturating_sub(session.base_since_ms);
            session.verify_ms += measured_ms.max(since_ms);
            delivery::base_case_judged(transaction, &check, basis);
        }
    }
}

fn check_of(transaction: &Transaction, scope: &Scope) -> Option<Check> {
    match scope {
        Scope::BaseCase => transaction.state.objective.base_case.clone(),
        Scope::Atom(id) => {
            let intent = transaction.in_flight(id)?;
            transaction.task_of(&intent.atom)?.spec.checks.clone()
        }
    }
}
