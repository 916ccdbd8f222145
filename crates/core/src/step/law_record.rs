//! The record of the control law: made where it is needed, emptied by another base case, with the first numbers of its leaves.
//!
//! Invariant: a first number is of the tree that the run starts from, if that was measured: what the first plan changes
//! counts. Not here: points (`law_point`).

use alloc::vec::Vec;

use super::transaction::Transaction;
use crate::{
    id::Digest,
    law::distance,
    state::{
        Check,
        check::number_node,
        law::{FIRSTS_MAX, FirstNumber, LawRecord},
    },
    verdict::Basis,
};

pub(super) fn law_mut(transaction: &mut Transaction) -> &mut LawRecord {
    transaction.run().law.get_or_insert_default()
}

/// Another base case is another way: only the curve stays.
pub(super) fn empty_if_other(transaction: &mut Transaction, check: &Check) {
    let of = check.key();
    let known = transaction.state.run.law.as_ref();
    if known.is_some_and(|law| law.of.as_ref() == Some(&of)) {
        return;
    }
    let is_first = known.is_none_or(|law| law.of.is_none());
    let law = law_mut(transaction);
    let kept = core::mem::take(law);
    *law = if is_first {
        LawRecord { of: Some(of), ..kept }
    } else {
        LawRecord { of: Some(of), curve: kept.curve, extra: kept.extra, ..LawRecord::default() }
    };
}

/// Keeps the first number of each leaf on the wrong side of its limit.
pub(super) fn note_first_numbers(transaction: &mut Transaction, check: &Check, basis: &Basis) {
    let evaluator = transaction.evaluator(basis);
    let wrong = check.leaves().into_iter().filter_map(|one| {
        let (_, value) = distance::wrong_number(evaluator, one, one.leaf()?)?;
        Some((one.key(), value))
    });
    let wrong: Vec<(Digest, f64)> = wrong.collect();
    if wrong.is_empty() {
        return;
    }
    empty_if_other(transaction, check);
    let firsts = &mut law_mut(transaction).firsts;
    for (leaf, value) in wrong {
        let is_new = !firsts.iter().any(|one| one.leaf == leaf);
        if is_new && firsts.len() < FIRSTS_MAX {
            firsts.push(FirstNumber { leaf, value: number_node(value), extra: Default::default() });
        }
    }
}
