//! A person's word on an assertion becomes a correction of type `confirmation` (contract §3, §8).

use alloc::{
    boxed::Box,
    format,
    string::{String, ToString},
    sync::Arc,
    vec::Vec,
};

use super::{Adoption, free_id, merge};
use crate::{
    event::Event,
    id::{Serial, TreeId, UnixMillis},
    state::{
        Confirmation, Correction, State,
        encode::ChangeSet,
        record::{CorrectionRecord, CorrectionType, LostValue},
    },
    verdict::assertions::{Assertion, newest},
};

/// A person's answer to an assertion.
#[derive(Debug)]
pub struct Answer<'a> {
    pub assertion: &'a Assertion,
    pub holds: bool,
    /// The tree that was looked at, if the answer holds for that one alone.
    pub on: Option<&'a TreeId>,
    pub reason: Option<&'a str>,
}

/// Records an answer; `Err` with the earlier one if the same was recorded already.
pub fn confirm(
    state: &State,
    word: &Answer<'_>,
    by: &str,
    now: UnixMillis,
) -> Result<Adoption, Box<Confirmation>> {
    let on = word.on.map(|tree| tree.as_str().to_string());
    let (name, statement) = (&word.assertion.name, &word.assertion.statement);
    let counts = |earlier: &Confirmation| earlier.on.is_none() || earlier.on == on;
    if let Some(earlier) = newest(&state.corrections, name, statement, counts)
        && earlier.holds == word.holds
    {
        return Err(Box::new(earlier.clone()));
    }
    let mut state = state.clone();
    state.serial = Serial(state.serial.0 + 1);
    let confirms = Confirmation {
        name: name.clone(),
        holds: word.holds,
        commit: on.as_ref().and_then(|_| state.run.result().cloned()),
        on,
        by: by.to_string(),
        at: now.rfc3339(),
        reason: word.reason.map(ToString::to_string),
    };
    let what = describe(&confirms);
    let id = free_id(&state.corrections);
    let correction = Correction::new(CorrectionRecord {
        description: Some(what.clone()),
        name: Some(confirms.name),
        holds: Some(confirms.holds),
        on: confirms.on,
        commit: confirms.commit,
        reason: confirms.reason,
        ..CorrectionRecord::new(id, &confirms.at, CorrectionType::Confirmation, by)
    });
    state.corrections.push(Arc::new(correction));
    let effects = Vec::new();
    Ok(Adoption {
        state,
        touched: ChangeSet::default(),
        at: now.rfc3339(),
        effects: Vec::new(),
        events: Vec::from([Event::Corrected {
            what,
            effects,
            lost: Vec::new(),
        }]),
    })
}

fn describe(word: &Confirmation) -> alloc::string::String {
    let verb = if word.holds { "confirmed" } else { "denied" };
    let why = word
        .reason
        .as_ref()
        .map(|why| format!(" ({why})"))
        .unwrap_or_default();
    format!("{verb}: {}{why}", word.name)
}

/// Corrections that others added since `before`, for the loop that finds them in the file.
pub fn news(before: &State, after: &State) -> Vec<Event> {
    let added = after.corrections.iter().skip(before.corrections.len());
    let corrections = added.map(|one| corrected(&one.data));
    corrections.flatten().collect()
}

/// The event that a correction stands for.
pub fn corrected(correction: &CorrectionRecord) -> Option<Event> {
    Some(Event::Corrected {
        what: correction.description.clone()?,
        effects: correction.changes.clone(),
        lost: lost_lines(&correction.lost),
    })
}

/// The values that gave way in a correction, a line each.
pub fn lost_lines(lost: &[LostValue]) -> Vec<String> {
    lost.iter().map(merge::sentence).collect()
}
