//! Everything that was tried and dropped, and why: failures, selections that did not hold, changes of choices, plans.
//!
//! Not here: a failure's fingerprint (`fingerprint`).

use alloc::{
    collections::BTreeMap,
    string::{String, ToString},
    vec::Vec,
};
use serde::Serialize;

use super::super::{
    choices::{ChoiceView, choices},
    log::{event_of, failed_checks},
};
use crate::{
    event::{ChoiceChange, Event},
    fingerprint,
    id::{AgentName, AtomId, AttemptId, Digest},
    state::{
        Entry, EntryKind, FailureClass, PhaseLimit,
        record::{Choices, FailureEntry, ReplanPlace},
    },
    world::World,
};

/// As far as the state keeps it: older failures are left out of a long trail.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TriedReport {
    /// Failures that are alike together, by the first of each.
    pub failures: Vec<FailureGroup>,
    /// Every group with its choices.
    pub choices: Vec<ChoiceView>,
    /// Whole selections under which the base case did not hold.
    pub refuted: Vec<RefutedReport>,
    pub backtracks: Vec<BacktrackReport>,
    pub replans: Vec<ReplanReport>,
    /// Changes of the plan by planners, tried or taken.
    pub changes: Vec<PlanChangeReport>,
    /// Findings of probes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub probes: Vec<ProbeReport>,
    /// Parts of plans that their budgets left open.
    pub dropped: Vec<DroppedReport>,
    /// All of these but failures and choices, in their order.
    #[serde(skip)]
    pub story: Vec<Event>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProbeReport {
    pub at: String,
    pub atom: AtomId,
    /// Absent of a probe that found nothing out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub feasible: Option<bool>,
    pub findings: String,
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

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FailedAttempt {
    pub atom: AtomId,
    pub attempt: AttemptId,
    /// Counts from 1 in its context.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub n: Option<u32>,
    pub started: String,
    pub at: String,
    /// Its checks that held, where it was judged by some.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held: Option<u64>,
    /// All of its checks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub of: Option<u64>,
    /// The choices that the failure is due to.
    pub choices: Choices,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RefutedReport {
    pub at: String,
    pub choices: Choices,
    /// The checks that did not hold.
    pub failed: Vec<String>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BacktrackReport {
    pub at: String,
    pub changes: Vec<ChoiceChange>,
    pub reason: String,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReplanReport {
    pub at: String,
    pub atom: AtomId,
    pub round: u32,
    pub reason: String,
    /// How the plan that came of it differs from the one before.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub differs: String,
}

/// A change of the plan by a planner, or one that was not admitted.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlanChangeReport {
    pub at: String,
    /// The step that plans anew; absent where none was placed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub atom: Option<AtomId>,
    pub place: ReplanPlace,
    pub reason: String,
    pub failed: Vec<AtomId>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub refused: String,
    /// The refiner that proposed it, where one was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<AgentName>,
    /// The tasks that it added or changed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub atoms: Vec<AtomId>,
    /// Changes that may still be tried.
    pub left: u32,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DroppedReport {
    pub at: String,
    pub atom: AtomId,
    /// The budget that was used up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<PhaseLimit>,
    pub missing: Vec<AtomId>,
}

pub(super) fn tried(world: &World) -> TriedReport {
    let mut tried = TriedReport {
        failures: failures(world),
        choices: choices(world),
        story: world.state.trail.iter().filter_map(|entry| told(entry)).collect(),
        ..TriedReport::default()
    };
    for entry in world.state.trail.iter() {
        add(&mut tried, entry);
    }
    tried
}

fn told(entry: &Entry) -> Option<Event> {
    let is_told = matches!(
        entry.kind,
        EntryKind::Refuted(_)
            | EntryKind::Backtrack(_)
            | EntryKind::Refine(_)
            | EntryKind::Plan(_)
            | EntryKind::Replan(_)
            | EntryKind::Drop(_)
            | EntryKind::Probe(_)
    );
    is_told.then(|| event_of(entry)).flatten()
}

fn add(tried: &mut TriedReport, entry: &Entry) {
    let at = entry.at.clone();
    match &entry.kind {
        EntryKind::Refuted(one) => tried.refuted.push(RefutedReport {
            at,
            choices: one.conflict.clone(),
            failed: failed_checks(&one.evidence),
        }),
        EntryKind::Backtrack(one) => tried.backtracks.push(BacktrackReport {
            at,
            changes: one.changes.0.clone(),
            reason: one.reason.clone(),
        }),
        EntryKind::Refine(one) => tried.replans.push(ReplanReport {
            at,
            atom: one.atom.clone(),
            round: one.round,
            reason: one.reason.clone(),
            differs: String::new(),
        }),
        EntryKind::Plan(one) => {
            let mut again = tried.replans.iter_mut().rev();
            if let Some(again) = again.find(|again| again.atom == one.atom) {
                again.differs.clone_from(&one.differs);
            }
        }
        EntryKind::Replan(one) => tried.changes.push(PlanChangeReport {
            at,
            atom: one.atom.clone(),
            place: one.place,
            reason: one.reason.clone(),
            failed: one.failed.clone(),
            refused: one.refused.clone(),
            by: one.by.clone(),
            atoms: one.atoms.clone(),
            left: one.left,
        }),
        EntryKind::Drop(one) => tried.dropped.push(DroppedReport {
            at,
            atom: one.atom.clone(),
            limit: one.limit,
            missing: one.missing.clone(),
        }),
        EntryKind::Probe(one) => tried.probes.push(ProbeReport {
            at,
            atom: one.atom.clone(),
            feasible: one.feasible,
            findings: one.findings.clone(),
        }),
        EntryKind::Choice(_)
        | EntryKind::Failure(_)
        | EntryKind::InDoubt(_)
        | EntryKind::RequestRetired(_)
        | EntryKind::UserCorrection(_)
        | EntryKind::Other(_) => {}
    }
}

/// The newest tells most, since older ones are kept as lines.
fn failures(world: &World) -> Vec<FailureGroup> {
    let mut groups: Vec<FailureGroup> = Vec::new();
    let mut places: BTreeMap<Digest, usize> = BTreeMap::new();
    for entry in world.state.trail.iter() {
        let Some(failure) = entry.failure() else {
            continue;
        };
        let alike = match &failure.fingerprint {
            Some(known) => known.clone(),
            None => fingerprint::of(failure),
        };
        let place = *places.entry(alike.clone()).or_insert(groups.len());
        let before = groups.get_mut(place).map(|group| core::mem::take(&mut group.attempts));
        let mut attempts = before.unwrap_or_default();
        attempts.push(attempt(entry, failure));
        let group = group(alike, failure, attempts);
        match groups.get_mut(place) {
            Some(known) => *known = group,
            None => groups.push(group),
        }
    }
    groups
}

fn group(alike: Digest, failure: &FailureEntry, attempts: Vec<FailedAttempt>) -> FailureGroup {
    let checks = fingerprint::failed_checks(failure).into_iter();
    FailureGroup {
        fingerprint: alike,
        class: failure.class,
        reason: failure.reason.clone(),
        checks: checks.map(ToString::to_string).collect(),
        output: failure.output.clone(),
        attempts,
    }
}

fn attempt(entry: &Entry, failure: &FailureEntry) -> FailedAttempt {
    FailedAttempt {
        atom: failure.atom.clone(),
        attempt: failure.attempt.clone(),
        n: failure.nth,
        started: failure.started.clone(),
        at: entry.at.clone(),
        held: failure.confidence().map(|(held, _)| held),
        of: failure.confidence().map(|(_, of)| of),
        choices: failure.conflict.clone().unwrap_or_default(),
    }
}
