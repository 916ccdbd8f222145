//! Shadow types of what state and plan share: checks, constraints, atoms, and the small forms of values.
//!
//! Invariant: what the core reads without a fault satisfies these types; every list of words is closed.
#![allow(dead_code)] // The types are never made: only their schemas are.

use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema};
use serde_json::Value;

/// A letter, then letters, digits, `_` or `-`: at most 64 in all
#[derive(JsonSchema, PartialEq, Eq, PartialOrd, Ord)]
#[schemars(extend("pattern" = "^[A-Za-z][A-Za-z0-9_-]{0,63}$"))]
pub(super) struct AtomId(String);

/// A span of time with its unit: `90s`, `10m`, `1h30m`
#[derive(JsonSchema)]
#[schemars(extend("pattern" = r"^\s*([0-9]+\s*(ms|s|m|h|d)\s*)+$"))]
pub(super) struct Duration(String);

/// A whole number; above 2^53 as a decimal string
#[derive(JsonSchema)]
#[schemars(untagged)]
pub(super) enum Count {
    Number(u64),
    Text(DecimalText),
}

#[derive(JsonSchema)]
#[schemars(inline, extend("pattern" = "^(0|[1-9][0-9]*)$"))]
pub(super) struct DecimalText(String);

/// A number, or its decimal text
#[derive(JsonSchema)]
#[schemars(untagged)]
pub(super) enum Limit {
    Number(f64),
    Text(String),
}

/// One condition, or a tree of them
#[derive(JsonSchema)]
#[schemars(untagged, transform = exactly_one)]
pub(super) enum Check {
    /// Passes when every part does
    All {
        name: Option<String>,
        all: Vec<Check>,
    },
    /// Passes when one part does
    Any {
        name: Option<String>,
        #[schemars(length(min = 1))]
        any: Vec<Check>,
    },
    /// A shell command ends with the expected code, and what it prints fits
    Command {
        name: Option<String>,
        #[schemars(regex(pattern = r"\S"))]
        command: String,
        timeout: Option<Duration>,
        /// 0 unless given
        expect_exit: Option<i32>,
        /// A regular expression that the output must match
        stdout_matches: Option<String>,
        /// A regular expression with one group: the number to compare; several are summed
        number: Option<String>,
        /// `baseline` stands for the value that `align` measured
        at_least: Option<Limit>,
        at_most: Option<Limit>,
        /// The value measured by `align`, if a limit says `baseline`
        baseline: Option<Limit>,
    },
    /// A shell command runs and does not end with 0, or ends with the code expected
    NotCommand {
        name: Option<String>,
        #[schemars(regex(pattern = r"\S"))]
        not_command: String,
        timeout: Option<Duration>,
        expect_exit: Option<i32>,
    },
    /// A path or glob exists
    File {
        name: Option<String>,
        #[schemars(regex(pattern = r"\S"))]
        file: String,
        /// A regular expression that its content must match
        contains: Option<String>,
        sha256: Option<String>,
    },
    /// No path matches
    NotFile {
        name: Option<String>,
        #[schemars(regex(pattern = r"\S"))]
        not_file: String,
    },
    /// A judging model's score reaches the threshold
    Quality {
        name: Option<String>,
        #[schemars(regex(pattern = r"\S"))]
        quality: String,
        rubric: Option<Value>,
        pass_threshold: Option<Value>,
    },
    /// A person confirmed it
    Assertion {
        name: Option<String>,
        #[schemars(regex(pattern = r"\S"))]
        assertion: String,
    },
}

/// A check with the keys of two kinds is none.
fn exactly_one(schema: &mut Schema) {
    if let Some(kinds) = schema.remove("anyOf") {
        schema.insert("oneOf".to_owned(), kinds);
    }
}

/// Only what somebody chose; everything has a default
#[derive(JsonSchema)]
pub(super) struct Constraints {
    /// Attempts at the same time (3)
    max_parallel_agents: Option<Count>,
    /// Attempts of an atom in one context (3 for an agent, 1 for a shell action)
    max_attempts: Option<Count>,
    /// Retries of one attempt after transient errors (3)
    max_transient: Option<Count>,
    /// Crashes that may cut off one atom (10)
    max_interruptions: Option<Count>,
    /// Repairs of an atom in one context (3)
    max_repairs: Option<Count>,
    /// Iterations in all (none: the halting bound limits)
    max_iterations: Option<Count>,
    /// How deep groups may nest (5)
    max_depth: Option<Count>,
    /// Atoms that planners may add in all (100)
    max_planned_atoms: Option<Count>,
    /// Plans that failed and are made again, in all (10)
    max_replans: Option<Count>,
    /// How often one step is planned again in one context (3)
    max_refinements_per_atom: Option<Count>,
    /// Planning steps at the same time (5)
    max_planning_phases: Option<Count>,
    /// Atoms that one planner may add (20)
    max_fragment_atoms: Option<Count>,
    /// How deep a fragment may nest (3)
    max_fragment_depth: Option<Count>,
    /// Active time in all, over restarts (none)
    time_budget: Option<Duration>,
    /// The limit of one attempt (30m)
    attempt_timeout: Option<Duration>,
    /// The workspace of attempts (`git`; outside of a repository `align` writes `shadow`)
    workspace: Option<Workspace>,
    /// Paths shared into each workspace
    link: Option<Vec<String>>,
    /// A command run once in each new workspace
    setup: Option<String>,
    /// Globs of the files that `setup` reads: other changes do not run it again in a kept tree
    setup_inputs: Option<Vec<String>>,
    /// Globs of ignored paths (`target`, `node_modules`) that survive from one pristine checkout to the next
    keep: Option<Vec<String>>,
    /// Variables passed on beside the default list
    env: Option<Vec<String>>,
    /// Globs that no attempt may change
    protected: Option<Vec<String>>,
    /// The run ends at the first verdict that holds, whatever is open (false)
    finish_early: Option<bool>,
    /// The reaction when nothing is left to try (`abandon`)
    on_stuck: Option<OnStuck>,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "snake_case")]
