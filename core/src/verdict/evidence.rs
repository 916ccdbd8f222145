//! The evidence for a verdict, as bindings and results record it.

use alloc::{borrow::ToOwned, sync::Arc};

use super::{
    Basis, EvidenceCache, LeafEvidence, MeasurementKind, Verdict, assertions, decided, rating_on,
};
use crate::state::{Check, Correction, Leaf, Rating, check::number_node, record::EvidenceRecord};

/// One leaf's evidence, as bindings and results record it.
pub fn evidence(check: &Check, basis: &Basis, seen: &LeafEvidence) -> EvidenceRecord {
    let measurement = &seen.measurement;
    let of_files = |found: usize| Some(found as u64);
    let (ended, number, found) = match &measurement.what {
        MeasurementKind::Command { how, number, .. } => {
            (Some(how.text()), number.map(number_node), None)
        }
        MeasurementKind::Files { found, .. } => (None, None, of_files(*found)),
        MeasurementKind::SetupFailed { how } => (Some(how.text() + " in setup"), None, None),
    };
    EvidenceRecord {
        ended,
        number,
        found,
        duration_ms: Some(measurement.duration_ms),
        output: measurement.excerpt.clone(),
        whole: measurement.whole.clone(),
        ..EvidenceRecord::of(check, seen.verdict.word(), basis.text())
    }
}

/// A person's confirmation of an assertion, or that there is none.
fn evidence_of_word(
    check: &Check,
    basis: &Basis,
    corrections: &[Arc<Correction>],
) -> Option<EvidenceRecord> {
    assertions::called(check)?;
    let word = assertions::said_on(corrections, check, basis);
    let (verdict, ended) = match word {
        Some(word) => (decided(word.affirms()), word.word_text()),
        None => (Verdict::Unknown, "a person must confirm it".to_owned()),
    };
    Some(EvidenceRecord {
        ended: Some(ended),
        ..EvidenceRecord::of(check, verdict.word(), basis.text())
    })
}

/// A judge's rating of a quality leaf, or that there is none.
fn evidence_of_rating(check: &Check, basis: &Basis, ratings: &[Rating]) -> Option<EvidenceRecord> {
    let Leaf::Quality(leaf) = check.leaf()? else {
        return None;
    };
    let rating = rating_on(ratings, &check.key(), basis);
    let holds = rating.and_then(|rating| rating.passes(leaf));
    let verdict = holds.map_or(Verdict::Unknown, decided);
    let told = rating.map(|rating| rating.text(leaf));
    Some(EvidenceRecord {
        ended: Some(told.unwrap_or_else(|| "no judge has rated it".to_owned())),
        ..EvidenceRecord::of(check, verdict.word(), basis.text())
    })
}

/// Everything beside the rules that a verdict comes from.
#[derive(Debug, Clone, Copy)]
pub struct EvidenceSources<'a> {
    pub cache: &'a EvidenceCache,
    pub corrections: &'a [Arc<Correction>],
    pub ratings: &'a [Rating],
}

/// The evidence of every leaf that was measured on `basis`, of the assertions, and of the quality leaves.
pub fn evidence_of(
    check: &Check,
    basis: &Basis,
    from: EvidenceSources<'_>,
) -> alloc::vec::Vec<EvidenceRecord> {
    let leaves = check.leaves().into_iter();
    leaves
        .filter_map(|leaf| match from.cache.get(&leaf.key(), basis) {
            Some(seen) => Some(evidence(leaf, basis, seen)),
            None => evidence_of_word(leaf, basis, from.corrections)
                .or_else(|| evidence_of_rating(leaf, basis, from.ratings)),
        })
        .collect()
}
