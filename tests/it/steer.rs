//! Commands and signals that change what a loop does.

pub(crate) mod atoms;
pub(crate) mod corrections;
pub(crate) mod heeded;
pub(crate) mod mixed;
pub(crate) mod moved;
pub(crate) mod parked;
pub(crate) mod plan_edited;
pub(crate) mod redirect;
pub(crate) mod stop;
pub(crate) mod stop_now;
pub(crate) mod taken_back;
