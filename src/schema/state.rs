//! Shadow types of the state file, beside what it shares with a plan.
//!
//! Required is what the core or the start gate requires, no more.
#![allow(dead_code)] // The types are never made: only their schemas are.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde_json::Value;

use super::shared::{AtomId, Binding, Check, Constraints, Count, Effect, WorkGraph};

/// The state file: what was agreed, what is done, what is under way
#[derive(JsonSchema)]
#[schemars(title = "descent state")]
pub(crate) struct State {
    /// For editors: where this schema is
    #[serde(rename = "$schema")]
    schema: Option<String>,
    /// The version of the contract: major.minor
    #[schemars(regex(pattern = r"^2\.[0-9]+$"))]
    version: String,
    /// Born with `align`, never changes
    lineage: String,
    /// Counts the commits of this file
    serial: Count,
    /// A mismatch means that a person edited the file
    seal: String,
    objective: Objective,
    control: Control,
    work_graph: WorkGraph,
    /// Resolved atoms
    bindings: BTreeMap<AtomId, Binding>,
    /// Choices, failures and backtracks, in order
    trail: Vec<Entry>,
    /// Changes made by people, in order
    corrections: Vec<Correction>,
    run: Run,
}

/// The goal, and how a machine checks it
#[derive(JsonSchema)]
struct Objective {
    /// The person's words, never rewritten
    raw_input: Option<String>,
    goal: String,
    /// Why it is wanted
    background_intent: String,
    /// The things that shall exist
    deliverables: String,
    /// When it is done
    definition_of_done: String,
    scope: Option<Value>,
    clarifications: Option<Value>,
    /// The checks that end the run when they hold; one leaf at least is decided by a machine
    base_case: Check,
    constraints: Option<Constraints>,
}

/// A person's requests to the loop
#[derive(JsonSchema)]
struct Control {
    stop_requested: Option<bool>,
    stop_reason: Option<String>,
    redirect_requested: Option<bool>,
    request: Option<Request>,
}

/// A request by command: obeyed once, by the run that it names
#[derive(JsonSchema)]
struct Request {
    id: String,
    run: Option<String>,
    by: Option<String>,
    at: Option<String>,
    kind: RequestKind,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "snake_case")]
enum RequestKind {
    Stop,
    StopNow,
    Redirect,
}

/// An entry of the trail; its other keys depend on the type
#[derive(JsonSchema)]
struct Entry {
    /// `choice`, `failure`, `refuted`, `backtrack`, `user_correction`, or history of another kind
    r#type: String,
    at: Option<String>,
    serial: Option<Count>,
    pass: Option<Count>,
}

/// A change made by a person
#[derive(JsonSchema)]
struct Correction {
    r#type: CorrectionType,
    id: Option<Value>,
    timestamp: Option<Value>,
    description: Option<Value>,
    trail_cleared: Option<Value>,
    by: Option<Value>,
    changes: Option<Value>,
    /// The values that gave way if the edit and the program wrote the same place
    lost: Option<Vec<Lost>>,
    /// The assertion that a confirmation confirms
    name: Option<String>,
    /// The serial that an undo went back to
    to: Option<Count>,
}

/// A place where an edit and the program both wrote
#[derive(JsonSchema)]
struct Lost {
    /// A JSON pointer
    at: String,
    kept: Kept,
    /// The other side's value there; null if it had none
    value: Value,
}

/// Whose value stands
#[derive(JsonSchema)]
#[schemars(rename_all = "snake_case")]
enum Kept {
    Edit,
    Program,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "snake_case")]
enum CorrectionType {
    ObjectiveChange,
    DagAdjustment,
    ConstraintChange,
    BindingsOverride,
    Guidance,
    Confirmation,
    Resolution,
    Undo,
}

/// The loop's own notebook
#[derive(JsonSchema)]
struct Run {
    id: Option<String>,
    /// `aligned` unless given
    status: Option<RunStatus>,
    epoch: Option<Count>,
    iteration: Option<Count>,
    pass: Option<Count>,
    attempts_started: Option<Count>,
    in_flight: Option<Vec<Intent>>,
    /// The integrated commit
    head: Option<String>,
    /// The commits of the result after its start, in order
    line: Option<Vec<Placed>>,
    /// The commit that the last ending delivered, where that is not the head
    delivered: Option<String>,
    started_from: Option<StartedFrom>,
    agreed: Option<Agreed>,
    /// The best verdict on the base case and the newest 63, oldest first
    verdicts: Option<Vec<VerdictRecord>>,
    spent: Option<Spent>,
    measure: Option<Measure>,
    /// How the last run ended
    last_result: Option<Value>,
    /// The lineage and serial that this one was forked from
    parent: Option<Value>,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "snake_case")]
enum RunStatus {
    Aligned,
    Running,
    Redirecting,
    Completed,
    Stopped,
    Exhausted,
    NeedsGuidance,
}

/// An attempt that was started, or is about to be
#[derive(JsonSchema)]
struct Intent {
    id: String,
    atom: String,
    context: String,
    choices: Option<BTreeMap<String, String>>,
    epoch: Option<Count>,
    /// 1-based, in this context
    n: Option<Count>,
    effect: Option<Effect>,
    idempotent: Option<bool>,
    base: Option<String>,
    at: Option<String>,
}

/// A commit of the result, and the atom that made it
#[derive(JsonSchema)]
struct Placed {
    atom: Option<String>,
    commit: Option<String>,
}

/// The person's working tree as it was when the first run began
#[derive(JsonSchema)]
struct StartedFrom {
    commit: String,
    tree: String,
    /// The person's HEAD then
    head: String,
    branch: Option<String>,
    /// Whether changes stood in the working tree that HEAD does not hold
    dirty: Option<bool>,
}

/// The findings of `align` when it evaluated the base case
#[derive(JsonSchema)]
struct Agreed {
    tree: String,
    /// Titles of the leaves that failed
    failed: Option<Vec<String>>,
}

/// How much of the base case held on one commit
#[derive(JsonSchema)]
struct VerdictRecord {
    serial: Option<Count>,
    commit: String,
    tree: String,
    /// Leaves that held; a leaf that was not measured did not hold
    held: Count,
    of: Count,
    /// Taken in a checkout made anew
    pristine: Option<bool>,
    /// The selection that the tree was made under
    choices: Option<BTreeMap<String, String>>,
}

#[derive(JsonSchema)]
struct Spent {
    attempts: Option<Count>,
    transient: Option<Count>,
    repairs: Option<Count>,
    /// Milliseconds
    active_ms: Option<Count>,
}

/// The work that can still be tried
#[derive(JsonSchema)]
struct Measure {
    attempts: Option<Count>,
    /// Whole selections that the base case has not refuted
    verdicts: Option<Count>,
}
