//! Each leaf of the base case with the newest verdict that a state keeps: of a refuted selection, or of the last
//! ending.
//!
//! Not here: measuring a leaf, and which verdict decides (`verdict`).

use alloc::{string::String, vec::Vec};

use crate::{
    state::{Check, State, record::EvidenceRecord},
    verdict::assertions,
};

/// A leaf, and what the state knows of it.
pub(super) struct LeafStand<'s> {
    pub(super) leaf: &'s Check,
    /// `None` if it was not evaluated.
    pub(super) verdict: Option<&'s str>,
    pub(super) at: Option<&'s String>,
    pub(super) evidence: Option<&'s EvidenceRecord>,
}

/// As written.
pub(super) fn leaves(state: &State) -> Vec<LeafStand<'_>> {
    let refuted = state.refutations();
    let refuted = refuted.map(|(entry, refuted)| (Some(&entry.at), &refuted.evidence));
    let last = state.run.last_result.iter();
    let last = last.map(|result| (result.data.at.as_ref(), &result.data.evidence));
    let mut records: Vec<(Option<&String>, &Vec<EvidenceRecord>)> = last.chain(refuted).collect();
    // The sort is stable: without a time the last result stays the newest.
    records.sort_by_key(|(at, _)| core::cmp::Reverse(at.map_or("9", String::as_str)));
    let checks = state.objective.base_case.iter();
    let stand = |leaf| {
        let title = Check::title(leaf);
        let is_of = |one: &&EvidenceRecord| one.check.as_deref() == Some(title.as_str());
        let mut records = records.iter();
        let found = records.find_map(|(at, evidence)| Some((*at, evidence.iter().find(is_of)?)));
        let evidence = found.map(|(_, one)| one);
        // A person's confirmation counts for the present result.
        let confirmed = assertions::as_it_stands(state, leaf).map(|verdict| verdict.word());
        LeafStand {
            leaf,
            verdict: confirmed.or_else(|| evidence.and_then(|one| one.verdict.as_deref())),
            at: found.and_then(|(at, _)| at),
            evidence,
        }
    };
    checks.flat_map(Check::leaves).map(stand).collect()
}
