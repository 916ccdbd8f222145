#![no_std]
#![warn(missing_debug_implementations)]
//! Questions to agents, and advice: texts made from the state.
//!
//! Not here: the meaning of an answer (`descent-core`), how an agent is called (`descent-agent`), any I/O.
//!
//! Interface: `prompt` has `attempt`, `question` and `aligning`, which fill the templates of `prompts/` from a `World` and
//! give a `Prompt` within its limit of bytes. `advice` names what is odd about a check.

extern crate alloc;

pub mod advice;
pub mod prompt;

#[cfg(test)]
#[path = "../../../tests/records.rs"]
mod whole_records;
