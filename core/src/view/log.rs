//! The history that a state keeps: trail, corrections, results and the last ending, in order.

use alloc::{
    borrow::ToOwned,
    collections::BTreeSet,
    string::{String, ToString},
    vec::Vec,
};
use serde::Serialize;

use crate::{
    doc::{self, Member, Node},
    event::{ChoiceChange, Event},
    id::AtomId,
    state::{
        Binding, Entry, EntryKind, Extra, FreeValue, State, TryEnd, fields::Writer, record::type_of,
    },
    step::correct,
};

/// The author of the loop's own entries.
const LOOP: &str = "descent";

/// One entry of the log.
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
    #[serde(skip_serializing_if = "Option::is_none")]
    pub serial: Option<u64>,
    /// The record itself, or the event if there is no record.
    pub entry: FreeValue,
    /// The event that tells it, if one does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event: Option<Event>,
}

impl LogEntry {
    /// An event that no record of the state tells.
    pub fn of_event(event: &Event, at: String, by: String, serial: u64) -> Self {
        let text = serde_json::to_vec(event).unwrap_or_default();
        let entry = doc::parse_bytes(&text, &doc::Limits::default()).node;
        let entry = entry.unwrap_or_else(Node::null);
        Self {
            at,
            kind: text_of(&entry, "event"),
            by,
            serial: Some(serial),
            entry,
            event: Some(event.clone()),
        }
    }
}

/// The oldest first.
pub fn diary(state: &State) -> Vec<LogEntry> {
    let mut diary = corrections(state);
    let corrected: BTreeSet<String> = diary.iter().map(|entry| entry.at.clone()).collect();
    diary.extend(trail(state, &corrected));
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
        Some(Event::Refuted { .. }) => 2,
        Some(Event::Backtracked { .. } | Event::Chosen { .. }) => 3,
        Some(Event::Ended { .. }) => 9,
        _ => 0,
    };
    entries.sort_by(|a, b| (&a.at, rank(a)).cmp(&(&b.at, rank(b))));
}

fn text_of(node: &Node, key: &str) -> String {
    node.get(key)
        .and_then(Node::as_str)
        .unwrap_or("")
        .to_owned()
}

/// A correction of the graph is in the trail too; it is shown once.
fn trail<'s>(state: &'s State, told: &'s BTreeSet<String>) -> impl Iterator<Item = LogEntry> + 's {
    let entries = state.trail.iter().map(|entry| LogEntry {
        at: text_of(&entry.node, "at"),
        kind: type_of(entry),
        by: LOOP.to_owned(),
        serial: entry.node.get("serial").and_then(Node::as_u64),
        entry: entry.node.clone(),
        event: event_of(entry),
    });
    entries.filter(|entry| entry.kind != "user_correction" || !told.contains(&entry.at))
}

fn corrections(state: &State) -> Vec<LogEntry> {
    let entry = |node: &Node| LogEntry {
        at: text_of(node, "timestamp"),
        kind: text_of(node, "type"),
        by: Some(text_of(node, "by"))
            .filter(|by| !by.is_empty())
            .unwrap_or_else(|| "person".to_owned()),
        serial: None,
        entry: node.clone(),
        event: correct::corrected(node),
    };
    state
        .corrections
        .iter()
        .map(|correction| entry(&correction.node))
        .collect()
}

/// Results in force, and those that are kept until their choices come back.
fn solved(state: &State) -> Vec<LogEntry> {
    let bound = state
        .bindings
        .iter()
        .map(|(id, binding)| result(id, binding));
    let atoms = state.all_atoms();
    let tries = atoms
        .into_iter()
        .filter_map(|(id, atom)| Some((id, atom.task()?)));
    let parked = tries.flat_map(|(id, task)| {
        task.tries
            .iter()
            .filter_map(move |tried| match &tried.ended {
                Some(TryEnd::Parked(binding)) => Some(result(id, binding)),
                Some(TryEnd::Failed(_)) | None => None,
            })
    });
    bound.chain(parked).collect()
}

fn result(id: &AtomId, binding: &Binding) -> LogEntry {
    let mut to = Writer::default();
    to.text("atom", id.as_str())
        .text("summary", &binding.summary);
    to.put("attempts", Node::uint(u64::from(binding.attempts)));
    to.texts_unless_empty("artifacts", &binding.artifacts);
    to.some(
        "commit",
        binding
            .commit
            .as_ref()
            .map(|commit| Node::string(commit.as_str())),
    );
    let event = Event::Solved {
        attempt: None,
        atom: id.clone(),
        ms: None,
        files: binding.artifacts.clone(),
        commit: binding.commit.clone(),
        summary: binding.summary.clone(),
    };
    LogEntry {
        at: binding.at.clone(),
        kind: "solved".to_owned(),
        by: if binding.is_by_person() {
            "person".to_owned()
        } else {
            LOOP.to_owned()
        },
        serial: None,
        entry: to.finish(&Extra::default()),
        event: Some(event),
    }
}

