//! Agents that only think: judges, planners, probes and aligners.

pub(crate) mod judged;
pub(crate) mod probed;
