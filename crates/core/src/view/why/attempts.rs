//! Every kept attempt with its end: failed, solved, parked, in doubt or running.

use crate::doc::prelude::*;
use serde::Serialize;

use crate::{
    graph::Ix,
    id::{AtomId, AttemptId, CommitId, Digest},
    search,
    state::{
        Binding, CorrectingTurn, Entry, EntryKind, FreeValue, SideFile, Try,
        record::{Choices, FailureEntry, ToolCall},
    },
    world::{World, earlier::doubts},
};

#[serde_with::skip_serializing_none]
#[derive(Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AttemptView {
    pub atom: AtomId,
    /// Not kept for attempts that solved their atom.
    pub attempt: Option<AttemptId>,
    /// Counts from 1 in its context.
    pub n: u64,
    /// `failed`, `solved`, `parked` (solved under choices that are not in force), `running`, or
    /// `in_doubt` (a person is asked how it ended).
    #[cfg_attr(feature = "schema", schemars(extend("enum" = ["failed", "solved", "parked", "running", "waits", "in_doubt"])))]
    pub ended: &'static str,
    /// Who made a result: `action`, `worker`, `person`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub by: String,
    /// Whether a person left the work out.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub skipped: bool,
    pub started: String,
    /// When it ended; empty while it runs.
    pub at: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub class: String,
    /// The reason of the failure, or the result.
    pub reason: String,
    /// Equal for failures that are alike.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub fingerprint: String,
    #[cfg_attr(
        feature = "schema",
        schemars(with = "alloc::collections::BTreeMap<String, String>")
    )]
    pub choices: Choices,
    pub evidence: Vec<FreeValue>,
    pub files: Vec<String>,
    /// The files that a failed one had changed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<String>,
    pub commit: Option<CommitId>,
    /// The report of a failed attempt.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub summary: String,
    pub value: Option<FreeValue>,
    pub handoff: Option<String>,
    /// Whether its agent says that it was only partly clear.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub unclear: bool,
    /// The fault of its answer, or its agent's own doubt: its checks hold all the same.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub unclear_because: String,
    /// The newest tools that its agent called, the oldest of them first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tried: Vec<CalledTool>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub output: String,
    /// The side file with the whole output.
    #[cfg_attr(feature = "schema", schemars(with = "Option<SideFileView>"))]
    pub whole: Option<SideFile>,
}

/// A call of a tool by an agent.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CalledTool {
    pub tool: String,
    pub target: String,
    /// Whether its agent says that it failed.
    pub failed: bool,
    /// All of it in a line.
    #[serde(skip)]
    pub text: String,
}

fn tools(tried: &[ToolCall]) -> Vec<CalledTool> {
    let one = |call: &ToolCall| CalledTool {
        tool: call.tool.clone(),
        target: call.target.clone(),
        failed: call.failed,
        text: call.text(),
    };
    tried.iter().map(one).collect()
}

/// A side file as it is printed, for the schema.
#[cfg(feature = "schema")]
#[derive(Debug, schemars::JsonSchema)]
pub struct SideFileView {
    pub digest: crate::id::Digest,
    pub bytes: u64,
    /// The path of the file; null if it is gone.
    pub path: Option<String>,
}

/// The attempts of an atom in one context, if there were any.
fn tried_in<'w>(world: &'w World, atom: &AtomId, context: Option<&Digest>) -> Option<&'w Try> {
    let mut tries = search::tries(&world.state, atom).iter();
    tries.find(|tried| Some(&tried.context) == context)
}

