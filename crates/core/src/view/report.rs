//! The report of a run as one value: what was agreed, how it ended, and all that was done and tried for it.
//!
//! Invariant: it follows from the state alone, so the same state gives the same report. Not here: how it is written
//! (the shell).

use crate::doc::prelude::*;
use serde::Serialize;

use super::{
    SpentView,
    graph::{ChoiceView, NodeView, choices, graph},
    judged::{self, AttentionView, JudgedView, LawView, ProfileView, UnclearView, judged},
    leaves::{ConfidenceView, LeafView, confidence, leaves},
    log::{self, LogEntry},
    next::{by_the_state, is_changed_since},
    spent,
    why::{
        self,
        attempts::{self, AttemptView},
    },
};
use crate::{
    audit::{self, AuditFinding},
    fingerprint,
    id::{AtomId, AttemptId, CommitId, Digest, Lineage},
    search,
    state::{
        AtomStatus, Entry, EntryKind, FailureClass, FreeValue, PatternRecord, State, Task,
        final_result::FinalResultRecord, limits, record::Choices,
    },
    step::run_end,
    world::{
        World,
        earlier::{Doubt, doubts},
    },
};

/// All that was agreed, done and tried: `descent report --json`
#[serde_with::skip_serializing_none]
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Report {
    pub schema: &'static str,
    pub lineage: Lineage,
    pub serial: u64,
    pub agreement: AgreementReport,
    pub outcome: OutcomeReport,
    /// Every atom, each group before its members.
    pub work: Vec<AtomReport>,
    pub tried: TriedReport,
    #[serde(flatten)]
    pub judged: JudgedView,
    /// The kind of task, where somebody said it.
    pub profile: Option<ProfileView>,
    /// The curve of the control law, with what followed its directives.
    pub law: Option<LawView>,
    /// The auditor's findings in the state alone.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<AuditFinding>,
    /// Atoms that a person should look at.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub attention: Vec<AttentionView>,
    /// Questions about tasks, with what is assumed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<UnclearView>,
    /// The changes that people made, the oldest first.
    pub corrections: Vec<LogEntry>,
    /// Failures that several atoms share.
    pub patterns: Vec<PatternRecord>,
    pub spent: SpentView,
    /// The moves of a person, the best first.
    pub next: Vec<String>,
}

/// How it stands, and the last ending with its account; without an ending only the status is known.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OutcomeReport {
    #[cfg_attr(feature = "schema", schemars(extend("enum" = crate::state::RunStatus::WORDS.map(|(word, _)| word))))]
    pub status: &'static str,
    /// The final result. Nothing more is tried by itself.
    #[serde(flatten)]
    pub last: Option<FinalResultRecord>,
    /// Whether a person changed something since this ending.
    pub changed_since: bool,
    /// Effects outside of which nobody knows whether they happened.
    pub doubts: Vec<Doubt>,
    /// The commit that the run started from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base: Option<CommitId>,
    /// The commit of the result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<CommitId>,
}

/// The agreement: the words, the checks with the newest verdict on each, and the constraints that somebody chose.
#[serde_with::skip_serializing_none]
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
    pub scope: Option<FreeValue>,
    pub clarifications: Option<FreeValue>,
    /// Each leaf of the base case, as written.
    pub base_case: Vec<LeafView>,
    /// The constraints that somebody chose.
    pub constraints: Vec<ConstraintReport>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ConstraintReport {
    pub key: String,
    pub value: FreeValue,
}

fn agreement(world: &World) -> AgreementReport {
    let objective = &world.state.objective;
    let in_force = limits::in_force(&objective.constraints).into_iter();
    let chosen = in_force.filter(|one| one.is_chosen);
    let has_words = !objective.raw_input.is_empty();
    AgreementReport {
        raw_input: if has_words { &objective.raw_input } else { &objective.goal }.clone(),
        goal: objective.goal.clone(),
        background_intent: objective.background_intent.clone(),
        deliverables: objective.deliverables.clone(),
        definition_of_done: objective.definition_of_done.clone(),
        scope: objective.scope.clone(),
        clarifications: objective.clarifications.clone(),
        base_case: leaves(world),
        constraints: chosen
            .map(|one| ConstraintReport { key: one.key, value: one.value })
            .collect(),
    }
}

pub fn report(world: &World) -> Report {
    let state = &world.state;
    Report {
        schema: "descent/report/1",
        lineage: state.lineage.clone(),
        serial: state.serial.0,
        agreement: agreement(world),
        outcome: outcome(world),
        work: work(world),
        patterns: super::patterns(state),
        tried: tried(world),
        judged: judged(state),
        profile: judged::profile(state),
        law: judged::law_of_run(state),
        findings: audit::audit(world),
        attention: judged::marks(state),
        questions: judged::questions(state),
        corrections: log::corrections(state),
        spent: spent(state),
        next: by_the_state(world),
    }
}

fn outcome(world: &World) -> OutcomeReport {
    let state = &world.state;
    let last = run_end::last_result(world);
    OutcomeReport {
        status: state.run.status.word(),
        changed_since: last.is_some() && is_changed_since(world),
        last,
        doubts: doubts(state),
        base: state.run.started_from.as_ref().map(|from| from.commit.clone()),
        commit: state.run.result().cloned(),
    }
}

