//! The costs of verdicts that decide, as lines: how long `setup` takes in a fresh checkout, and what would save it.
//!
//! Not here: measuring (`ops::compare`), the page (`preview`).

use std::path::Path;

use descent_core::state::State;

use crate::{
    failure::quoted,
    ops::{align::locks::locks_in, compare::CheckoutComparison},
    render,
};

/// A shorter `setup` needs no advice.
const SLOW_MS: u64 = 1_000;

/// Paths named at most in one piece of advice.
const NAMED_MAX: usize = 3;

/// The duration of `setup`, and ways to save it: a line each.
pub(super) fn of_setup(state: &State, comparison: &CheckoutComparison, top: &Path) -> Vec<String> {
    let Some(setup_ms) = comparison.setup_ms else {
        return Vec::new();
    };
    let mut lines = Vec::from([format!(
        "setup: it took {}; it runs in every fresh checkout that decides",
        render::time(setup_ms)
    )]);
    if setup_ms < SLOW_MS {
        return lines;
    }
    let constraints = &state.objective.constraints;
    let made = comparison.made_by_setup.iter();
    let made: Vec<&str> = made.take(NAMED_MAX).map(String::as_str).collect();
    if constraints.setup.keep.is_empty() && !made.is_empty() {
        let paths = quoted(Path::new(&made.join(",")));
        lines.push(format!(
            "  --set setup.keep={paths} keeps what it made, for a setup that brings it up to date"
        ));
    }
    let locks = locks_in(top);
    if constraints.setup.inputs.is_empty() && !locks.is_empty() {
        let paths = quoted(Path::new(&locks.join(",")));
        lines.push(format!(
            "  --set setup.inputs={paths} runs it again elsewhere only when these change"
        ));
    }
    lines
}
