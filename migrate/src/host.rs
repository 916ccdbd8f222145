//! What the program hands in beside the old file.

use alloc::{string::String, vec::Vec};

use descent_core::{
    doc::{Fault, Limits, Parsed},
    state::check::Pattern,
};

/// What the host does for a migration.
#[derive(Debug, Clone, Copy)]
pub struct Host {
    /// Reads a text as YAML from that byte on; what is odd, and no fault, goes to the warnings.
    pub yaml: fn(&str, usize, &Limits, &mut Vec<Fault>) -> Parsed,
    /// The faults of the regular expressions among them.
    pub pattern_faults: fn(&[Pattern]) -> Vec<Fault>,
}

/// What a person adds because the old file has none of it.
#[derive(Debug, Default)]
pub struct Additions {
    pub why: Option<String>,
    pub checks: Vec<String>,
}
