//! Runs from their start to each of their endings.

pub(crate) mod agreed;
pub(crate) mod calls;
pub(crate) mod confirm;
pub(crate) mod dead_ends;
pub(crate) mod full;
mod led_back;
pub(crate) mod long_output;
pub(crate) mod many_failures;
pub(crate) mod pristine;
pub(crate) mod repairs;
pub(crate) mod resolve;
pub(crate) mod resting;
pub(crate) mod run;
pub(crate) mod set_up;
pub(crate) mod start;
pub(crate) mod surroundings;
mod warm;
