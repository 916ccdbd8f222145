#![no_std]
#![warn(missing_debug_implementations)]
//! The decisions of descent: the meaning of the state file, the graph, the search, the measure, and what happens next.
//!
//! Not here: the texts of prompts and advice (`descent-minds`), files, clocks, chance. The crate is `no_std`, and so
//! are its dependencies, so that it cannot do I/O.
//!
//! Interface: `state::decode` reads a state and `state::encode` writes it. `step` takes a state and an input, and gives
//! the next state. `desired` says which work runs now. `change` is an operation of a person. `world` is the view of a
//! state that decisions look at, `view` the one that commands print. `verdict`, `law`, `measure` and `search` are the
//! parts of a decision.
//!
//! The host's contract: load a state, give `step` an input, commit the state that it returns, and only then start the
//! `desired` work and end the rest. Outcomes come back as inputs.

extern crate alloc;

pub mod answer_forms;
pub mod audit;
pub mod change;
pub mod desired;
pub mod difference;
pub mod event;
pub mod fingerprint;
pub mod fragment;
pub mod graph;
pub mod id;
pub mod json_schema;
pub mod judging;
pub mod law;
pub mod measure;
pub mod memory;
pub mod plan;
pub mod profile;
pub mod proposal;
pub mod rating;
pub mod search;
pub mod state;
pub mod step;
pub mod transient;
pub mod trust;
pub mod verdict;
pub mod view;
pub mod wording;
pub mod world;

pub use descent_doc as doc;

#[cfg(test)]
#[path = "../../../tests/records.rs"]
mod whole_records;