#[serde_with::skip_serializing_none]
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AtomReport {
    #[serde(flatten)]
    pub node: NodeView,
    /// Its own checks.
    pub checks: Vec<String>,
    /// The number of them that held when it was last judged.
    pub confidence: Option<ConfidenceView>,
    /// A person's words on it.
    pub guidance: Vec<String>,
    /// Attempts that were counted, in all contexts.
    pub attempts: u64,
    pub repairs: u64,
    pub solved: Option<AttemptView>,
    /// Its newest failure, unless it is solved.
    pub failed: Option<AttemptView>,
    /// The agent's words why it cannot be done.
    pub invalid: Option<String>,
}

fn work(world: &World) -> Vec<AtomReport> {
    let nodes = graph(world).nodes.into_iter();
    nodes.map(|node| atom(world, node)).collect()
}

fn atom(world: &World, node: NodeView) -> AtomReport {
    let state = &world.state;
    let task = state.atom(&node.id).and_then(|atom| atom.task());
    let tries = search::tries(state, &node.id);
    let solved = solved(state, &node.id);
    let is_solved = state.bindings.contains_key(&node.id);
    let failure = state.newest_failure(&node.id).filter(|_| !is_solved);
    AtomReport {
        checks: why::checks(task),
        confidence: confidence(state, &node.id),
        guidance: task.map(|task| task.spec.guidance.clone()).unwrap_or_default(),
        attempts: tries.iter().map(|tried| u64::from(tried.attempts)).sum(),
        repairs: tries.iter().map(|tried| u64::from(tried.repairs)).sum(),
        failed: failure.map(|(entry, one)| attempts::failed(world, one, &entry.at)),
        invalid: task.and_then(invalid),
        solved,
        node,
    }
}

fn invalid(task: &Task) -> Option<String> {
    let AtomStatus::Invalid(report) = &task.status else { return None };
    Some(report.words.clone())
}

/// The result in force, else the newest that was set aside.
fn solved(state: &State, id: &AtomId) -> Option<AttemptView> {
    if let Some(binding) = state.bindings.get(id) {
        return Some(attempts::solved(id, binding, "solved", Choices::new()));
    }
    let mut tries = search::tries(state, id).iter().rev();
    tries.find_map(|tried| {
        Some(attempts::solved(id, tried.parked()?, "parked", tried.choices.clone()))
    })
}

/// As far as the state keeps it: older failures are left out of a long trail.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TriedReport {
    /// Failures that are alike together, by the first of each.
    pub failures: Vec<FailureGroup>,
    /// Every group with its choices.
    pub choices: Vec<ChoiceView>,
    /// Decisions in order: refuted selections, other choices, plans and changes of them, findings of probes, parts that a
    /// budget left open.
    pub story: Vec<LogEntry>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FailureGroup {
    /// Equal for failures that are alike.
    pub fingerprint: Digest,
    /// The newest tells class, reason, checks and output.
    pub class: FailureClass,
    pub reason: String,
    /// The checks of the atom that did not hold.
    pub checks: Vec<String>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub output: String,
    pub attempts: Vec<FailedAttempt>,
}

#[serde_with::skip_serializing_none]
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FailedAttempt {
    pub atom: AtomId,
    pub attempt: AttemptId,
    /// Counts from 1 in its context.
    pub n: Option<u32>,
    pub started: String,
    pub at: String,
    /// Its checks that held, where it was judged by some.
    pub held: Option<u64>,
    /// All of its checks.
    pub of: Option<u64>,
    /// The choices that the failure is due to.
    pub choices: Choices,
}

fn tried(world: &World) -> TriedReport {
    let is_told = |entry: &&Arc<Entry>| {
        matches!(
            entry.kind,
            EntryKind::Refuted(_)
                | EntryKind::Backtrack(_)
                | EntryKind::Refine(_)
                | EntryKind::Plan(_)
                | EntryKind::Replan(_)
                | EntryKind::Drop(_)
                | EntryKind::Probe(_)
                | EntryKind::Turn(_)
                | EntryKind::Asked(_)
        )
    };
    let story = world.state.trail.iter().filter(is_told);
    TriedReport {
        failures: failures(world),
        choices: choices(world),
        story: story.map(|entry| LogEntry::of_entry(entry)).collect(),
    }
}

/// The newest tells most, since older ones are kept as lines.
fn failures(world: &World) -> Vec<FailureGroup> {
    let mut groups: Vec<FailureGroup> = Vec::new();
    let mut places: BTreeMap<Digest, usize> = BTreeMap::new();
    for entry in world.state.trail.iter() {
        let Some(failure) = entry.failure() else { continue };
        let alike = failure.fingerprint.clone().unwrap_or_else(|| fingerprint::of(failure));
        let place = *places.entry(alike.clone()).or_insert(groups.len());
        let before = groups.get_mut(place).map(|group| core::mem::take(&mut group.attempts));
        let mut attempts = before.unwrap_or_default();
        let (held, of) = failure.confidence().unzip();
        attempts.push(FailedAttempt {
            atom: failure.atom.clone(),
            attempt: failure.attempt.clone(),
            n: failure.nth,
            started: failure.started.clone(),
            at: entry.at.clone(),
            held,
            of,
            choices: failure.conflict.clone().unwrap_or_default(),
        });
        let checks = fingerprint::failed_checks(failure).into_iter();
        let group = FailureGroup {
            fingerprint: alike,
            class: failure.class,
            reason: failure.reason.clone(),
            checks: checks.map(ToString::to_string).collect(),
            output: failure.output.clone(),
            attempts,
        };
        match groups.get_mut(place) {
            Some(known) => *known = group,
            None => groups.push(group),
        }
    }
    groups
}

#[cfg(test)]
mod tests;
