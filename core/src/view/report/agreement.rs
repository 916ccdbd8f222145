//! The agreement: the words, the checks with the newest verdict on each, and the constraints that somebody chose.

use alloc::{borrow::ToOwned, collections::BTreeSet, string::String, vec::Vec};
use serde::Serialize;

use super::super::{
    leaves::{LeafStand, leaves},
    next::is_changed_since,
};
use crate::{
    id::Digest,
    state::{Check, CheckKind, FreeValue, Leaf, RunStatus, State, limits},
    verdict::Verdict,
    world::World,
};

/// The end of a leaf that no evidence is kept of, in a run that completed.
const IN_THE_WHOLE: &str = "the whole base case held";

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AgreementReport {
    /// The person's first words; the goal may have been changed since.
    pub raw_input: String,
    pub goal: String,
    /// Why it is wanted.
    pub background_intent: String,
    pub deliverables: String,
    pub definition_of_done: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<FreeValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clarifications: Option<FreeValue>,
    /// Each leaf of the base case, as written.
    pub base_case: Vec<LeafReport>,
    /// The constraints that somebody chose.
    pub constraints: Vec<ConstraintReport>,
}

/// A leaf, and the newest verdict on it
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LeafReport {
    pub check: String,
    /// Its rule, if the check has a name of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// Absent if it was not evaluated.
    #[cfg_attr(feature = "schema", schemars(with = "Option<Verdict>"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<String>,
    /// Whether it may fail, because another choice of an `any` holds.
    pub spared: bool,
    /// Whether only a person decides it.
    pub by_person: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// How it ended, such as `exit 1`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub number: Option<FreeValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub output: String,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ConstraintReport {
    pub key: String,
    pub value: FreeValue,
}

pub(super) fn agreement(world: &World) -> AgreementReport {
    let objective = &world.state.objective;
    let in_force = limits::in_force(&objective.constraints).into_iter();
    let chosen = in_force.filter(|one| one.is_chosen);
    AgreementReport {
        raw_input: match objective.raw_input.as_str() {
            "" => objective.goal.clone(),
            words => words.to_owned(),
        },
        goal: objective.goal.clone(),
        background_intent: objective.background_intent.clone(),
        deliverables: objective.deliverables.clone(),
        definition_of_done: objective.definition_of_done.clone(),
        scope: objective.scope.clone(),
        clarifications: objective.clarifications.clone(),
        base_case: base_case(world),
        constraints: chosen
            .map(|one| ConstraintReport { key: one.key, value: one.value })
            .collect(),
    }
}

fn base_case(world: &World) -> Vec<LeafReport> {
    let state = &world.state;
    let mut stands = leaves(state);
    let needed = needed(state);
    let held = state.run.status == RunStatus::Completed && !is_changed_since(world);
    let is_told =
        |stand: &LeafStand<'_>| stand.verdict.is_some() || !needed.contains(&stand.leaf.key());
    for stand in stands.iter_mut().filter(|stand| held && !is_told(stand)) {
        stand.verdict = Some(Verdict::Pass.word());
    }
    let passed = stands.iter().filter(|stand| stand.verdict == Some(Verdict::Pass.word()));
    let passed: BTreeSet<Digest> = passed.map(|stand| stand.leaf.key()).collect();
    let mut spared = BTreeSet::new();
    if let Some(check) = &state.objective.base_case {
        spare(check, &passed, &mut spared);
    }
    let report = |stand: LeafStand<'_>| {
        let evidence = stand.evidence;
        let is_by_person = matches!(stand.leaf.leaf(), Some(Leaf::Assertion(_)));
        LeafReport {
            check: stand.leaf.title(),
            rule: stand.leaf.name.as_ref().and(stand.leaf.leaf()).map(Leaf::title),
            verdict: stand.verdict.map(ToOwned::to_owned),
            spared: spared.contains(&stand.leaf.key()),
            by_person: is_by_person,
            at: stand.at.cloned(),
            ended: match (evidence, stand.verdict) {
                (None, Some(_)) if !is_by_person => Some(IN_THE_WHOLE.to_owned()),
                _ => evidence.and_then(|one| one.ended.clone()),
            },
            number: evidence.and_then(|one| one.number.clone()),
            duration_ms: evidence.and_then(|one| one.duration_ms),
            output: evidence.map(|one| one.output.clone()).unwrap_or_default(),
        }
    };
    stands.into_iter().map(report).collect()
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