pub(super) enum Workspace {
    /// A worktree an attempt
    Git,
    /// The same on a private repository in the cache, for a directory that is in none
    Shadow,
    /// In place: no isolation, nothing is undone
    Shared,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "snake_case")]
pub(super) enum OnStuck {
    Ask,
    Abandon,
}

/// The AND/OR graph of the work
#[derive(JsonSchema)]
pub(super) struct WorkGraph {
    pub(super) atoms: Option<BTreeMap<AtomId, Atom>>,
}

/// A task, a group of atoms, or a step that plans further atoms
#[derive(JsonSchema)]
#[schemars(untagged)]
pub(super) enum Atom {
    All(Box<All>),
    Any(Box<Any>),
    Plan(Box<Plan>),
    Task(Box<Task>),
}

/// Solved when all its parts are
#[derive(JsonSchema)]
pub(super) struct All {
    kind: Option<AllWord>,
    description: Option<String>,
    #[schemars(length(min = 1))]
    parts: Vec<AtomId>,
    depends_on: Option<Vec<AtomId>>,
    /// The planning step that this was and is: all but the parts of the fragment in force
    planned: Option<Planned>,
    accepts_partial: Option<bool>,
    origin: Option<Value>,
}

/// A leaf whose result is a fragment of new atoms
#[derive(JsonSchema)]
pub(super) struct Plan {
    kind: PlanWord,
    description: Option<String>,
    depends_on: Option<Vec<AtomId>>,
    #[serde(flatten)]
    planning: Planning,
    /// Those of other contexts, and those that failed
    fragments: Option<Vec<Fragment>>,
    accepts_partial: Option<bool>,
    origin: Option<Value>,
}

/// The parts of a planning step beside its atoms
#[derive(JsonSchema)]
pub(super) struct Planned {
    #[serde(flatten)]
    planning: Planning,
    /// The one in force; its parts are those of the atom
    fragment: FragmentInForce,
    fragments: Option<Vec<Fragment>>,
}

/// How a step is planned, and what was tried
#[derive(JsonSchema)]
pub(super) struct Planning {
    status: Option<Status>,
    because: Option<String>,
    tries: Option<Vec<Try>>,
    interruptions: Option<Count>,
    #[serde(flatten)]
    of: PlanSpec,
}

/// The specification of a planning step, by a person or a planner
#[derive(JsonSchema)]
pub(super) struct PlanSpec {
    /// A shell action that prints the fragment; without one the configured worker plans
    action: Option<Action>,
    timeout: Option<Duration>,
    touches: Option<Vec<String>>,
    /// Whether a stop may cut it off (true)
    interruptible: Option<bool>,
    unknown: Option<bool>,
    /// The atom that the fragment serves, which waits for the step
    convergence_target: Option<AtomId>,
    grant: Option<Grant>,
    budget: Option<PhaseBudget>,
}

/// The limits of each fragment, at least one; when one is reached, open parts are dropped
#[derive(JsonSchema)]
pub(super) struct PhaseBudget {
    /// Attempts that come to their end, repairs not counted
    #[schemars(range(min = 1))]
    attempts: Option<u32>,
    /// Active time from when it was planned
    time: Option<Duration>,
}

/// How the budget of a fragment came to its end with parts of it open
#[derive(JsonSchema)]
struct PhaseEnd {
    /// `attempts` or `time`
    limit: String,
    used: Count,
    /// It counts as resolved without these parts
    missing: Option<Vec<AtomId>>,
    /// It failed as a whole
    failed: Option<bool>,
}

/// The most that a fragment may use; missing members are as in the constraints
#[derive(JsonSchema)]
pub(super) struct Grant {
    /// Tasks, each counted in every context that it can see: `max_fragment_atoms` unless given
    atoms: Option<Count>,
    /// Ways in which a fragment can be resolved: 16 unless given
    alternatives: Option<Count>,
    /// Fragments in one context: one more than `max_refinements_per_atom` unless given
    rounds: Option<Count>,
}

