//! The share of an atom's own checks that held when it was last judged. It decides nothing.

use alloc::vec::Vec;
use serde::Serialize;

use crate::{
    doc::Node,
    id::AtomId,
    search,
    state::{Check, State, TryEnd, fields::Findings, record::EvidenceRecord},
};

#[derive(Debug, Clone, Copy, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ConfidenceView {
    pub held: u64,
    pub of: u64,
}

/// The share for the result in force, else for the newest judged attempt. An unmeasured check does not hold.
pub fn confidence(state: &State, id: &AtomId) -> Option<ConfidenceView> {
    let checks = state.atom(id)?.task()?.spec.checks.as_ref()?;
    let leaves = checks.leaves();
    let records = judged(state, id)?.iter();
    let records = records.filter_map(|one| EvidenceRecord::read(one, "", &mut Findings::default()));
    let records: Vec<EvidenceRecord> = records.collect();
    let of_leaf = |leaf: &Check| {
        let of_leaf = records.iter().filter(|one| one.is_of(leaf));
        of_leaf.collect::<Vec<&EvidenceRecord>>()
    };
    let holds = |leaf: &&&Check| {
        let found = of_leaf(leaf);
        !found.is_empty() && found.iter().all(|one| one.passes())
    };
    let is_judged = leaves.iter().any(|leaf| !of_leaf(leaf).is_empty());
    is_judged.then(|| ConfidenceView {
        held: leaves.iter().filter(holds).count() as u64,
        of: leaves.len() as u64,
    })
}

/// The records of the checks by which it was last judged.
fn judged<'s>(state: &'s State, id: &AtomId) -> Option<&'s [Node]> {
    if let Some(binding) = state.bindings.get(id) {
        return Some(&binding.evidence);
    }
    let failures = state.failures().filter(|(_, one)| one.atom == *id);
    let failed = failures.map(|(entry, one)| (entry.at.as_str(), one.criteria.as_slice()));
    let tries = search::tries(state, id).iter();
    let parked = tries.filter_map(|tried| match &tried.ended {
        Some(TryEnd::Parked(one)) => Some((one.at.as_str(), one.evidence.as_slice())),
        Some(TryEnd::Failed(_)) | None => None,
    });
    let all: Vec<(&str, &[Node])> = failed.chain(parked).collect();
    let judged = all.into_iter().filter(|(_, records)| !records.is_empty());
    // Times in records compare as their texts do; failures come with the newest first.
    let newest = judged.rev().max_by_key(|(at, _)| *at)?;
    Some(newest.1)
}
