//! States of other and older formats become a state of this one: one frozen module a version, on the lossless tree.
//!
//! `v1_2` and `v1_3` know the contracts of the AoT loop's state files; both end in a tree of version 2.0, whose nodes
//! carry the places of the old file, so that every fault is told where it was written. Not here: reading the old text.
//!
//! Invariant: nothing is dropped without a word; what has no place here is kept under `notes`.

mod facts;
mod old;
mod report;
mod v1_2;
mod v1_3;

pub use report::{Fate, Item, Report};

use alloc::string::String;

use crate::{
    doc::{Fault, Node, Span},
    graph::validate,
    id::Lineage,
    state::{State, check::Pattern, decode},
};

/// A state file of the AoT loop, taken apart: its front matter as a tree, and the text below it.
#[derive(Debug)]
pub struct AotFile<'a> {
    pub front: &'a Node,
    pub body: &'a str,
    pub body_at: Span,
}

/// What a person adds because the old file has none of it.
#[derive(Debug, Default)]
pub struct Added {
    pub why: Option<String>,
    pub checks: alloc::vec::Vec<String>,
}

/// What came of it: a state only where there is no fault.
#[derive(Debug)]
pub struct Migrated {
    /// The contract that the old file follows.
    pub contract: &'static str,
    pub state: Option<State>,
    pub report: Report,
    pub faults: alloc::vec::Vec<Fault>,
    /// For the shell to compile.
    pub patterns: alloc::vec::Vec<Pattern>,
}

/// From contract 1.2 or 1.3 of the AoT loop; `report` may hold what was mended in the text.
pub fn of_aot(file: &AotFile<'_>, added: &Added, lineage: &Lineage, report: Report) -> Migrated {
    let mut report = report;
    let contract = if v1_2::is_it(file.front) {
        "1.2"
    } else {
        "1.3"
    };
    let front = v1_2::up(file.front, &mut report);
    let (root, facts) = v1_3::up(&front, file, added, lineage, contract, &mut report);
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
    Migrated {
        contract,
        state: state.filter(|_| faults.is_empty()),
        report,
        faults,
        patterns: decoded.patterns,
    }
}