/// A planner's output for one context
#[derive(JsonSchema)]
pub(super) struct Fragment {
    context: String,
    choices: Option<BTreeMap<String, String>>,
    /// The digest of the proposal, before its ids were replaced
    digest: String,
    attempt: Option<String>,
    #[schemars(length(min = 1))]
    parts: Vec<AtomId>,
    #[serde(flatten)]
    spent: PhaseSpent,
}

#[derive(JsonSchema)]
pub(super) struct FragmentInForce {
    context: String,
    choices: Option<BTreeMap<String, String>>,
    digest: String,
    attempt: Option<String>,
    #[serde(flatten)]
    spent: PhaseSpent,
}

/// The part of its budget that a fragment has used
#[derive(JsonSchema)]
struct PhaseSpent {
    attempts: Option<Count>,
    /// Active time of the run when its clock began
    since_ms: Option<Count>,
    ended: Option<PhaseEnd>,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "snake_case", inline)]
pub(super) enum PlanWord {
    Plan,
}

/// Solved when its selected choice is
#[derive(JsonSchema)]
pub(super) struct Any {
    kind: Option<AnyWord>,
    description: Option<String>,
    #[schemars(length(min = 1))]
    choices: Vec<AtomId>,
    selected: Option<AtomId>,
    /// Choices may be tried side by side
    speculative: Option<bool>,
    depends_on: Option<Vec<AtomId>>,
    accepts_partial: Option<bool>,
    origin: Option<Value>,
}

/// A leaf: something to be done
#[derive(JsonSchema)]
pub(super) struct Task {
    kind: Option<TaskWord>,
    description: Option<String>,
    /// Roots, parts of the same `all`, or such of an ancestor
    depends_on: Option<Vec<AtomId>>,
    /// `pending` unless given
    status: Option<Status>,
    /// Why it is `invalid`, or the attempt that is `in_doubt`
    because: Option<String>,
    /// The tries, by context
    tries: Option<Vec<Try>>,
    /// Crashes that cut it off
    interruptions: Option<Count>,
    /// A shell action; without one the configured worker does it
    action: Option<Action>,
    /// `tree` unless given
    effect: Option<Effect>,
    /// An external effect that may happen twice
    idempotent: Option<bool>,
    /// The conditions under which it is solved
    checks: Option<Check>,
    /// The shape of its result's value
    output_schema: Option<Value>,
    timeout: Option<Duration>,
    /// The files that it is expected to change
    touches: Option<Vec<String>>,
    /// Whether a stop may cut it off (true)
    interruptible: Option<bool>,
    unknown: Option<bool>,
    accepts_partial: Option<bool>,
    origin: Option<Value>,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "snake_case", inline)]
pub(super) enum AllWord {
    All,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "snake_case", inline)]
pub(super) enum AnyWord {
    Any,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "snake_case", inline)]
pub(super) enum TaskWord {
    Task,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "snake_case")]
pub(super) enum Status {
    Pending,
    /// No attempt is left in the present context
    Failed,
    /// An attempt said that it cannot be done
    Invalid,
    NeedsGuidance,
    /// An external effect of which nobody knows whether it happened
    InDoubt,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "snake_case")]
pub(super) enum Effect {
    /// Lives in the workspace alone
    Tree,
    /// Reaches outside: nothing undoes it
    External,
}

#[derive(JsonSchema)]
pub(super) struct Action {
    /// A shell command
    run: String,
}

/// The tries of a task in one context
#[derive(JsonSchema)]
pub(super) struct Try {
    context: String,
    /// The choices in force upstream, group to choice
    choices: Option<BTreeMap<String, String>>,
    attempts: Option<Count>,
    transient: Option<Count>,
    repairs: Option<Count>,
    /// For a planning step: how often it was planned again
    rounds: Option<Count>,
    ended: Option<TryEnd>,
    /// The class of a failure
    class: Option<FailureClass>,
    /// The parked result
    result: Option<Binding>,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "snake_case")]
pub(super) enum TryEnd {
    Failed,
    /// Solved in a context that is not in force
    Parked,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "snake_case")]
pub(super) enum FailureClass {
    /// The work was wrong
    Logical,
    /// The surroundings were
    Environmental,
}

/// A binding replaces a solved atom
#[derive(JsonSchema)]
pub(super) struct Binding {
    #[schemars(length(max = 2000))]
    summary: Option<String>,
    value: Option<Value>,
    artifacts: Option<Vec<String>>,
    /// On the line of the result; absent where the tree did not change
    commit: Option<String>,
    /// Digest of the change to the tree
    change: Option<String>,
    evidence: Option<Vec<Value>>,
    context: Option<String>,
    /// Digest of the results upstream that it was made from
    inputs: Option<String>,
    attempts: Option<Count>,
    /// `person` unless given: such a binding is never overwritten
    by: Option<String>,
    at: Option<String>,
    /// The atom, whole
    of: Option<Box<Atom>>,
    handoff: Option<String>,
    partial: Option<bool>,
}
