//! Commands as checks of a base case.

use alloc::vec::Vec;

use crate::state::{Check, CheckKind};

/// Adds a command to a base case.
pub fn add_check(base_case: &mut Option<Check>, command: &str) {
    let check = Check::command(command);
    let mut parts = match base_case.take() {
        None => Vec::new(),
        Some(Check { kind: CheckKind::All(parts), name: None, .. }) => parts,
        Some(other) => Vec::from([other]),
    };
    parts.push(check);
    *base_case = Some(Check::of(CheckKind::All(parts)));
}
