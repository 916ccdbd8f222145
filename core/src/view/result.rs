//! The final result of a run, for its schema: the state keeps it as text, which may be of an earlier version.
//!
//! Not here: how it is written (`step::run_end`).

use alloc::{string::String, vec::Vec};

use super::SpentView;
use crate::{doc::Node, event::Reason, id::Lineage, state::RunStatus};

/// How a run ended: the last line of `descent run --json`
#[derive(Debug, schemars::JsonSchema)]
pub struct RunResult {
    #[schemars(skip_serializing_if = "Option::is_none")]
    pub schema: Option<String>,
    #[schemars(extend("enum" = RunStatus::WORDS.map(|(word, _)| word)))]
    pub result: String,
    pub reason: Reason,
    pub lineage: Lineage,
    /// When it ended; absent in results of earlier versions.
    #[schemars(skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    pub summary: String,
    pub iterations: u64,
    /// Each leaf of the base case, with its newest verdict.
    pub evidence: Vec<Node>,
    /// How much of the base case held on the delivered tree.
    #[schemars(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Node>,
    /// Checks that failed at `align` and held in the run, on the same files.
    #[schemars(skip_serializing_if = "Vec::is_empty")]
    pub unsteady: Vec<String>,
    pub done: Vec<Node>,
    /// Parts of plans that their budgets left open: `{atom, of, description}`.
    #[schemars(skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<Node>,
    /// Agreed steps that are open although the base case holds: `{atom, description, reason}`.
    #[schemars(skip_serializing_if = "Vec::is_empty")]
    pub open: Vec<Node>,
    pub failed: Vec<Node>,
    pub next_moves: Vec<String>,
    pub workspace: Node,
    pub spent: SpentView,
    /// The commit of the ending.
    #[schemars(skip_serializing_if = "Option::is_none")]
    pub serial: Option<u64>,
}
