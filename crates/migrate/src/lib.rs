#![no_std]
#![warn(missing_debug_implementations)]
//! Converts the state file of an AoT loop into a state of descent: one frozen module for each version, on the lossless
//! tree.
//!
//! `front_matter` takes the old text apart. `v1_2` and `v1_3` know the contracts; both end in the tree of a state.
//! Its nodes carry the places of the old file, so that every fault is told where it was written. Not here: files, and
//! the reader of YAML, which the host hands in.
//!
//! Invariant: nothing is dropped silently; things without a place here are kept under `notes`.

extern crate alloc;

mod front_matter;
mod reader;
mod report;
mod v1_2;
mod v1_3;

pub use front_matter::Host;
pub use report::{Fate, Item};
pub use v1_3::Additions;

use descent_core::doc::prelude::*;
use descent_core::{
    doc::{Fault, Node},
    graph::validate,
    id::Lineage,
    state::{State, decode},
};

use report::Report;

#[derive(Debug)]
pub struct Migration {
    /// The contract that the old file follows.
    pub contract: &'static str,
    pub state: State,
    /// The fate of each thing in the old file, by fate and place.
    pub items: Vec<Item>,
    pub warnings: Vec<Fault>,
}

/// Converts contract 1.2 or 1.3 of the AoT loop; else gives every fault of the old file, with its place there.
pub fn of_aot(
    bytes: &[u8],
    additions: &Additions,
    lineage: &Lineage,
    host: Host,
) -> Result<Migration, Vec<Fault>> {
    let mut report = Report::default();
    let file = front_matter::read(bytes, host, &mut report)?;
    let contract = if v1_2::is_it(&file.front) { "1.2" } else { "1.3" };
    let front = v1_2::up(&file.front, &mut report);
    let prompt = v1_3::prompt(&file);
    let (root, facts) = v1_3::up(&front, prompt, additions, lineage, contract, &mut report);
    let mut faults = report.take_faults();
    let decoded = decode::of_tree(root);
    faults.extend(decoded.faults);
    let root = decoded.root.unwrap_or_else(Node::null);
    let mut state = decoded.state.filter(|_| faults.is_empty());
    if let Some(state) = &mut state {
        faults.extend(validate::check(state, &root));
        faults.extend(validate::gate(state, &root));
        if faults.is_empty() {
            facts.put_into(state, &mut report);
        }
    }
    faults.extend((host.pattern_faults)(&decoded.patterns));
    match state {
        Some(state) if faults.is_empty() => Ok(Migration {
            contract,
            state,
            items: report.items(&file.text),
            warnings: file.warnings,
        }),
        _ => Err(faults),
    }
}
