//! The input that the program hands in beside the old file.

use alloc::{string::String, vec::Vec};

use descent_core::{
    doc::{Fault, Limits, Parsed},
    state::check::Pattern,
};

/// The services of the host for a migration.
#[derive(Debug, Clone, Copy)]
pub struct Host {
    /// Reads a text as YAML from that byte on; oddities that are no faults go to the warnings.
    pub yaml: fn(&str, usize, &Limits, &mut Vec<Fault>) -> Parsed,
    /// The faults of the regular expressions among them.
    pub pattern_faults: fn(&[Pattern]) -> Vec<Fault>,
}

/// A person's additions of things that the old file lacks.
#[derive(Debug, Default)]
pub struct Additions {
    pub why: Option<String>,
    pub checks: Vec<String>,
}
