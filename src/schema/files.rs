//! Shadow types of what the commands about files print with `--json`.
#![allow(dead_code)] // The types are never made: only their schemas are.

use schemars::JsonSchema;
use serde_json::Value;

/// What became of an edit: `descent edit --json`
#[derive(JsonSchema)]
#[schemars(title = "descent/edit/1")]
pub(crate) struct Edit {
    schema: String,
    result: Edited,
    /// The newest commit
    serial: u64,
    /// What was understood, as `run --json` tells it
    notices: Vec<Value>,
    /// One command to type next
    next: String,
}

#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Edited {
    Committed,
    Unchanged,
}

/// What became of each thing in an old file: `descent migrate --json`
#[derive(JsonSchema)]
#[schemars(title = "descent/migrate/1")]
pub(crate) struct Migrate {
    schema: String,
    /// The old file
    file: String,
    /// The contract that it follows
    contract: String,
    /// Where the state was written; null where none was
    state: Option<String>,
    items: Vec<Item>,
    /// One command to type next
    next: String,
}

#[derive(JsonSchema)]
struct Item {
    fate: Fate,
    /// In the old file, from 1
    line: u64,
    /// From 1, in characters
    column: u64,
    /// A pointer into the old file
    from: String,
    what: String,
}

#[derive(JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Fate {
    /// It looks wrong, and was carried as it stands
    Warned,
    /// It could be meant in one way only, and is read so
    Mended,
    /// It stands in another form, or means something else here
    Changed,
    /// It has no place here, and is kept under `notes`
    Kept,
    Carried,
}

/// What ended runs left, and what became of it: `descent clean --json`
#[derive(JsonSchema)]
#[schemars(title = "descent/clean/1")]
pub(crate) struct Clean {
    schema: String,
    /// Nothing was removed: it was only looked at
    dry_run: bool,
    /// What goes, by lineage
    removed: Vec<Leftover>,
    /// What stays, because its result was not applied
    kept: Vec<Leftover>,
    /// Of what goes, on the disk
    bytes: u64,
    next: String,
}

#[derive(JsonSchema)]
struct Leftover {
    lineage: String,
    /// The project that it was about, as far as that is known
    project: Option<String>,
    bytes: u64,
    left: Vec<Left>,
}

#[derive(JsonSchema)]
struct Left {
    kind: LeftKind,
    /// A directory, or the name that references begin with
    at: String,
}

#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
enum LeftKind {
    Workspaces,
    Repository,
    References,
    Worktree,
}
