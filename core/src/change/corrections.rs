//! The events that corrections in a state stand for.

use alloc::vec::Vec;

use super::lost_lines;
use crate::{
    event::Event,
    state::{State, record::CorrectionRecord},
};

/// Corrections that others added since `before`, for the loop that finds them in the file.
pub fn news(before: &State, after: &State) -> Vec<Event> {
    let added = after.corrections.iter().skip(before.corrections.len());
    let corrections = added.map(|one| corrected(&one.data));
    corrections.flatten().collect()
}

/// The event that a correction stands for.
pub fn corrected(correction: &CorrectionRecord) -> Option<Event> {
    Some(Event::Corrected {
        kind: correction.told_as(),
        what: correction.description.clone()?,
        effects: correction.changes.clone(),
        lost: lost_lines(&correction.lost),
    })
}
