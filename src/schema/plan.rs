//! Shadow types of a plan: what `align --plan` reads, in the forms in which people write it.
//!
//! Nothing is required that a flag of `align` can say.
#![allow(dead_code)] // The types are never made: only their schemas are.

use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema};
use serde_json::{Value, json};

use super::shared::{
    Action, AllWord, AnyWord, AtomId, Check, Constraints, Duration, Effect, PlanSpec, PlanWord,
    TaskWord,
};

/// The goal and the work: `descent align --plan`
#[derive(JsonSchema)]
#[schemars(title = "descent plan")]
pub(crate) struct Plan {
    /// For editors: where this schema is
    #[serde(rename = "$schema")]
    schema: Option<String>,
    /// The version of the contract: major.minor
    version: Option<String>,
    objective: Objective,
    work_graph: Option<WorkGraph>,
    /// Remarks, here and in every object
    notes: Option<Value>,
}

/// The goal, and how a machine checks it
#[derive(JsonSchema)]
struct Objective {
    /// The person's words; the goal unless given
    raw_input: Option<String>,
    goal: Option<String>,
    /// Why it is wanted
    background_intent: Option<String>,
    /// The things that shall exist; rendered from the checks unless given
    deliverables: Option<String>,
    /// When it is done; rendered from the checks unless given
    definition_of_done: Option<String>,
    scope: Option<Value>,
    clarifications: Option<Value>,
    /// The checks that end the run when they hold; one leaf at least is decided by a machine
    base_case: Option<Check>,
    constraints: Option<Constraints>,
}

/// The AND/OR graph of the work
#[derive(JsonSchema)]
struct WorkGraph {
    atoms: Option<Atoms>,
}

/// Atoms by id, or a list of atoms that say their `id`
#[derive(JsonSchema)]
#[schemars(untagged)]
enum Atoms {
    ById(BTreeMap<AtomId, Atom>),
    InRow(Vec<Atom>),
}

/// Members of a group: ids of atoms that stand elsewhere, and atoms that stand here
#[derive(JsonSchema)]
#[schemars(untagged)]
enum Members {
    InRow(#[schemars(length(min = 1))] Vec<Member>),
    ById(#[schemars(extend("minProperties" = 1))] BTreeMap<AtomId, Atom>),
}

#[derive(JsonSchema)]
#[schemars(untagged)]
enum Member {
    /// An atom that stands elsewhere
    Id(AtomId),
    Atom(Atom),
}

/// One id or several
#[derive(JsonSchema)]
#[schemars(untagged)]
enum Ids {
    One(AtomId),
    Several(Vec<AtomId>),
}

/// A task, a step that plans, or a group: `choices` make it an `any`, `parts` an `all`
#[derive(JsonSchema)]
#[schemars(untagged)]
enum Atom {
    Any(Box<Any>),
    All(Box<All>),
    Plan(Box<Planner>),
    Task(Box<Task>),
}

/// Solved when all its parts are
#[derive(JsonSchema)]
#[schemars(transform = without_choices)]
struct All {
    /// For an atom in a list; made from its place unless given
    id: Option<AtomId>,
    kind: Option<AllWord>,
    description: Option<String>,
    parts: Members,
    depends_on: Option<Ids>,
    /// Whether it can begin with a partial result of the planning step that plans for it
    accepts_partial: Option<bool>,
    origin: Option<Value>,
}

/// Solved when one of its choices is; the first is tried first
#[derive(JsonSchema)]
#[schemars(transform = without_parts)]
struct Any {
    /// For an atom in a list; made from its place unless given
    id: Option<AtomId>,
    kind: Option<AnyWord>,
    description: Option<String>,
    choices: Members,
    /// The choice to begin with
    selected: Option<AtomId>,
    /// Choices may be tried side by side
    speculative: Option<bool>,
    depends_on: Option<Ids>,
    /// Whether it can begin with a partial result of the planning step that plans for it
    accepts_partial: Option<bool>,
    origin: Option<Value>,
}

/// A leaf whose result is a fragment of new atoms
#[derive(JsonSchema)]
#[schemars(transform = without_members)]
struct Planner {
    /// For an atom in a list; made from its place unless given
    id: Option<AtomId>,
    kind: PlanWord,
    description: Option<String>,
    depends_on: Option<Ids>,
    #[serde(flatten)]
    of: PlanSpec,
    /// Whether it can begin with a partial result of the planning step that plans for it
    accepts_partial: Option<bool>,
    origin: Option<Value>,
}

/// A leaf: something to be done
#[derive(JsonSchema)]
#[schemars(transform = without_members)]
struct Task {
    /// For an atom in a list; made from its place unless given
    id: Option<AtomId>,
    kind: Option<TaskWord>,
    description: Option<String>,
    /// Roots, parts of the same `all`, or such of an ancestor
    depends_on: Option<Ids>,
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
    /// Whether it can begin with a partial result of the planning step that plans for it
    accepts_partial: Option<bool>,
    origin: Option<Value>,
}

/// A group of one kind has no members of the other.
fn without_choices(schema: &mut Schema) {
    refuse(schema, &["choices"]);
}

fn without_parts(schema: &mut Schema) {
    refuse(schema, &["parts"]);
}

fn without_members(schema: &mut Schema) {
    refuse(schema, &["choices", "parts"]);
}

fn refuse(schema: &mut Schema, keys: &[&str]) {
    let required = |key: &&str| json!({"required": [key]});
    let any: Vec<Value> = keys.iter().map(required).collect();
    schema.insert("not".to_owned(), json!({"anyOf": any}));
}
