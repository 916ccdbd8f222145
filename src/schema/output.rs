//! Shadow types of what `--json` prints, a type a `schema` word.
//!
//! Keys may be added within a schema's number; none is taken away or changes its meaning.
#![allow(dead_code)] // The types are never made: only their schemas are.

use schemars::JsonSchema;

/// An event: a line of `descent run --json`; more keys by kind
#[derive(JsonSchema)]
#[schemars(title = "descent/event/1")]
pub(crate) struct Event {
    schema: String,
    event: EventKind,
    attempt: Option<String>,
    atom: Option<String>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "snake_case")]
enum EventKind {
    RunStarted,
    AttemptStarted,
    Solved,
    AttemptFailed,
    Transient,
    Adopted,
    Interrupted,
    Repair,
    InDoubt,
    Discarded,
    Chosen,
    Refuted,
    Backtracked,
    Parked,
    Revived,
    Forgotten,
    Rebuilt,
    BaseCase,
    Corrected,
    Requested,
    Retired,
    Ended,
}
