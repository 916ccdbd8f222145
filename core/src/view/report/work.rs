//! Each atom of the graph: how it stands, by which attempt it was solved, and the evidence of its checks.

use alloc::{
    string::{String, ToString},
    vec::Vec,
};
use serde::Serialize;

use super::super::{
    confidence::{ConfidenceView, confidence},
    graph::{NodeView, graph},
};
use crate::{
    doc::Node,
    id::{AtomId, AttemptId, CommitId},
    search,
    state::{AtomStatus, Binding, Check, FailureClass, FreeValue, State, Task, TryEnd},
    world::World,
};

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AtomReport {
    #[serde(flatten)]
    pub node: NodeView,
    /// Its own checks.
    pub checks: Vec<String>,
    /// The number of them that held when it was last judged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confidence: Option<ConfidenceView>,
    /// A person's words on it.
    pub guidance: Vec<String>,
    /// Attempts that were counted, in all contexts.
    pub attempts: u64,
    pub repairs: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub solved: Option<SolvedReport>,
    /// Its newest failure, unless it is solved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed: Option<NewestFailure>,
    /// The agent's words why it cannot be done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub invalid: Option<String>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SolvedReport {
    /// `action`, `worker`, `person`.
    pub by: String,
    /// The number of the attempt in its context, from 1; 0 where no attempt made it.
    pub attempt: u32,
    pub at: String,
    pub summary: String,
    /// Absent where the tree did not change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<CommitId>,
    pub files: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<FreeValue>,
    /// Whether a person left the work out.
    pub skipped: bool,
    /// False for a result that is kept until its choices come back.
    pub in_force: bool,
    /// Whether its agent says that it was only partly clear.
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    #[cfg_attr(feature = "schema", serde(default))]
    pub unclear: bool,
    /// The fault of its answer, or its agent's own doubt: its checks hold all the same.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[cfg_attr(feature = "schema", serde(default))]
    pub unclear_because: String,
    pub evidence: Vec<EvidenceReport>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NewestFailure {
    pub attempt: AttemptId,
    pub class: FailureClass,
    pub reason: String,
    pub at: String,
    /// Whether its agent says that it was only partly clear.
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    #[cfg_attr(feature = "schema", serde(default))]
    pub unclear: bool,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub output: String,
}

/// The verdict on one leaf, as it was recorded
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EvidenceReport {
    pub check: String,
    pub verdict: String,
    /// How it ended, such as `exit 1`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub ended: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub number: Option<FreeValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub output: String,
}

pub(super) fn work(world: &World) -> Vec<AtomReport> {
    let nodes = graph(world).nodes.into_iter();
    nodes.map(|node| atom(&world.state, node)).collect()
}

fn atom(state: &State, node: NodeView) -> AtomReport {
    let task = state.atom(&node.id).and_then(|atom| atom.task());
    let tries = search::tries(state, &node.id);
    let checks = task.and_then(|task| task.spec.checks.as_ref());
    let solved = solved(state, &node.id);
    let is_solved = solved.as_ref().is_some_and(|one| one.in_force);
    AtomReport {
        checks: checks.map(titles).unwrap_or_default(),
        confidence: confidence(state, &node.id),
        guidance: task.map(|task| task.spec.guidance.clone()).unwrap_or_default(),
        attempts: tries.iter().map(|tried| u64::from(tried.attempts)).sum(),
        repairs: tries.iter().map(|tried| u64::from(tried.repairs)).sum(),
        failed: failed(state, &node.id).filter(|_| !is_solved),
        invalid: task.and_then(invalid),
        solved,
        node,
    }
}

fn titles(check: &Check) -> Vec<String> {
    check.leaves().into_iter().map(Check::title).collect()
}

fn invalid(task: &Task) -> Option<String> {
    match &task.status {
        AtomStatus::Invalid(report) => Some(report.words.clone()),
        AtomStatus::Pending
        | AtomStatus::Failed
        | AtomStatus::NeedsGuidance
        | AtomStatus::InDoubt(_) => None,
    }
}

/// The result in force, else the newest that was set aside.
fn solved(state: &State, id: &AtomId) -> Option<SolvedReport> {
    if let Some(binding) = state.bindings.get(id) {
        return Some(result(binding, true));
    }
    let mut tries = search::tries(state, id).iter().rev();
    tries.find_map(|tried| match &tried.ended {
        Some(TryEnd::Parked(binding)) => Some(result(binding, false)),
        Some(TryEnd::Failed(_)) | None => None,
    })
}

fn result(binding: &Binding, in_force: bool) -> SolvedReport {
    SolvedReport {
        by: binding.by.clone(),
        attempt: binding.attempts,
        at: binding.at.clone(),
        summary: binding.summary.clone(),
        commit: binding.commit.clone(),
        files: binding.artifacts.clone(),
        value: binding.value.clone(),
        skipped: binding.is_skip(),
        in_force,
        unclear: binding.unclear,
        unclear_because: binding.unclear_because.clone(),
        evidence: binding.evidence.iter().map(evidence).collect(),
    }
}

fn evidence(record: &Node) -> EvidenceReport {
    let text = |key: &str| record.get(key).and_then(Node::as_str).unwrap_or("").to_string();
    EvidenceReport {
        check: text("check"),
        verdict: text("verdict"),
        ended: text("ended"),
        number: record.get("number").cloned(),
        duration_ms: record.get("duration_ms").and_then(Node::as_u64),
        output: text("output"),
    }
}

fn failed(state: &State, id: &AtomId) -> Option<NewestFailure> {
    let (entry, failure) = state.newest_failure(id)?;
    Some(NewestFailure {
        attempt: failure.attempt.clone(),
        class: failure.class,
        reason: failure.reason.clone(),
        at: entry.at.clone(),
        unclear: failure.unclear,
        output: failure.output.clone(),
    })
}
