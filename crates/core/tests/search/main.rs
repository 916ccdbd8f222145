//! The search of the loop against brute force: `step` and `desired` with outcomes instead of processes.

#![allow(clippy::panic, clippy::print_stdout, reason = "a failure tells its seed and its story")]

mod account;
mod adversary;
mod agreed;
mod answers;
mod beside;
mod chance;
mod gates;
mod grow;
mod model;
mod moved;
mod named;
mod order;
mod phases;
mod planners;
mod planning;
mod random;
mod recorded;
mod refiners;
mod replan;
mod resting;
mod rng;
mod sim;
mod steered;
