//! The cost of deciding verdicts, and the risk that they are stale. That is the time that `setup` takes in a fresh
//! checkout, ways to save it, and linked directories beside a lock file.
//!
//! Not here: measuring (`ops::compare`), the page (`preview`).

use std::path::{Path, PathBuf};

use descent_core::state::State;

use crate::{
    failure::{Failure, exit, quoted},
    ops::compare::CheckoutComparison,
    render,
};

/// A shorter `setup` needs no advice.
const SLOW_MS: u64 = 1_000;

/// Paths named at most in one piece of advice.
const NAMED_MAX: usize = 3;

/// Files that tell a package manager what to install. A directory of installed packages beside one fits it, or is
/// stale.
const LOCK_FILES: [&str; 15] = [
    "package-lock.json",
    "npm-shrinkwrap.json",
    "yarn.lock",
    "pnpm-lock.yaml",
    "bun.lock",
    "bun.lockb",
    "deno.lock",
    "composer.lock",
    "Gemfile.lock",
    "poetry.lock",
    "uv.lock",
    "pdm.lock",
    "Pipfile.lock",
    "requirements.txt",
    "go.sum",
];

/// The duration of `setup`, and ways to save it: a line each.
pub(super) fn of_setup(state: &State, looks: &CheckoutComparison, top: &Path) -> Vec<String> {
    let Some(setup_ms) = looks.setup_ms else {
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
    let made = looks.made_by_setup.iter();
    let made: Vec<&str> = made.take(NAMED_MAX).map(String::as_str).collect();
    if constraints.keep.is_empty() && !made.is_empty() {
        let paths = quoted(Path::new(&made.join(",")));
        lines.push(format!(
            "  --set keep={paths} keeps what it made, for a setup that brings it up to date"
        ));
    }
    let locks = locks_in(top);
    if constraints.setup_inputs.is_empty() && !locks.is_empty() {
        let paths = quoted(Path::new(&locks.join(",")));
        lines.push(format!(
            "  --set setup_inputs={paths} runs it again elsewhere only when these change"
        ));
    }
    lines
}

/// Refuses a `setup` that would install into the person's own directory.
pub(super) fn refuse_setup_of_links(state: &State, top: &Path) -> Result<(), Failure> {
    let stale = stale_links(state, top);
    let (Some(_), Some((link, lock))) = (&state.objective.constraints.setup, stale.first()) else {
        return Ok(());
    };
    let message = format!(
        "`{link}` is linked and there is a `setup`: what it installs by {lock} would be installed into your own `{link}`"
    );
    let hint = format!("leave out one of them: --link {link}, or --setup");
    Err(Failure::new("E-LINK", exit::INVALID, message, hint))
}

/// Linked directories that belong to a lock file of the project, each with that file.
pub(super) fn stale_links(state: &State, top: &Path) -> Vec<(String, String)> {
    let links = state.objective.constraints.link.iter();
    let links = links.filter(|link| top.join(link).is_dir());
    let stale = links.filter_map(|link| {
        let beside = Path::new(link).parent().unwrap_or(Path::new(""));
        let lock = locks_in(&top.join(beside)).into_iter().next()?;
        Some((link.clone(), beside.join(lock).display().to_string()))
    });
    stale.collect()
}

fn locks_in(dir: &Path) -> Vec<String> {
    let is_there = |name: &&&str| PathBuf::from(dir).join(name).is_file();
    let found = LOCK_FILES.iter().filter(is_there);
    found.take(NAMED_MAX).map(ToString::to_string).collect()
}
