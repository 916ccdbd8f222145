//! Shadow types, for tests alone: what the schemas of state and plan are generated from.
//!
//! Not here: the table of schemas (`cli::schema`).

pub(crate) mod looking;
pub(crate) mod output;
pub(crate) mod plan;
mod shared;
pub(crate) mod state;
