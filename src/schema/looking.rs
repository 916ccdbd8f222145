//! Shadow types of what the commands that look print with `--json`: one atom, the graph, the diary.
//!
//! Keys may be added within a schema's number; none is taken away or changes its meaning.
#![allow(dead_code)] // The types are never made: only their schemas are.

use schemars::JsonSchema;
use serde_json::Value;

/// How one atom stands: `descent why ATOM --json`
#[derive(JsonSchema)]
#[schemars(title = "descent/why/1")]
pub(crate) struct Why {
    schema: String,
    atom: String,
    kind: String,
    description: String,
    status: String,
    live: bool,
    /// What it waits for that is not resolved yet
    waits_for: Vec<String>,
    depends_on: Vec<String>,
    needed_by: Vec<String>,
    /// The shell action; without one the worker does it
    action: Option<String>,
    checks: Vec<String>,
    in_branch: Option<Value>,
    binding: Option<Value>,
    choice: Option<Choice>,
    tries: Vec<Value>,
    /// Every attempt that is kept, in the order in which they ended
    attempts: Vec<Attempt>,
    /// The entries of the trail that speak of it, in order
    trail: Vec<Value>,
    /// What commits did to it, as far as they are kept
    past: Vec<Past>,
    next: String,
}

#[derive(JsonSchema)]
struct Past {
    serial: u64,
    at: String,
    by: String,
    text: String,
}

#[derive(JsonSchema)]
struct Attempt {
    atom: String,
    attempt: Option<String>,
    n: u64,
    ended: AttemptEnded,
    started: String,
    /// Empty while it runs
    at: String,
    class: Option<String>,
    reason: String,
    /// Of an older failure, which stands as a line: two that have the same failed alike
    fingerprint: Option<String>,
    choices: Value,
    evidence: Vec<Value>,
    files: Vec<String>,
    commit: Option<String>,
    output: Option<String>,
    /// The file that holds all of what `output` is an excerpt of
    whole: Option<Whole>,
}

#[derive(JsonSchema)]
struct Whole {
    digest: String,
    bytes: u64,
    /// Where it lies; null where it is gone
    path: Option<String>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
enum AttemptEnded {
    Failed,
    Solved,
    Parked,
    Running,
    #[serde(rename = "in_doubt")]
    InDoubt,
}

/// Which atoms have something to tell: `descent why --json`
#[derive(JsonSchema)]
#[schemars(title = "descent/why-list/1")]
pub(crate) struct WhyList {
    schema: String,
    atoms: Vec<Asked>,
    next: String,
}

#[derive(JsonSchema)]
struct Asked {
    atom: String,
    status: String,
    reason: String,
}

/// The work graph: `descent graph --json`
#[derive(JsonSchema)]
#[schemars(title = "descent/graph/1")]
pub(crate) struct Graph {
    schema: String,
    goal: String,
    /// Each group before its members
    nodes: Vec<GraphNode>,
    edges: Vec<GraphEdge>,
}

#[derive(JsonSchema)]
struct GraphNode {
    id: String,
    /// `task`, `plan`, `all` or `any`
    kind: String,
    description: String,
    state: String,
    tried: Option<String>,
    parent: Option<String>,
    selected: Option<String>,
    is_selected: bool,
    depends_on: Vec<String>,
    depth: u64,
    /// Of a step that plans: what each of its plans may take, in words
    budget: Option<String>,
    /// Of a step that plans: whether it stands without what its budget left open
    partial: Option<bool>,
}

#[derive(JsonSchema)]
struct GraphEdge {
    from: String,
    to: String,
    /// `part` and `choice` from a group to a member; `before` from what is waited for
    kind: String,
}

/// What happened, the newest last: `descent log --json`
#[derive(JsonSchema)]
#[schemars(title = "descent/log/1")]
pub(crate) struct Log {
    schema: String,
    /// Older entries that `-n` left out
    left_out: u64,
    entries: Vec<LogEntry>,
}

#[derive(JsonSchema)]
struct LogEntry {
    at: String,
    kind: String,
    /// `descent`, or the person who asked
    by: String,
    text: String,
    /// The commit that it happened in, where that is known
    serial: Option<u64>,
    /// The record itself
    entry: Value,
}

/// What the machine gives: `descent doctor --json`
#[derive(JsonSchema)]
#[schemars(title = "descent/doctor/1")]
pub(crate) struct Doctor {
    schema: String,
    /// Nothing is missing that a run needs
    can_run: bool,
    place: String,
    findings: Vec<Finding>,
    next: String,
}

#[derive(JsonSchema)]
struct Finding {
    name: String,
    health: Health,
    found: String,
    /// What follows from it, where it is not as it should be
    means: Option<String>,
    /// What mends it
    mend: Option<String>,
}

/// `degraded`: a run works without it, or with less of it
#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Health {
    Ok,
    Degraded,
    Missing,
}

