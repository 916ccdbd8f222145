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
    /// Its unresolved prerequisites
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
    /// The changes that commits made to it, as far as they are kept
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
    /// For an older failure, kept as a line: equal fingerprints mean equal failures
    fingerprint: Option<String>,
    choices: Value,
    evidence: Vec<Value>,
    files: Vec<String>,
    commit: Option<String>,
    output: Option<String>,
    /// The file with the whole output of which `output` is an excerpt
    whole: Option<Whole>,
}

#[derive(JsonSchema)]
struct Whole {
    digest: String,
    bytes: u64,
    /// Its path; null if it is gone
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

/// The events, the newest last: `descent log --json`
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
    /// The record itself, or the event if there is no record
    entry: Value,
    /// The event that tells it, as in `run --json`
    event: Option<Value>,
}

/// The difference of two commits: `descent log A..B --json`
#[derive(JsonSchema)]
#[schemars(title = "descent/difference/1")]
pub(crate) struct Difference {
    schema: String,
    from: u64,
    to: u64,
    /// The most important changes, in one line
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
    /// The work that is left to try
    Left,
    /// Bookkeeping
    Detail,
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
