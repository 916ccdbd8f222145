//! Runs that nobody watches: detached, waited for, listed, and told of.

pub(crate) mod detach;
pub(crate) mod notify;
pub(crate) mod ps;
pub(crate) mod wait;
