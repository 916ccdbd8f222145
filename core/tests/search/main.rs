//! The search, as the loop does it, against brute force: `step` and `owed` with outcomes instead of processes.

mod model;
mod named;
mod order;
mod random;
mod rng;
mod sim;
