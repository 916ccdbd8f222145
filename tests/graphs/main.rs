//! The search through the real program: graphs whose solutions brute force knows, as shell actions in the workspaces
//! `git` and `shadow`.
//!
//! Invariant: nothing here uses the program's own core; `model` alone defines the meaning of a graph. Not here: the
//! search over outcomes instead of processes, which is tested beside the core.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::panic,
    missing_debug_implementations
)] // door: tests

mod account;
mod draw;
mod model;
mod notation;
mod random;
mod reader;
mod rng;
mod small;
mod trial;
mod world;
