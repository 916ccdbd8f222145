//! The share of an atom's own checks that held when it was last judged. It decides nothing.

use alloc::vec::Vec;
use serde::Serialize;

use crate::{
    doc::Node,
    id::AtomId,
    search,
    state::{Check, State, TryEnd},
    verdict::Verdict,
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
    let records = judged(state, id)?;
    let of_leaf = |leaf: &&Check| {
        let title = leaf.title();
        let records = records.iter();
        records.filter(move |one| text(one, "check") == Some(title.as_str()))
    };
    let holds = |leaf: &&&Check| {
        let mut verdicts = of_leaf(leaf).peekable();
        verdicts.peek().is_some()
            && verdicts.all(|one| text(one, "verdict") == Some(Verdict::Pass.word()))
    };
    let is_judged = leaves.iter().any(|leaf| of_leaf(leaf).next().is_some());
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

fn text<'n>(record: &'n Node, key: &str) -> Option<&'n str> {
    record.get(key).and_then(Node::as_str)
}
