//! Shows the bound of what can still happen: a number too large for some readers is a decimal
//! string.
//!
//! Not here: how it is counted (`measure`).

use alloc::string::ToString as _;

use num_bigint::BigUint;
use serde::Serialize;

use crate::{doc::Node, state::FreeValue, world::World};

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
}

pub fn bound(world: &World) -> BoundView {
    let bound = world.bound();
    let counted = |count: &BigUint| match u64::try_from(count) {
        Ok(count) => Node::uint(count),
        Err(_) => Node::string(count.to_string()),
    };
    BoundView {
        attempts: counted(&bound.attempts),
        verdicts: counted(&bound.verdicts),
        starts: counted(&bound.starts),
        consults: bound.consults.as_ref().map(counted),
    }
}
