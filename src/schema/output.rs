//! Shadow types of what `--json` prints, a type a `schema` word.
//!
//! Keys may be added within a schema's number; none is taken away or changes its meaning.
#![allow(dead_code)] // The types are never made: only their schemas are.

use schemars::JsonSchema;
use serde_json::Value;

use super::looking::{Activity, Choice, Heartbeat, WaitsFor};

/// How things stand: `descent status --json`
#[derive(JsonSchema)]
#[schemars(title = "descent/status/1")]
pub(crate) struct Status {
    schema: String,
    status: RunStatus,
    /// Whether a loop holds the lease
    live: bool,
    /// What a loop does, as far as can be told
    activity: Activity,
    /// Why nothing new begins, where a loop waits
    waits_for: Option<WaitsFor>,
    /// The newest sign of life, also of a loop that died
    heartbeat: Option<Heartbeat>,
    goal: String,
    lineage: String,
    iteration: u64,
    serial: u64,
    resolved: Vec<String>,
    unresolved: Vec<String>,
    /// Parts of plans in force that their budgets left open
    dropped: Vec<String>,
    bound: Bound,
    base_case: Vec<CheckState>,
    choices: Vec<Choice>,
    spent: Spent,
    /// Where the first run started from; null before it
    started_from: Option<Value>,
    workspace: Workspace,
    in_flight: Vec<Flight>,
    /// Atoms that failed and are not solved
    failed: Vec<Failed>,
    /// What somebody chose
    budget: Budget,
    last_result: Option<RunResult>,
    /// What gave way in the newest edit of the file, a line each
    gave_way: Vec<String>,
    /// One command to type next
    next: String,
}

#[derive(JsonSchema)]
#[serde(rename_all = "snake_case")]
enum RunStatus {
    Aligned,
    Running,
    Redirecting,
    Completed,
    Stopped,
    Exhausted,
    NeedsGuidance,
}

/// What can still be tried; decimal strings above 2^53
#[derive(JsonSchema)]
struct Bound {
    attempts: Value,
    verdicts: Value,
    /// Starts of attempts, with every transient retry, repair and interruption
    starts: Value,
}

#[derive(JsonSchema)]
struct CheckState {
    check: String,
    /// The last one that is kept
    verdict: Option<Verdict>,
    at: Option<String>,
    ended: Option<String>,
}

#[derive(JsonSchema)]
struct Failed {
    atom: String,
    status: String,
    class: String,
    reason: String,
    at: String,
}

#[derive(JsonSchema)]
struct Budget {
    active_ms: Option<u64>,
    iterations: Option<u64>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Verdict {
    Pass,
    Fail,
    Unknown,
}

#[derive(JsonSchema)]
struct Spent {
    attempts: u64,
    transient: u64,
    repairs: u64,
    active_ms: u64,
}

/// The delivered tree
#[derive(JsonSchema)]
struct Workspace {
    kind: String,
    path: Option<String>,
    branch: Option<String>,
    commit: Option<String>,
}

#[derive(JsonSchema)]
struct Flight {
    id: String,
    atom: String,
    n: u32,
    /// Attempts at most
    of: u32,
    since: String,
    description: String,
}

/// How a run ended: the last line of `descent run --json`
#[derive(JsonSchema)]
#[schemars(title = "descent/result/1")]
pub(crate) struct RunResult {
    result: RunStatus,
    reason: Reason,
    lineage: String,
    /// When it ended; absent in results of earlier versions
    at: Option<String>,
    summary: String,
    iterations: u64,
    /// Each leaf of the base case, as it was measured last
    evidence: Vec<Value>,
    done: Vec<Value>,
    /// Parts of plans that their budgets left open: `{atom, of, description}`
    missing: Option<Vec<Value>>,
    failed: Vec<Value>,
    next_moves: Vec<String>,
    workspace: Value,
    spent: Spent,
}

/// Why a run ended
#[derive(JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Reason {
    AlreadyHeld,
    BaseCase,
    Stopped,
    NoChoice,
    Iterations,
    Time,
    Calls,
    Tokens,
    Cost,
    Guidance,
    InDoubt,
    Confirmation,
    Bug,
}

/// What happened: a line of `descent run --json`; more keys by kind
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
    Retired,
    Ended,
}

/// An error of any command with `--json`
#[derive(JsonSchema)]
#[schemars(title = "descent/error/1")]
pub(crate) struct Error {
    schema: String,
    error: ErrorBody,
}

#[derive(JsonSchema)]
struct ErrorBody {
    /// Stable, such as E-LEASE-HELD
    code: String,
    exit: u8,
    message: String,
    details: Vec<String>,
    /// What to do next
    hint: String,
}