fn request(state: &State) -> Option<LogEntry> {
    let request = state.control.request.as_ref()?;
    let mut to = Writer::default();
    to.text("kind", request.kind.word());
    to.some(
        "reason",
        state.control.stop_reason.as_deref().map(Node::string),
    );
    Some(LogEntry {
        at: request.at.clone(),
        kind: "request".to_owned(),
        by: request.by.to_string(),
        serial: None,
        entry: to.finish(&Extra::default()),
        event: Some(Event::Requested {
            request: request.kind,
            reason: state.control.stop_reason.clone(),
        }),
    })
}

/// The last ending; the state keeps no earlier ones.
fn ending(state: &State) -> Option<LogEntry> {
    let result = state.run.last_result.as_ref()?;
    let mut to = Writer::default();
    for key in ["result", "reason", "summary"] {
        to.text(key, &text_of(result, key));
    }
    Some(LogEntry {
        at: Some(text_of(result, "at")).filter(|at| !at.is_empty())?,
        kind: "ended".to_owned(),
        by: LOOP.to_owned(),
        serial: None,
        entry: to.finish(&Extra::default()),
        event: renamed(result, "ended", "", ""),
    })
}

/// The event that an entry of the trail stands for.
pub fn event_of(entry: &Entry) -> Option<Event> {
    let node = &entry.node;
    let event = match &entry.kind {
        EntryKind::Refuted { conflict, .. } => Event::Refuted {
            choices: conflict.clone(),
            failed: failed_checks(node),
        },
        EntryKind::Choice { group, choice } => Event::Chosen {
            group: group.clone(),
            choice: choice.clone(),
            untried: list(node, "untried").len(),
        },
        EntryKind::Backtrack => Event::Backtracked {
            changes: choice_changes(node),
            because: text_of(node, "reason"),
        },
        EntryKind::Failure { .. } => return renamed(node, "attempt_failed", "", ""),
        EntryKind::Other => return other_event(node, &type_of(entry)),
    };
    Some(event)
}

fn other_event(node: &Node, kind: &str) -> Option<Event> {
    match kind {
        "plan" => renamed(node, "planned", "", ""),
        "refine" => renamed(node, "planned_again", "reason", "because"),
        "drop" => renamed(node, "phase_over", "partial", "is_partial"),
        "in_doubt" => renamed(node, "in_doubt", "reason", "why"),
        "request_retired" => renamed(node, "retired", "", ""),
        "user_correction" => correct::corrected(node),
        _ => None,
    }
}

/// The event with the keys of a record, of which `key` is named `name` there.
fn renamed(record: &Node, event: &str, key: &str, name: &str) -> Option<Event> {
    let mut value = serde_json::to_value(record).ok()?;
    let members = value.as_object_mut()?;
    if let Some(value) = members.remove(key) {
        members.insert(name.to_owned(), value);
    }
    members.insert("event".to_owned(), event.into());
    let event = serde_json::from_value(value).ok()?;
    (!matches!(event, Event::Unknown(_))).then_some(event)
}

/// The checks that spoke against a selection: not an assertion of which nobody said anything.
fn failed_checks(node: &Node) -> Vec<String> {
    let has_failed = |proof: &&Node| match text_of(proof, "verdict").as_str() {
        "pass" => false,
        "unknown" => proof.get("duration_ms").is_some(),
        _ => true,
    };
    let failed = list(node, "evidence").iter().filter(has_failed);
    failed.map(|proof| text_of(proof, "check")).collect()
}

fn choice_changes(node: &Node) -> Vec<ChoiceChange> {
    let members = node.get("changes").and_then(Node::as_object);
    let change = |member: &Member| {
        let ends = member.node.as_array().unwrap_or_default();
        let end = |i: usize| Some(AtomId::new(ends.get(i)?.as_str()?));
        Some(ChoiceChange {
            group: AtomId::new(member.key.as_str()),
            from: end(0),
            to: end(1)?,
        })
    };
    members
        .unwrap_or_default()
        .iter()
        .filter_map(change)
        .collect()
}

fn list<'n>(node: &'n Node, key: &str) -> &'n [Node] {
    node.get(key).and_then(Node::as_array).unwrap_or_default()
}
