//! Shows the bound of what can still happen: a number too large for some readers is a decimal
//! string.
//!
//! Not here: how it is counted (`measure`).

use alloc::string::ToString as _;

use num_bigint::BigUint;
use serde::Serialize;

use crate::{
    doc::Node,
    measure::RunBound,
    state::FreeValue,
    wording::KeptBudget,
    world::{AgentTable, World},
};

/// The bound of the remaining work; decimal strings above 2^64.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BoundView {
    pub attempts: FreeValue,
    pub verdicts: FreeValue,
    /// Starts of attempts, with every transient retry, repair and interruption.
    pub starts: FreeValue,
    /// Questions to judges; absent where nothing is rated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub consults: Option<FreeValue>,
    /// The parts of the limits of usage that are kept for the wording of the final answer.
    #[serde(skip_serializing_if = "KeptBudget::is_none")]
    #[cfg_attr(feature = "schema", serde(default))]
    pub kept: KeptBudget,
    /// The part that changes of the plan by planners may add; absent if no planner may change it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changes: Option<ChangesBoundView>,
}

/// The most that changes of the plan may add.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChangesBoundView {
    /// Changes that may still be tried.
    pub left: u32,
    /// Attempts that each of them may add.
    pub attempts_each: FreeValue,
}

pub fn bound(world: &World) -> BoundView {
    shown(world.bound())
}

/// The bound of a run that is to be started with these agents.
pub fn bound_of_start(world: &World, agents: &AgentTable) -> BoundView {
    shown(world.bound_of_start(agents))
}

fn shown(bound: RunBound) -> BoundView {
    let counted = |count: &BigUint| match u64::try_from(count) {
        Ok(count) => Node::uint(count),
        Err(_) => Node::string(count.to_string()),
    };
    BoundView {
        attempts: counted(&bound.attempts),
        verdicts: counted(&bound.verdicts),
        starts: counted(&bound.starts),
        consults: bound.consults.as_ref().map(counted),
        kept: bound.kept,
        changes: bound.changes.map(|changes| ChangesBoundView {
            left: changes.left,
            attempts_each: counted(&changes.attempts_each),
        }),
    }
}
