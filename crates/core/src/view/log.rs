//! The history that a state keeps: trail, corrections, results and the last ending, in order.

use crate::doc::prelude::*;
use serde::Serialize;

use crate::{
    change,
    doc::{self, Node},
    event::Event,
    id::AtomId,
    state::{Binding, Correction, Entry, EntryKind, FreeValue, State, record::CorrectionType},
};

/// The author of the loop's own entries.
const LOOP: &str = "descent";

/// One entry of the log.
#[serde_with::skip_serializing_none]
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LogEntry {
    pub at: String,
    /// The type of the record: `choice`, `failure`, `refuted`, `backtrack`, `solved`, `ended`, `request`, or that of a
    /// correction.
    pub kind: String,
    /// `descent`, or the person who asked.
    pub by: String,
    /// The commit of the entry, if known.
    pub serial: Option<u64>,
    /// The record itself, or the event if there is no record.
    pub entry: FreeValue,
    /// The event that tells it, if one does.
    pub event: Option<Event>,
}

impl LogEntry {
    pub(super) fn of_entry(entry: &Entry) -> Self {
        Self {
            at: entry.at.clone(),
            kind: entry.kind.word().to_owned(),
            by: LOOP.to_owned(),
            serial: entry.serial,
            entry: entry.node.clone(),
            event: Event::of_entry(&entry.kind),
        }
    }

    /// An event that no record of the state tells.
    pub fn of_event(event: &Event, at: String, by: String, serial: Option<u64>) -> Self {
        let text = serde_json::to_vec(event).unwrap_or_default();
        let entry = doc::parse_bytes(&text, &doc::Limits::default()).node;
        let entry = entry.unwrap_or_else(Node::null);
        Self { at, kind: text_of(&entry, "event"), by, serial, entry, event: Some(event.clone()) }
    }
}

/// The oldest first.
pub fn diary(state: &State) -> Vec<LogEntry> {
    let mut diary = corrections(state);
    // A correction of the graph is in the trail too; it is shown once.
    let corrected: BTreeSet<String> = diary.iter().map(|entry| entry.at.clone()).collect();
    let is_shown = |entry: &&Arc<Entry>| {
        !matches!(entry.kind, EntryKind::UserCorrection(_)) || !corrected.contains(&entry.at)
    };
    diary.extend(state.trail.iter().filter(is_shown).map(|entry| LogEntry::of_entry(entry)));
    diary.extend(solved(state));
    diary.extend(request(state));
    diary.extend(ending(state));
    sort(&mut diary);
    diary
}

/// The oldest first. Times in records compare as text; entries of the same time are sorted by cause
/// and effect.
pub fn sort(entries: &mut [LogEntry]) {
    let rank = |entry: &LogEntry| match &entry.event {
        Some(Event::Solved { .. } | Event::AttemptFailed { .. }) => 1,
        Some(Event::Refuted { .. } | Event::NeedsGuidance { .. } | Event::Pattern { .. }) => 2,
        Some(Event::Rested { .. } | Event::Woken { .. }) => 2,
        Some(Event::Law { .. }) => 3,
        Some(Event::PlannedAgain { .. } | Event::Replanned { .. }) => 4,
        Some(Event::Backtracked { .. } | Event::Chosen { .. }) => 4,
        Some(Event::Ended { .. }) => 9,
        _ => 0,
    };
    entries.sort_by(|a, b| (&a.at, rank(a)).cmp(&(&b.at, rank(b))));
}

fn text_of(node: &Node, key: &str) -> String {
    node.get(key).and_then(Node::as_str).unwrap_or("").to_owned()
}

pub(super) fn corrections(state: &State) -> Vec<LogEntry> {
    let entry = |one: &Arc<Correction>| LogEntry {
        at: one.data.timestamp.clone().unwrap_or_default(),
        kind: one.data.kind.map_or("", CorrectionType::word).to_owned(),
        by: one.data.by.clone().unwrap_or_else(|| "person".to_owned()),
        serial: None,
        entry: one.node.clone(),
        event: change::corrected(&one.data),
    };
    state.corrections.iter().map(entry).collect()
}

/// Results in force, and those that are kept until their choices come back.
fn solved(state: &State) -> Vec<LogEntry> {
    let bound = state.bindings.iter().map(|(id, binding)| result(id, binding));
    let parked = state.all_tries().filter_map(|(id, tried)| Some(result(id, tried.parked()?)));
    bound.chain(parked).collect()
}

fn result(id: &AtomId, binding: &Binding) -> LogEntry {
    let event = Event::Solved {
        attempt: None,
        atom: id.clone(),
        ms: None,
        files: binding.artifacts.clone(),
        commit: binding.commit.clone(),
        summary: binding.summary.clone(),
        unclear: binding.unclear_because.clone(),
        not_taken: String::new(),
    };
    let by = if binding.is_by_person() { "person" } else { LOOP };
    LogEntry::of_event(&event, binding.at.clone(), by.to_owned(), None)
}

fn request(state: &State) -> Option<LogEntry> {
    let request = state.control.request.as_ref()?;
    let event =
        Event::Requested { request: request.kind, reason: state.control.stop_reason.clone() };
    Some(LogEntry::of_event(&event, request.at.clone(), request.by.to_string(), None))
}

/// The last ending; the state keeps no earlier ones.
fn ending(state: &State) -> Option<LogEntry> {
    let (ending, result) = (state.run.last_ending()?, state.run.status);
    let event = Event::Ended { result, reason: ending.reason?, summary: ending.summary.clone() };
    Some(LogEntry::of_event(&event, ending.ended.clone()?, LOOP.to_owned(), None))
}
