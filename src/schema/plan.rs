//! Shadow type of a plan: what `align --plan` reads.
//!
//! Nothing is required that a flag of `align` can say.
#![allow(dead_code)] // The types are never made: only their schemas are.

use schemars::JsonSchema;
use serde_json::Value;

use super::shared::{Check, Constraints, WorkGraph};

/// What shall be reached, and the first graph of the work
#[derive(JsonSchema)]
#[schemars(title = "descent plan")]
pub(super) struct Plan {
    objective: Objective,
    work_graph: Option<WorkGraph>,
}

/// What shall be reached, and how a machine sees it
#[derive(JsonSchema)]
struct Objective {
    /// The person's words; the goal unless given
    raw_input: Option<String>,
    goal: Option<String>,
    /// Why it is wanted
    background_intent: Option<String>,
    /// What shall exist; rendered from the checks unless given
    deliverables: Option<String>,
    /// When it is done; rendered from the checks unless given
    definition_of_done: Option<String>,
    scope: Option<Value>,
    clarifications: Option<Value>,
    /// What ends the run when it holds; one leaf at least is decided by a machine
    base_case: Option<Check>,
    constraints: Option<Constraints>,
}
