//! Each leaf of the base case with the newest verdict that a state keeps: of a refuted selection, or of the last
//! ending.
//!
//! Invariant: a verdict is of this very rule and, but while a run is at work, of the tree of the result.
//!
//! Not here: measuring a leaf, and which verdict decides (`verdict`).

use alloc::{string::String, vec::Vec};

use crate::{
    id::{CommitId, TreeId},
    state::{Check, State, Workspace, record::EvidenceRecord},
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
    let last = state.run.judged.iter();
    let last = last.map(|judged| (&judged.at, &judged.evidence, false));
    // While a run is at work, no tree is the result yet: the newest refuted selection counts.
    let of_any_tree = state.run.status.is_active();
    let refuted = state.refutations();
    let refuted = refuted.map(|(entry, one)| (&entry.at, &one.evidence, of_any_tree));
    let mut records: Vec<_> = last.chain(refuted).collect();
    records.sort_by_key(|(at, ..)| core::cmp::Reverse(at.as_str()));
    let tree = tree_of_result(state);
    let is_in_place = state.objective.constraints.workspace() == Workspace::Shared;
    let is_of_result = |one: &EvidenceRecord| {
        let on = one.on.as_deref();
        is_in_place || on.is_none_or(|on| tree.is_some_and(|tree| tree.as_str() == on))
    };
    let checks = state.objective.base_case.iter();
    let stand = |leaf| {
        let mut records = records.iter();
        let found = records.find_map(|(at, evidence, of_any_tree)| {
            let is_of =
                |one: &&EvidenceRecord| one.is_of(leaf) && (*of_any_tree || is_of_result(one));
            Some((*at, evidence.iter().find(is_of)?))
        });
        let evidence = found.map(|(_, one)| one);
        // A person's confirmation counts for the present result.
        let confirmed = assertions::as_it_stands(state, leaf).map(|verdict| verdict.word());
        LeafStand {
            leaf,
            verdict: confirmed.or_else(|| evidence.and_then(|one| one.verdict.as_deref())),
            at: found.map(|(at, _)| at),
            evidence,
        }
    };
    checks.flat_map(Check::leaves).map(stand).collect()
}

/// `None` if it was never looked at.
fn tree_of_result(state: &State) -> Option<&TreeId> {
    let run = &state.run;
    let start = run.started_from.as_ref();
    let is_result = |commit: &CommitId| run.result().is_none_or(|result| result == commit);
    let start = start.filter(|start| is_result(&start.commit));
    let judged = || run.verdicts.iter().find(|one| is_result(&one.commit));
    start.map(|start| &start.tree).or_else(|| judged().map(|one| &one.tree))
}
