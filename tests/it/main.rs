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

mod adopted;
mod agreed;
mod align;
mod apart;
mod apply;
mod aside;
mod bad_input;
mod beat;
mod begun;
mod broken;
#[path = "../crash/main.rs"]
mod calls;
mod chance;
mod checks;
mod clean;
mod confirm;
mod constraints;
mod crash;
mod dead_ends;
#[path = "../docs/main.rs"]
mod docs;
mod doctor;
mod edit;
mod editor;
mod editors;
mod errors;
mod escapes;
mod filters;
mod folded;
mod formats;
mod gate;
#[path = "../graphs/main.rs"]
mod graphs;
mod ground;
mod heeded;
mod help;
mod history;
mod killed;
mod lineage;
mod long_output;
mod look;
mod many_failures;
mod mended;
mod near_misses;
mod newer;
mod noticed;
mod odd_checks;
mod passed_over;
mod phases;
mod plan;
mod plan_atoms;
mod plans;
mod plans_yaml;
mod pristine;
mod processes;
mod prompts;
mod quickstart;
mod repairs;
mod repositories;
mod resolve;
mod room;
mod run;
mod screen;
mod shadow;
mod shadow_lost;
mod sidecars;
mod stale;
mod start;
mod stop;
mod strangers;
mod taken_back;
mod terminal;
#[path = "../tidy/main.rs"]
mod tidy;
mod trust;
mod undisturbed;
mod upgrade;
mod watched;
mod work;
mod workers;
mod world;
