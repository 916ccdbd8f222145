//! The loop, and the operations that change something.
//!
//! Not here: decisions (`descent-core`), texts for a terminal and the parsing of commands (the program).
//!
//! Interface: `driver` runs the loop: it observes, steps, commits, and does the desired work. `ops` has one module for
//! each operation of a person: align, run, redirect, stop, edit, undo, doctor and others. `events` writes what happens
//! for other programs, `heartbeat` for other commands. `plan_file` reads a plan. `survey` looks at a project,
//! `plan_surroundings` looks whether the programs and files that a plan names are there, `trust` keeps what may run.

pub mod driver;
pub mod events;
pub mod heartbeat;
pub mod ops;
pub mod plan_file;
pub mod plan_surroundings;
pub mod survey;
pub mod trust;

#[cfg(test)]
#[path = "../../../tests/it/support/passed_over.rs"]
mod passed_over;

#[cfg(test)]
#[path = "../../../tests/records.rs"]
mod whole_records;
