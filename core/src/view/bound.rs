//! What can still happen at most, as it is shown: decimal strings where a number is beyond what every reader holds.
//!
//! Not here: how it is counted (`measure`).

use alloc::string::ToString as _;

use num_bigint::BigUint;
use serde::Serialize;

use crate::{doc::Node, state::Free, step::World};

#[derive(Debug, Serialize)]
pub struct Bound {
    pub attempts: Free,
    pub verdicts: Free,
    /// Starts of attempts, with every transient retry, repair and interruption.
    pub starts: Free,
}

pub fn bound(world: &World) -> Bound {
    let bound = world.bound();
    let counted = |count: &BigUint| match u64::try_from(count) {
        Ok(count) => Node::uint(count),
        Err(_) => Node::string(count.to_string()),
    };
    Bound {
        attempts: counted(&bound.attempts),
        verdicts: counted(&bound.verdicts),
        starts: counted(&bound.starts),
    }
}
