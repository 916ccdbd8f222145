//! Shadow types, for tests alone: what schemas of outputs are generated from.
//!
//! Not here: the table of schemas (`cli::schema`).

pub(crate) mod looking;
pub(crate) mod output;
