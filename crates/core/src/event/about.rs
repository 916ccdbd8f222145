//! The subject of an event: its atom, and whether it belongs to the history.

use alloc::string::String;

use super::Event;
use crate::id::AtomId;

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
        let (Event::AttemptStarted { atom, .. }
        | Event::Solved { atom, .. }
        | Event::Planned { atom, .. }
        | Event::PlannedAgain { atom, .. }
        | Event::PhaseOver { atom, .. }
        | Event::AttemptFailed { atom, .. }
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
        | Event::Chosen { group: atom, .. }) = self
        else {
            return None;
        };
        Some(atom)
    }

    /// Whether it tells something of this atom, or of this group.
    pub fn is_about(&self, id: &AtomId) -> bool {
        if let Event::Replanned { atom, atoms, removed, .. } = self {
            atom.as_ref() == Some(id) || atoms.contains(id) || removed.contains(id)
        } else if let Event::Woken { atoms } = self {
            atoms.contains(id)
        } else if let Event::Backtracked { changes, .. } = self {
            changes.iter().any(|change| change.group == *id)
        } else if let Event::Rebuilt { taken_back, .. } = self {
            taken_back.contains(id)
        } else {
            self.atom() == Some(id)
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
}
