//! The limits of a run's time, iterations and usage.

use alloc::string::String;

use serde::Serialize;

use crate::state::Constraints;

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Budget {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub active_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub iterations: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calls: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Dollars, as decimal text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<String>,
}

pub(super) fn budget(constraints: &Constraints) -> Budget {
    let time = constraints.budget.time.as_ref();
    Budget {
        active_ms: time.map(|budget| budget.ms),
        iterations: constraints.budget.iterations,
        calls: constraints.budget.calls,
        tokens: constraints.budget.tokens,
        cost_usd: constraints.budget.cost_usd.map(|cost| cost.text()),
    }
}
