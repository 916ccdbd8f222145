//! The system, as every part of the shell needs it: clocks, files, failures, secrets, signals, words.
//!
//! Not here: the state file (`descent-store`), child processes (`descent-process`), output (`render` of the program).
//!
//! Interface: `failure` is the one shape of an error and has the exit codes. `files` opens, makes and removes files of
//! ours. `clock` has the time of day and the time that passes. `signal` hears Ctrl-C, `space` measures free room.
//! `secrets` hides keys in every text that leaves. `phrase` writes counts, ages and odd characters for a person.
//! `runs` lists the runs of this account, `ports` hands out ports to attempts, `shape` checks an answer by a schema.

pub mod clock;
pub mod failure;
pub mod files;
pub mod phrase;
pub mod ports;
pub mod runs;
pub mod secrets;
pub mod shape;
pub mod signal;
pub mod space;

#[cfg(test)]
#[path = "../../../tests/it/steer/heeded.rs"]
mod heeded;