/// `hung`: it lives and does nothing. `dead`: the state says that it runs, and nobody does. `asleep`: the machine
/// slept, and the loop has not taken a turn since. `idle`: nothing runs, or the loop waits
#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum Activity {
    Running,
    Hung,
    Dead,
    Asleep,
    Idle,
}

/// The state file to be mended, room on the disk, or the time of the next try
#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum WaitsFor {
    File,
    Disk,
    Backoff,
}

#[derive(JsonSchema)]
pub(super) struct Heartbeat {
    run: String,
    pid: u32,
    host: String,
    phase: Phase,
    iteration: u64,
    in_flight: Vec<String>,
    /// By the time of day then
    at: String,
    /// Absent for one of another boot or machine; without the time that the machine slept
    age_ms: Option<u64>,
    slept_ms: Option<u64>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Phase {
    Starting,
    Attempts,
    Merging,
    Checks,
    BaseCase,
    Rebuilding,
    Waiting,
    Ending,
}

/// What changed between two commits: `descent log A..B --json`
#[derive(JsonSchema)]
#[schemars(title = "descent/difference/1")]
pub(crate) struct Difference {
    schema: String,
    from: u64,
    to: u64,
    /// What matters of it, in one line
    text: String,
    changes: Vec<Change>,
}

#[derive(JsonSchema)]
struct Change {
    atom: Option<String>,
    text: String,
    weight: Weight,
}

#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Weight {
    Main,
    /// What is left to try
    Left,
    /// Bookkeeping
    Detail,
}

/// How things stood at a commit: `descent show --json`
#[derive(JsonSchema)]
#[schemars(title = "descent/show/1")]
pub(crate) struct Show {
    schema: String,
    serial: u64,
    lineage: String,
    /// When it was committed, by whom and by which command; null where that is not kept
    at: Option<String>,
    by: Option<String>,
    command: Option<String>,
    /// What it changed
    text: Option<String>,
    /// The state file as it was
    state: Value,
}

/// What an undo did, or would do: `descent undo --json`
#[derive(JsonSchema)]
#[schemars(title = "descent/undo/1")]
pub(crate) struct Undo {
    schema: String,
    /// `undone`, `planned` (with `-n`) or `unchanged`
    result: String,
    text: String,
    effects: Vec<String>,
    /// Of the commit that undid
    serial: Option<u64>,
    next: String,
}

/// Where a fork stands: `descent fork --json`
#[derive(JsonSchema)]
#[schemars(title = "descent/fork/1")]
pub(crate) struct Fork {
    schema: String,
    state: String,
    lineage: String,
    parent: Parent,
    next: String,
}

#[derive(JsonSchema)]
struct Parent {
    lineage: String,
    serial: u64,
}

/// What is in force: `descent status --constraints --json`
#[derive(JsonSchema)]
#[schemars(title = "descent/constraints/1")]
pub(crate) struct ConstraintsShown {
    schema: String,
    constraints: Vec<InForce>,
}

#[derive(JsonSchema)]
struct InForce {
    key: String,
    /// Null where nothing limits
    value: Option<Value>,
    from: From,
    /// What it limits; empty for a key that nothing reads
    limits: String,
}

#[derive(JsonSchema)]
#[serde(rename_all = "snake_case")]
enum From {
    Chosen,
    Default,
}

#[derive(JsonSchema)]
pub(super) struct Choice {
    group: String,
    selected: Option<String>,
    failed: Vec<String>,
    /// Part of a selection under which the base case did not hold
    refuted: Vec<String>,
    untried: Vec<String>,
}
