//! The merge of a hand edit, held to its laws: over random edits of a state on both sides, and over named cases.
//!
//! A side is a list of small changes of one JSON text, so that the typed text of each is known.

#![allow(clippy::panic, reason = "a failure tells its case")]

mod laws;
mod named;

use descent_core::{
    change::{self, Adoption, MergeOutcome},
    doc::Node,
    graph::validate,
    id::UnixMillis,
    state::{State, decode::decode, encode::StateText},
};
use serde_json::{Value, json};
use std::sync::Arc;

/// A state as it was when the edit began.
fn beginning() -> Value {
    let digest = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    json!({
        "version": "3.0", "lineage": "one", "serial": 7, "seal": "",
        "objective": {
            "raw_input": "it", "goal": "it is so", "background_intent": "because", "deliverables": "this",
            "definition_of_done": "then", "base_case": {"all": [{"command": "test -f done"}, {"command": "true"}]},
            "constraints": {"max_attempts": 2, "protected": ["tests/**"]}
        },
        "control": {"stop_requested": false, "stop_reason": null, "redirect_requested": false, "request": null},
        "work_graph": {"atoms": {
            "A1": {"kind": "task", "description": "one", "depends_on": [], "status": "pending",
                   "action": {"run": "echo 1"}, "touches": ["src/**"]},
            "A2": {"kind": "task", "description": "two", "depends_on": ["A1"], "status": "pending",
                   "action": {"run": "echo 2"}},
            "A3": {"kind": "task", "description": "three", "depends_on": ["A1", "A2"], "status": "failed",
                   "tries": [{"context": digest, "attempts": 2, "ended": "failed", "class": "logical"}],
                   "action": {"run": "echo 3"}},
            "G": {"kind": "any", "choices": ["C1", "C2"], "selected": null, "depends_on": []},
            "C1": {"kind": "task", "description": "c1", "depends_on": [], "status": "pending"},
            "C2": {"kind": "task", "description": "c2", "depends_on": [], "status": "pending"}
        }},
        "bindings": {
            "B1": {"summary": "done", "attempts": 1, "by": "action", "at": "2026-01-01T00:00:00Z",
                   "of": {"kind": "task", "description": "b", "depends_on": [], "status": "pending"}}
        },
        "trail": [{"type": "choice", "at": "2026-01-01T00:00:00Z", "serial": 3, "pass": 1, "group": "G", "choice": "C1"}],
        "corrections": [{"id": "c1", "timestamp": "2026-01-01T00:00:00Z", "type": "guidance", "description": "so"}],
        "run": {"status": "running", "epoch": 1, "iteration": 4, "pass": 2, "attempts_started": 4, "in_flight": [],
                "spent": {"attempts": 4, "transient": 0, "repairs": 0, "active": "0.005s"}}
    })
}

/// Fails if the value is no valid state.
fn state(value: &Value) -> State {
    try_state(value).unwrap_or_else(|faults| panic!("{faults}\n{value:#}"))
}

fn try_state(value: &Value) -> Result<State, String> {
    let decoded = decode(crate::whole_records::file(value).to_string().as_bytes());
    let mut faults = decoded.faults;
    if let (Some(state), Some(root)) = (&decoded.state, &decoded.root) {
        faults.extend(validate::check(state, root));
    }
    match decoded.state {
        Some(mut state) if faults.is_empty() => {
            // No change of these moves an atom: a result does not lie apart from its atom in a file.
            state.order = Arc::new(state.all_atoms().into_keys().cloned().collect());
            Ok(state)
        }
        _ => Err(format!("{faults:?}")),
    }
}

/// The content of a state, whatever the order of its keys and its atoms.
fn content(state: &State) -> Value {
    let value: Value = serde_json::from_str(&StateText::of(state).text(state)).expect("JSON");
    let mut value = crate::whole_records::whole(&value);
    value["seal"] = json!("");
    value.as_object_mut().expect("a state").remove("order");
    value
}

fn merge(base: &Value, ours: &Value, theirs: &Value) -> MergeOutcome {
    change::merge(Some(&state(base)), Some(&state(ours)), &state(theirs))
}

/// The commit that adopts the merge.
fn adopt(ours: &Value, merged: MergeOutcome) -> Adoption {
    change::adopt(Some(&state(ours)), merged, "ada", UnixMillis(1_000))
}

/// Whether a text is anywhere in the merged state, or in the lost values.
fn holds(merged: &MergeOutcome, text: &str) -> bool {
    let lost = merged.lost.iter().map(|lost| lost.node());
    let lost = descent_core::doc::write(&Node::array(lost.collect()));
    content(&merged.state).to_string().contains(text) || lost.contains(text)
}
