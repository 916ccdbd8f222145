//! What an attempt gets, what it may do, and that nothing of it is left.

pub(crate) mod apart;
pub(crate) mod escapes;
pub(crate) mod filters;
pub(crate) mod prompts;
pub(crate) mod work;
pub(crate) mod workers;
