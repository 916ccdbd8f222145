//! Commands that only read, and what an error says.

pub(crate) mod bad_input;
pub(crate) mod beat;
pub(crate) mod diff;
pub(crate) mod doctor;
pub(crate) mod errors;
pub(crate) mod events;
pub(crate) mod help;
pub(crate) mod history;
pub(crate) mod listed;
pub(crate) mod look;
pub(crate) mod measured;
pub(crate) mod misread;
pub(crate) mod next_step;
pub(crate) mod prompt;
pub(crate) mod report;
pub(crate) mod screens;
pub(crate) mod watch;
pub(crate) mod watched;