pub(super) fn attempts(world: &World, x: Ix) -> Vec<AttemptView> {
    let inside = world.graph.subtree(x);
    let ids: Vec<&AtomId> = inside.iter().map(|y| world.graph.id(*y)).collect();
    let failures = world.state.trail.iter().filter_map(|entry| Some((entry, entry.failure()?)));
    let failures = failures.filter(|(_, failure)| ids.contains(&&failure.atom));
    let mut all: Vec<AttemptView> =
        failures.map(|(entry, failure)| failed(world, failure, &entry.at)).collect();
    for id in &ids {
        if let Some(binding) = world.state.bindings.get(*id) {
            all.push(solved(id, binding, "solved", Choices::new()));
        }
        for tried in search::tries(&world.state, id) {
            if let Some(result) = tried.parked() {
                all.push(solved(id, result, "parked", tried.choices.clone()));
            }
        }
    }
    all.extend(doubtful(world, &ids));
    // Times in records compare as their texts do.
    all.sort_by(|a, b| a.at.cmp(&b.at));
    let in_flight = world.state.run.in_flight.iter();
    let at_work = if world.state.run.status.is_active() { "running" } else { "waits" };
    all.extend(in_flight.filter(|intent| ids.contains(&&intent.atom)).map(|intent| AttemptView {
        n: u64::from(intent.n),
        started: intent.at.clone(),
        choices: intent.choices.clone(),
        reason: intent.turn.as_ref().map_or_else(String::new, CorrectingTurn::words),
        tried: intent.turn.as_ref().map(|turn| tools(&turn.tried)).unwrap_or_default(),
        ..ended(&intent.atom, Some(intent.id.clone()), at_work, "")
    }));
    all
}

pub(in crate::view) fn failed(world: &World, failure: &FailureEntry, at: &str) -> AttemptView {
    let tried = tried_in(world, &failure.atom, failure.context.as_ref());
    let fingerprint = failure.fingerprint.as_ref();
    AttemptView {
        n: u64::from(failure.nth.unwrap_or(1)),
        started: failure.started.clone(),
        class: failure.class.word().to_owned(),
        reason: failure.reason.clone(),
        fingerprint: fingerprint.map_or_else(String::new, ToString::to_string),
        choices: tried.map(|tried| tried.choices.clone()).unwrap_or_default(),
        evidence: failure.criteria.clone(),
        files: failure.files.clone(),
        summary: failure.summary.clone(),
        value: failure.value.clone(),
        handoff: failure.handoff.clone(),
        unclear: failure.unclear,
        changed: failure.changed.clone(),
        tried: tools(&failure.tried),
        output: failure.output.clone(),
        whole: failure.whole.clone(),
        ..ended(&failure.atom, Some(failure.attempt.clone()), "failed", at)
    }
}

/// An attempt of which no more is known.
fn ended(atom: &AtomId, attempt: Option<AttemptId>, ended: &'static str, at: &str) -> AttemptView {
    AttemptView {
        atom: atom.clone(),
        attempt,
        n: 1,
        ended,
        at: at.to_owned(),
        ..AttemptView::default()
    }
}

/// Attempts with an unknown end, about which a person is asked.
fn doubtful(world: &World, ids: &[&AtomId]) -> Vec<AttemptView> {
    let doubts = doubts(&world.state).into_iter();
    let asked: Vec<AttemptId> = doubts.map(|doubt| doubt.attempt).collect();
    let view = |entry: &Arc<Entry>| {
        let EntryKind::InDoubt(doubt) = &entry.kind else { return None };
        if !ids.contains(&&doubt.atom) || !asked.contains(&doubt.attempt) {
            return None;
        }
        let tried = tried_in(world, &doubt.atom, doubt.context.as_ref());
        Some(AttemptView {
            n: u64::from(tried.map_or(0, |tried| tried.attempts)) + 1,
            started: doubt.started.clone(),
            reason: doubt.reason.clone(),
            choices: tried.map(|tried| tried.choices.clone()).unwrap_or_default(),
            ..ended(&doubt.atom, Some(doubt.attempt.clone()), "in_doubt", &entry.at)
        })
    };
    world.state.trail.iter().filter_map(view).collect()
}

pub(in crate::view) fn solved(
    atom: &AtomId,
    result: &Binding,
    how: &'static str,
    choices: Choices,
) -> AttemptView {
    AttemptView {
        n: u64::from(result.attempts),
        by: result.by.clone(),
        skipped: result.is_skip(),
        reason: result.summary.clone(),
        choices,
        evidence: result.evidence.clone(),
        files: result.artifacts.clone(),
        commit: result.commit.clone(),
        tried: tools(&result.tried),
        unclear: result.unclear,
        unclear_because: result.unclear_because.clone(),
        ..ended(atom, None, how, &result.at)
    }
}
