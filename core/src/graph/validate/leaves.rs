//! Finds the faults of the leaves of checks, each with its place.

use alloc::{format, string::String, vec::Vec};

use super::Validator;
use crate::{
    doc::{self, Fault, Node},
    state::{Check, CheckKind, Leaf, State, VERSION, Workspace, decode},
};

impl Validator<'_> {
    /// A judge rates the result as a whole, on a tree of its own.
    pub(super) fn quality_leaves(&mut self) {
        if self.state.version > VERSION {
            // A newer program may judge more; a later place reports if this one cannot go on.
            return;
        }
        let is_shared = self.state.objective.constraints.workspace() == Workspace::Shared;
        let mut found = Vec::new();
        every_leaf(self.state, &mut |check, at| {
            let is_of_base = at.starts_with(BASE_CASE);
            if let Some(Leaf::Quality { .. }) = check.leaf()
                && (is_shared || !is_of_base)
            {
                found.push((format!("{at}/quality"), check.title(), is_of_base));
            }
        });
        for (at, title, is_of_base) in found {
            let (why, hint) = if is_of_base {
                (
                    "a judge is shown what git tells of the work, and the workspace is `shared`",
                    "leave out `workspace`, so that git tells trees apart",
                )
            } else {
                (
                    "a judge rates the whole result, and no single atom",
                    "write it into the base case, or say it as a `command` that a machine decides",
                )
            };
            let message = format!("`{title}` cannot be rated here: {why}");
            self.fault("unsupported", &at, message, Some(hint.into()));
        }
    }
}

const BASE_CASE: &str = "/objective/base_case";

/// Leaves whose limit is a baseline that was never measured; a state from `align` has none.
pub fn unmeasured(state: &State, root: &Node) -> Vec<Fault> {
    let mut faults = Vec::new();
    every_leaf(state, &mut |check, at| {
        let rule = check.leaf().and_then(Leaf::number);
        if rule.is_some_and(|rule| rule.has_baseline() && rule.baseline.is_none()) {
            faults.push(Fault {
                span: decode::place_of(root, at),
                pointer: at.into(),
                rule: "no-baseline",
                message: format!("the baseline of `{}` was never measured", check.title()),
                hint: Some(
                    "write the number beside it, such as \"baseline\": 211, or align again".into(),
                ),
            });
        }
    });
    faults
}

/// Every leaf of the base case and of the atoms, with its pointer.
fn every_leaf(state: &State, each: &mut impl FnMut(&Check, &str)) {
    if let Some(check) = &state.objective.base_case {
        below(check, BASE_CASE, each);
    }
    for (id, atom) in state.all_atoms() {
        let Some(check) = atom.task().and_then(|task| task.spec.checks.as_ref()) else {
            continue;
        };
        below(check, &(super::pointer_of(id) + "/checks"), each);
    }
}

fn below(check: &Check, at: &str, each: &mut impl FnMut(&Check, &str)) {
    let (parts, key) = match &check.kind {
        CheckKind::Leaf(_) => return each(check, at),
        CheckKind::All(parts) => (parts, "all"),
        CheckKind::Any(parts) => (parts, "any"),
    };
    for (index, part) in parts.iter().enumerate() {
        let at: String = doc::pointer_push(&doc::pointer_push(at, key), &format!("{index}"));
        below(part, &at, each);
    }
}
