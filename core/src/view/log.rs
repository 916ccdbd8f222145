//! The history that a state keeps: trail, corrections, results and the last ending, in order.

use alloc::{
    borrow::ToOwned,
    collections::BTreeSet,
    string::{String, ToString},
    vec::Vec,
};
use serde::Serialize;

use crate::{
    doc::Node,
    id::AtomId,
    state::{Binding, Extra, FreeValue, State, TryEnd, fields::Writer, record::type_of},
};

/// The author of the loop's own entries.
const LOOP: &str = "descent";

/// One entry of the log.
#[derive(Debug, Serialize)]
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
    /// The record itself.
    pub entry: FreeValue,
}

/// The oldest first.
pub fn diary(state: &State) -> Vec<LogEntry> {
    let mut diary = corrections(state);
    let corrected: BTreeSet<String> = diary.iter().map(|entry| entry.at.clone()).collect();
    diary.extend(trail(state, &corrected));
    diary.extend(solved(state));
    diary.extend(request(state));
    diary.extend(ending(state));
    // Times in records compare as text; entries of the same time are sorted by cause and effect.
    diary.sort_by(|a, b| (&a.at, rank(&a.kind)).cmp(&(&b.at, rank(&b.kind))));
    diary
}

/// Sorts causes before effects within one commit.
fn rank(kind: &str) -> u8 {
    match kind {
        "solved" | "failure" => 1,
        "refuted" => 2,
        "backtrack" | "choice" => 3,
        "ended" => 9,
        _ => 0,
    }
}

fn text(node: &Node, key: &str) -> String {
    node.get(key)
        .and_then(Node::as_str)
        .unwrap_or("")
        .to_owned()
}

/// A correction of the graph is in the trail too; it is shown once.
fn trail<'s>(state: &'s State, told: &'s BTreeSet<String>) -> impl Iterator<Item = LogEntry> + 's {
    let entries = state.trail.iter().map(|entry| LogEntry {
        at: text(&entry.node, "at"),
        kind: type_of(entry),
        by: LOOP.to_owned(),
        serial: entry.node.get("serial").and_then(Node::as_u64),
        entry: entry.node.clone(),
    });
    entries.filter(|entry| entry.kind != "user_correction" || !told.contains(&entry.at))
}

fn corrections(state: &State) -> Vec<LogEntry> {
    let entry = |node: &Node| LogEntry {
        at: text(node, "timestamp"),
        kind: text(node, "type"),
        by: Some(text(node, "by"))
            .filter(|by| !by.is_empty())
            .unwrap_or_else(|| "person".to_owned()),
        serial: None,
        entry: node.clone(),
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
    })
}

/// The last ending; the state keeps no earlier ones.
fn ending(state: &State) -> Option<LogEntry> {
    let result = state.run.last_result.as_ref()?;
    let mut to = Writer::default();
    for key in ["result", "reason", "summary"] {
        to.text(key, &text(result, key));
    }
    Some(LogEntry {
        at: Some(text(result, "at")).filter(|at| !at.is_empty())?,
        kind: "ended".to_owned(),
        by: LOOP.to_owned(),
        serial: None,
        entry: to.finish(&Extra::default()),
    })
}
