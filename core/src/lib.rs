#![no_std]
//! The decisions of descent: the meaning of the state file, the graph, the search, the measure, and what happens next.
//!
//! The host's contract: load a state, give `step` an input, commit the state that it returns, and only then start
//! the `desired` work and end the rest. Outcomes come back as inputs. Nothing here reads a file, a clock or chance,
//! and nothing here can: the crate is `no_std`, and so are its dependencies.

extern crate alloc;

pub mod advice;
pub mod assessment;
pub mod audit;
pub mod change;
pub mod desired;
pub mod difference;
pub mod doc;
pub mod event;
pub mod finding;
pub mod fingerprint;
pub mod fragment;
pub mod graph;
pub mod id;
pub mod json_schema;
pub mod judging;
pub mod law;
pub mod measure;
pub mod memory;
pub mod phase_summary;
pub mod plan;
pub mod profile;
pub mod prompt;
pub mod proposal;
pub mod rating;
pub mod search;
pub mod state;
pub mod step;
pub mod trust;
pub mod validation;
pub mod verdict;
pub mod view;
pub mod wording;
pub mod world;

#[cfg(test)]
#[path = "../../tests/records.rs"]
mod whole_records;
