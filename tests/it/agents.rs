//! The setting of attempts, their rights, and that nothing of them is left.

pub(crate) mod absent;
pub(crate) mod apart;
pub(crate) mod budgets;
pub(crate) mod clarity;
pub(crate) mod conduct;
pub(crate) mod configured;
pub(crate) mod displaced;
pub(crate) mod earlier;
pub(crate) mod escapes;
pub(crate) mod filters;
pub(crate) mod fixtures;
pub(crate) mod killed;
pub(crate) mod limits;
pub(crate) mod model;
pub(crate) mod models;
pub(crate) mod outages;
pub(crate) mod own_git;
pub(crate) mod plain;
pub(crate) mod prompts;
pub(crate) mod retry_from;
pub(crate) mod shape;
pub(crate) mod situations;
pub(crate) mod talked;
pub(crate) mod unread;
pub(crate) mod work;
pub(crate) mod workers;
