//! Counts failures that are alike, over all atoms, and tells once when several atoms fail so.
//!
//! Invariant: nothing is decided by these counts.

use alloc::{borrow::ToOwned, string::String, vec::Vec};

use super::transaction::Transaction;
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
/// Characters of a reason.
const REASON_CHARS_MAX: usize = 200;

pub(super) fn count(transaction: &mut Transaction, failure: &FailureEntry) {
    let Some(fingerprint) = &failure.fingerprint else {
        return;
    };
    let patterns: &mut Vec<PatternRecord> = &mut transaction.run().patterns;
    let known = patterns
        .iter()
        .position(|one| one.fingerprint == *fingerprint);
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
    pattern.reason = first_line(&failure.reason);
    if !pattern.atoms.contains(&failure.atom) && pattern.atoms.len() < ATOMS_MAX {
        pattern.atoms.push(failure.atom.clone());
        pattern.atoms.sort_by(AtomId::cmp_naturally);
    }
    let is_news = !pattern.told && pattern.atoms.len() >= ATOMS_TOLD;
    pattern.told |= is_news;
    let told = is_news.then(|| Event::Pattern {
        atoms: pattern.atoms.clone(),
        reason: pattern.reason.clone(),
    });
    patterns.push(pattern);
    let over = patterns.len().saturating_sub(PATTERNS_MAX);
    patterns.drain(..over);
    if let Some(event) = told {
        transaction.announce(event);
    }
}

fn first_line(reason: &str) -> String {
    let first = reason.lines().next().unwrap_or_default().to_owned();
    first.chars().take(REASON_CHARS_MAX).collect()
}
