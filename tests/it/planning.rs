//! Planning steps and the budgets of what they plan.

pub(crate) mod audit;
pub(crate) mod contexts;
pub(crate) mod law;
pub(crate) mod ordered;
pub(crate) mod phases;
pub(crate) mod plan_atoms;
pub(crate) mod plan_with;
pub(crate) mod remembered;
pub(crate) mod replans;
pub(crate) mod unblocked;
