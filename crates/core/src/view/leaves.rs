//! Each leaf of the base case with the newest verdict that a state keeps: of a refuted selection, or of the last
//! ending. For an atom, the share of its own checks that held when it was last judged.
//!
//! Invariant: a verdict is of this very rule and, but while a run is at work, of the tree of the result.
//!
//! Not here: measuring a leaf, and which verdict decides (`verdict`).

use crate::doc::prelude::*;
use serde::Serialize;

use super::next::is_changed_since;
use crate::{
    doc::Node,
    id::{AtomId, CommitId, Digest, TreeId},
    search,
    state::{
        Check, CheckKind, FreeValue, Leaf, RunStatus, State, Try, Workspace, fields::Findings,
        record::EvidenceRecord,
    },
    verdict::{Verdict, assertions},
    world::World,
};

/// The end of a leaf that no evidence is kept of, in a run that completed.
const IN_THE_WHOLE: &str = "the whole base case held";

/// A leaf, and the newest verdict on it
#[serde_with::skip_serializing_none]
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LeafView {
    pub check: String,
    /// Its rule, if the check has a name of its own.
    pub rule: Option<String>,
    /// Absent if it was not evaluated.
    #[cfg_attr(feature = "schema", schemars(with = "Option<Verdict>"))]
    pub verdict: Option<String>,
    /// Whether it may fail, because another choice of an `any` holds.
    pub spared: bool,
    /// Whether only a person decides it.
    pub by_person: bool,
    pub at: Option<String>,
    /// How it ended, such as `exit 1`.
    pub ended: Option<String>,
    pub number: Option<FreeValue>,
    pub duration_ms: Option<u64>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub output: String,
}

/// As written.
pub(super) fn leaves(world: &World) -> Vec<LeafView> {
    let state = &world.state;
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
    let completed = state.run.status == RunStatus::Completed && !is_changed_since(world);
    let held = if completed { needed(state) } else { BTreeSet::new() };
    let view = |leaf: &Check| {
        let found = records.iter().find_map(|(at, evidence, of_any_tree)| {
            let is_of =
                |one: &&EvidenceRecord| one.is_of(leaf) && (*of_any_tree || is_of_result(one));
            Some((*at, evidence.iter().find(is_of)?))
        });
        let evidence = found.map(|(_, one)| one);
        // A person's confirmation counts for the present result.
        let confirmed = assertions::as_it_stands(state, leaf).map(|verdict| verdict.word());
        let recorded = evidence.and_then(|one| one.verdict.as_deref());
        let implied = held.contains(&leaf.key()).then_some(Verdict::Pass.word());
        let verdict = confirmed.or(recorded).or(implied);
        let by_person = matches!(leaf.leaf(), Some(Leaf::Assertion(_)));
        LeafView {
            check: leaf.title(),
            rule: leaf.name.as_ref().and(leaf.leaf()).map(Leaf::title),
            verdict: verdict.map(ToOwned::to_owned),
            spared: false,
            by_person,
            at: found.map(|(at, _)| at.clone()),
            ended: match (evidence, verdict) {
                (None, Some(_)) if !by_person => Some(IN_THE_WHOLE.to_owned()),
                _ => evidence.and_then(|one| one.ended.clone()),
            },
            number: evidence.and_then(|one| one.number.clone()),
            duration_ms: evidence.and_then(|one| one.duration_ms),
            output: evidence.map(|one| one.output.clone()).unwrap_or_default(),
        }
    };
    let Some(base_case) = &state.objective.base_case else {
        return Vec::new();
    };
    let leaves = base_case.leaves();
    let mut views: Vec<LeafView> = leaves.iter().map(|leaf| view(leaf)).collect();
    let keys: Vec<Digest> = leaves.iter().map(|leaf| leaf.key()).collect();
    let passed = |view: &LeafView| view.verdict.as_deref() == Some(Verdict::Pass.word());
    let passed = views.iter().zip(&keys).filter(|(view, _)| passed(view));
    let passed: BTreeSet<Digest> = passed.map(|(_, key)| key.clone()).collect();
    let mut spared = BTreeSet::new();
    spare(base_case, &passed, &mut spared);
    for (view, key) in views.iter_mut().zip(&keys) {
        view.spared = spared.contains(key);
    }
    views
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

/// The leaves without which the base case cannot hold. In a shared workspace the state keeps no evidence of a
/// completed run, and its completion tells of these.
fn needed(state: &State) -> BTreeSet<Digest> {
    let mut todo: Vec<&Check> = state.objective.base_case.iter().collect();
    let mut needed = BTreeSet::new();
    while let Some(check) = todo.pop() {
        match &check.kind {
            CheckKind::Leaf(_) => {
                needed.insert(check.key());
            }
            CheckKind::All(parts) => todo.extend(parts),
            CheckKind::Any(_) => {}
        }
    }
    needed
}

/// Whether a check holds by these leaves; notes those in an `any` that holds without them.
fn spare(check: &Check, passed: &BTreeSet<Digest>, spared: &mut BTreeSet<Digest>) -> bool {
    match &check.kind {
        CheckKind::Leaf(_) => passed.contains(&check.key()),
        CheckKind::All(parts) => {
            let held = parts.iter().filter(|part| spare(part, passed, spared)).count();
            held == parts.len()
        }
        CheckKind::Any(parts) => {
            let held = parts.iter().filter(|part| spare(part, passed, spared)).count();
            if held > 0 {
                let leaves = check.leaves().into_iter().map(Check::key);
                spared.extend(leaves.filter(|key| !passed.contains(key)));
            }
            held > 0
        }
    }
}

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
    let parked = tries.filter_map(Try::parked);
    let parked = parked.map(|one| (one.at.as_str(), one.evidence.as_slice()));
    let all: Vec<(&str, &[Node])> = failed.chain(parked).collect();
    let judged = all.into_iter().filter(|(_, records)| !records.is_empty());
    // Times in records compare as their texts do; failures come with the newest first.
    let newest = judged.rev().max_by_key(|(at, _)| *at)?;
    Some(newest.1)
}