/// What is agreed: `descent align --json`
#[derive(JsonSchema)]
#[schemars(title = "descent/align/1")]
pub(crate) struct Align {
    schema: String,
    goal: String,
    why: String,
    /// In a fresh checkout, where a run makes its checks; in place where the workspace is `shared`
    base_case: Vec<Judged>,
    /// The same in the working directory; empty where the workspace is `shared`
    here: Vec<Judged>,
    warnings: Vec<Advice>,
    lacking: Lacking,
    /// Flags that may mend a difference of the two
    suggested: Vec<String>,
    bound: Bound,
    atoms: u64,
    workspace: String,
    /// The command that does tasks without an action; null where none is named
    worker: Option<String>,
    /// The same was agreed before: nothing was written
    unchanged: bool,
}

/// What came from elsewhere can execute: `descent trust --json`
#[derive(JsonSchema)]
#[schemars(title = "descent/trust/1")]
pub(crate) struct Trust {
    schema: String,
    subject: TrustSubject,
    /// Of a state
    lineage: Option<String>,
    /// Whether it may run here
    allowed: bool,
    /// The digest over `carried`, for `--hash`
    hash: String,
    carried: Vec<CarriedItem>,
    next: String,
}

#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
enum TrustSubject {
    State,
    Plan,
    Worker,
}

#[derive(JsonSchema)]
struct CarriedItem {
    group: CarriedGroup,
    /// The atom, or the key; empty where the group says it all
    at: String,
    text: String,
}

#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
enum CarriedGroup {
    Setup,
    Worker,
    Check,
    Action,
    /// Words for a worker
    Task,
    /// Widens what the others reach
    Setting,
}

/// What is odd about a check, and what to do
#[derive(JsonSchema)]
struct Advice {
    check: String,
    what: String,
    hint: String,
}

/// Ignored paths that one of the two places lacks, where verdicts differ
#[derive(JsonSchema)]
struct Lacking {
    checkout: Vec<String>,
    here: Vec<String>,
}

#[derive(JsonSchema)]
struct Judged {
    check: String,
    verdict: Verdict,
    ended: Option<String>,
    /// The sum of what `number` found
    number: Option<f64>,
    duration_ms: u64,
    output: Option<String>,
}

/// `descent verify --json`
#[derive(JsonSchema)]
#[schemars(title = "descent/verify/1")]
pub(crate) struct Verify {
    schema: String,
    holds: bool,
    verdict: Verdict,
    /// What was judged, in words
    of: String,
    /// The commit that was looked at; null in the workspace `shared`
    on: Option<String>,
    linked: Vec<String>,
    checks: Vec<Judged>,
}

/// `descent apply --json`
#[derive(JsonSchema)]
#[schemars(title = "descent/apply/1")]
pub(crate) struct Apply {
    schema: String,
    applied: Applied,
    /// Whether it was only looked at
    dry_run: bool,
    /// Whether the run has not completed
    partial: bool,
    files: Vec<String>,
    changes: Vec<ChangedFile>,
    /// Files of the person's that are in the way (`refused`, with --dry-run)
    overlaps: Option<Vec<String>>,
    /// The branch that holds the result
    branch: Option<String>,
    /// The file that holds the patch
    patch: Option<String>,
}

/// Without counts where it is not text
#[derive(JsonSchema)]
struct ChangedFile {
    path: String,
    added: Option<u64>,
    removed: Option<u64>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Applied {
    Nothing,
    FastForward,
    Files,
    Branch,
    Patch,
    Refused,
}

/// `descent stop --json`
#[derive(JsonSchema)]
#[schemars(title = "descent/stop/1")]
pub(crate) struct Stop {
    schema: String,
    result: String,
}

/// What waits for a person's word: `descent confirm --json`
#[derive(JsonSchema)]
#[schemars(title = "descent/confirm/1")]
pub(crate) struct Confirm {
    schema: String,
    result: Word,
    assertions: Vec<Assertion>,
    /// One command to type next
    next: String,
}

#[derive(JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Word {
    Listed,
    Confirmed,
    Denied,
    /// The same was said before: nothing was written
    Unchanged,
}

#[derive(JsonSchema)]
struct Assertion {
    name: String,
    statement: String,
    base_case: bool,
    /// The atoms among whose own checks it is
    atoms: Vec<String>,
    /// Null while nobody said anything that counts on the result as it stands
    holds: Option<bool>,
    by: Option<String>,
    at: Option<String>,
    /// The tree that it was said of; null where it is for good
    on: Option<String>,
    reason: Option<String>,
}

/// Effects outside that are in doubt: `descent resolve --json`
#[derive(JsonSchema)]
#[schemars(title = "descent/resolve/1")]
pub(crate) struct Resolve {
    schema: String,
    result: Resolved,
    /// What is in doubt still
    doubts: Vec<Doubt>,
    /// One command to type next
    next: String,
}

#[derive(JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Resolved {
    Listed,
    Done,
    Retry,
}

#[derive(JsonSchema)]
struct Doubt {
    attempt: String,
    atom: String,
    description: String,
    /// When the attempt was started; null where that is not known
    since: Option<String>,
    /// Why nobody knows: `cut off`, what was wrong with its result, or why it would be made again; null where that is not known
    reason: Option<String>,
}
