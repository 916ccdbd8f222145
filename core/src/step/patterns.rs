//! Counts failures that are alike, over all atoms, and tells once when several atoms fail so.
//!
//! Invariant: nothing is decided by these counts.

use alloc::{string::String, vec::Vec};

use super::{trail, transaction::Transaction};
use crate::{
    event::Event,
    id::AtomId,
    state::{PatternRecord, record::FailureEntry},
};

/// Kinds of failures that are kept, the newest.
const PATTERNS_MAX: usize = 50;
/// Atoms that one kind names.
const ATOMS_MAX: usize = 20;
/// So many atoms that fail alike have one cause.
const ATOMS_TOLD: usize = 3;

pub(super) fn count(transaction: &mut Transaction, failure: &FailureEntry) {
    let Some(fingerprint) = &failure.fingerprint else {
        return;
    };
    let patterns: &mut Vec<PatternRecord> = &mut transaction.run().patterns;
    let known = patterns.iter().position(|one| one.fingerprint == *fingerprint);
    let mut pattern = known.map_or_else(
        || PatternRecord {
            fingerprint: fingerprint.clone(),
            failures: 0,
            atoms: Vec::new(),
            reason: String::new(),
            told: false,
            extra: Default::default(),
        },
        |place| patterns.remove(place),
    );
    pattern.failures += 1;
    pattern.reason = trail::first_line(&failure.reason);
    if !pattern.atoms.contains(&failure.atom) && pattern.atoms.len() < ATOMS_MAX {
        pattern.atoms.push(failure.atom.clone());
        pattern.atoms.sort_by(AtomId::cmp_naturally);
    }
    patterns.push(pattern);
    let over = patterns.len().saturating_sub(PATTERNS_MAX);
    patterns.drain(..over);
}

/// Tells what several atoms have in common, once; after the failure that it follows from.
pub(super) fn tell(transaction: &mut Transaction) {
    let is_news = |one: &PatternRecord| !one.told && one.atoms.len() >= ATOMS_TOLD;
    if !transaction.state.run.patterns.iter().any(is_news) {
        return;
    }
    let patterns: &mut Vec<PatternRecord> = &mut transaction.run().patterns;
    let news = patterns.iter_mut().filter(|one| is_news(one));
    let told = news.map(|one| {
        one.told = true;
        Event::Pattern { atoms: one.atoms.clone(), reason: one.reason.clone() }
    });
    let told: Vec<Event> = told.collect();
    told.into_iter().for_each(|event| transaction.announce(event));
}
