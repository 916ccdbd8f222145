//! The subject of an event: its atom, and whether it belongs to the history; the event of an entry of the trail.

use super::Event;
use crate::doc::prelude::*;
use crate::{id::AtomId, state::EntryKind};

impl Event {
    /// Whether it belongs to the history. Any other matters only while the run goes on, or follows
    /// from one that does.
    pub fn is_lasting(&self) -> bool {
        !matches!(
            self,
            Event::AttemptStarted { .. }
                | Event::Transient { .. }
                | Event::Limited { .. }
                | Event::Adopted { .. }
                | Event::Interrupted { .. }
                | Event::Discarded { .. }
                | Event::Parked { .. }
                | Event::Revived { .. }
                | Event::Rebuilt { .. }
                | Event::BaseCase { .. }
                | Event::Disagreed { .. }
                | Event::Unsteady { .. }
                | Event::AwaitsChange { .. }
        )
    }

    /// The atom that it happened to.
    fn atom(&self) -> Option<&AtomId> {
        match self {
            Event::AttemptStarted { atom, .. }
            | Event::Solved { atom, .. }
            | Event::Planned { atom, .. }
            | Event::PlannedAgain { atom, .. }
            | Event::PhaseOver { atom, .. }
            | Event::AttemptFailed { atom, .. }
            | Event::Correcting { atom, .. }
            | Event::Transient { atom, .. }
            | Event::Limited { atom, .. }
            | Event::Adopted { atom, .. }
            | Event::Interrupted { atom, .. }
            | Event::Repair { atom, .. }
            | Event::InDoubt { atom, .. }
            | Event::NeedsGuidance { atom, .. }
            | Event::Attention { atom, .. }
            | Event::Rested { atom, .. }
            | Event::Parked { atom, .. }
            | Event::Revived { atom }
            | Event::Forgotten { atom }
            | Event::Chosen { group: atom, .. } => Some(atom),
            _ => None,
        }
    }

    /// Whether it tells something of this atom, or of this group.
    pub fn is_about(&self, id: &AtomId) -> bool {
        match self {
            Event::Replanned { atom, atoms, removed, .. } => {
                atom.as_ref() == Some(id) || atoms.contains(id) || removed.contains(id)
            }
            Event::Woken { atoms } => atoms.contains(id),
            Event::Backtracked { changes, .. } => changes.iter().any(|one| one.group == *id),
            Event::Rebuilt { taken_back, .. } => taken_back.contains(id),
            _ => self.atom() == Some(id),
        }
    }

    /// The values of a hand edit that gave way.
    pub fn lost(&self) -> &[String] {
        if let Event::Corrected { lost, .. } = self { lost } else { &[] }
    }

    /// Whether both tell the same, one of them perhaps with more.
    pub fn is_same_fact(&self, other: &Event) -> bool {
        core::mem::discriminant(self) == core::mem::discriminant(other)
            && self.atom() == other.atom()
    }

    /// The event that an entry of the trail stands for.
    pub fn of_entry(kind: &EntryKind) -> Option<Event> {
        let texts = |ids: &[AtomId]| ids.iter().map(ToString::to_string).collect();
        Some(match kind {
            EntryKind::Refuted(refuted) => Event::Refuted {
                choices: refuted.conflict.clone(),
                // Not an assertion of which nobody said anything.
                failed: refuted
                    .evidence
                    .iter()
                    .filter(|one| one.speaks_against())
                    .filter_map(|one| one.check.clone())
                    .collect(),
            },
            EntryKind::Choice(choice) => Event::Chosen {
                group: choice.group.clone(),
                choice: choice.choice.clone(),
                untried: choice.untried.len(),
            },
            EntryKind::Backtrack(backtrack) => Event::Backtracked {
                changes: backtrack.changes.0.clone(),
                because: backtrack.reason.clone(),
            },
            EntryKind::Failure(failure) => Event::AttemptFailed {
                attempt: failure.attempt.clone(),
                atom: failure.atom.clone(),
                ms: None,
                class: failure.class,
                reason: failure.reason.clone(),
                attempts_left: None,
                held: failure.confidence().map(|(held, _)| held),
                of: failure.confidence().map(|(_, of)| of),
            },
            EntryKind::Turn(turn) => Event::Correcting {
                attempt: turn.attempt.clone(),
                atom: turn.atom.clone(),
                ms: None,
                turn: turn.turn,
                of: turn.of,
                reason: turn.reason.clone(),
            },
            EntryKind::Asked(asked) => Event::NeedsGuidance {
                atom: asked.atom.clone(),
                question: asked.question.clone(),
                options: asked.options.clone(),
            },
            EntryKind::Plan(plan) => Event::Planned {
                attempt: plan.attempt.clone(),
                atom: plan.atom.clone(),
                ms: None,
                parts: texts(&plan.parts),
                atoms: None,
                differs: plan.differs.clone(),
                in_spite_of: Vec::new(),
            },
            EntryKind::Refine(refine) => Event::PlannedAgain {
                atom: refine.atom.clone(),
                round: refine.round,
                because: refine.reason.clone(),
            },
            EntryKind::Replan(replan) => Event::Replanned {
                atom: replan.atom.clone(),
                place: replan.place,
                because: replan.reason.clone(),
                refused: replan.refused.clone(),
                by: replan.by.clone(),
                atoms: replan.atoms.clone(),
                removed: replan.removed.clone(),
                changes_left: replan.left,
            },
            EntryKind::Probe(probe) => Event::Probed {
                attempt: probe.attempt.clone(),
                atom: probe.atom.clone(),
                ms: None,
                feasible: probe.feasible,
                findings: probe.findings.clone(),
            },
            EntryKind::Drop(dropped) => Event::PhaseOver {
                atom: dropped.atom.clone(),
                limit: dropped.limit?,
                is_partial: dropped.partial,
                missing: texts(&dropped.missing),
            },
            EntryKind::InDoubt(doubt) => Event::InDoubt {
                attempt: doubt.attempt.clone(),
                atom: doubt.atom.clone(),
                why: doubt.reason.clone(),
            },
            EntryKind::RequestRetired(retired) => {
                Event::Retired { request: retired.request.clone(), why: retired.why }
            }
            EntryKind::UserCorrection(correction) => Event::Corrected {
                kind: None,
                what: correction.description.clone(),
                effects: Vec::new(),
                lost: Vec::new(),
            },
            EntryKind::Other(_) => return None,
        })
    }
}
