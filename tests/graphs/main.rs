//! The search through the real program: graphs whose solvability brute force knows, made real with shell actions in
//! the workspaces `git` and `shadow`.
//!
//! Invariant: nothing here is told by the program's own core; what a graph means is defined by `model` alone.
//! Not here: the search over outcomes instead of processes; that is tested beside the core.
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
mod rng;
mod small;
mod trial;
mod world;
