//! Agents that only think: judges, planners, probes and aligners.

pub(crate) mod aligned;
mod candidates;
pub(crate) mod judged;
pub(crate) mod killed;
pub(crate) mod probed;
mod readme;
pub(crate) mod redirected;
pub(crate) mod story;
pub(crate) mod unaligned;
pub(crate) mod whole;
