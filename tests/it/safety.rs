//! Files from elsewhere: shown, refused, moved aside.

pub(crate) mod aside;
pub(crate) mod by_attempt;
pub(crate) mod fence;
pub(crate) mod links;
pub(crate) mod listed;
mod named_secrets;
pub(crate) mod ratings;
pub(crate) mod sidecars;
pub(crate) mod strangers;
mod terminals;
pub(crate) mod trust;
pub(crate) mod untried;
