//! The program as a person meets it: the binary, real git, real processes, in a world of its own for each test.
//!
//! The other tests that need the binary are modules of this program too, so that what is built once is linked once.
//! Not here: what a room of the program guarantees by itself; that is tested where it lives.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::panic,
    missing_debug_implementations
)] // door: tests

mod agents;
mod agree;
#[path = "../crash/main.rs"]
mod calls;
mod crashes;
#[path = "../docs/main.rs"]
mod docs;
mod edits;
#[path = "../graphs/main.rs"]
mod graphs;
mod judging;
mod looks;
mod planning;
mod quickstart;
mod results;
mod roles;
mod runs;
mod safety;
mod steer;
mod support;
#[path = "../tidy/main.rs"]
mod tidy;
mod unattended;
mod versions;
#[path = "../records.rs"]
mod whole_records;

use support::{
    begun, chance, described, kept, passed_over, processes, screen, snapshot, terminal,
    undisturbed, world,
};
