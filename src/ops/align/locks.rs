//! Lock files of package managers, and linked directories of installed packages that they would make stale.

use std::path::{Path, PathBuf};

use descent_core::state::State;

use crate::failure::{Failure, exit};

/// Files named at most.
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

/// Directories that package managers install into.
const PACKAGES: [&str; 5] = ["node_modules", ".venv", "venv", "vendor", "env"];

/// Refuses a `setup` that would install into the person's own directory.
pub fn refuse_setup_of_links(state: &State, top: &Path) -> Result<(), Failure> {
    let stale = stale_links(state, top);
    let (Some(_), Some((link, lock))) = (&state.objective.constraints.setup.run, stale.first())
    else {
        return Ok(());
    };
    let message = format!(
        "`{link}` is linked and there is a `setup`: what it installs by {lock} would be installed into your own `{link}`"
    );
    let hint = format!("leave out one of them: --link {link}, or --setup");
    Err(Failure::new("E-INVALID", exit::INVALID, message, hint))
}

/// Linked directories that belong to a lock file of the project, each with that file.
pub fn stale_links(state: &State, top: &Path) -> Vec<(String, String)> {
    let links = state.objective.constraints.link.iter();
    let is_installed = |link: &Path| PACKAGES.iter().any(|name| link.ends_with(name));
    let links = links.filter(|link| is_installed(Path::new(link)) && top.join(link).is_dir());
    let stale = links.filter_map(|link| {
        let dir = Path::new(link).parent().unwrap_or(Path::new(""));
        let lock = locks_in(&top.join(dir)).into_iter().next()?;
        Some((link.clone(), dir.join(lock).display().to_string()))
    });
    stale.collect()
}

/// Lock files in a directory.
pub fn locks_in(dir: &Path) -> Vec<String> {
    let is_there = |name: &&&str| PathBuf::from(dir).join(name).is_file();
    let found = LOCK_FILES.iter().filter(is_there);
    found.take(NAMED_MAX).map(ToString::to_string).collect()
}
