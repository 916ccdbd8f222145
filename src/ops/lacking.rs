//! Paths of the project that a person's variables name or that hold packages, and that jobs in a checkout do not find.

use descent_core::advice::Advice;

use crate::{
    failure::{Failure, quoted},
    process::environment::Environment,
    workspace::{Checkout, Worktrees},
};

/// Directories that tools make and checks seldom need: offered last.
const CACHES: &[&str] = &[
    "target",
    "__pycache__",
    ".pytest_cache",
    ".mypy_cache",
    ".ruff_cache",
    ".DS_Store",
    ".idea",
    ".vscode",
    "coverage",
    ".cache",
];

/// A path that a checkout lacks.
#[derive(Debug)]
pub struct LackingPath {
    /// Otherwise it holds packages, and matters only where a check fails.
    pub is_named: bool,
    pub advice: Advice,
}

/// Advice on each such path, but for caches, which tools make anew. Without a checkout it is for a run that links these.
pub fn lacking(
    trees: &Worktrees,
    environment: &Environment,
    which: Option<Checkout>,
    linked: &[String],
) -> Result<Vec<LackingPath>, Failure> {
    let lacking = trees.lacking(environment, which)?.into_iter();
    let lacking = lacking.filter(|(path, _)| !is_cache(&path.to_string_lossy()));
    let advice = lacking.map(|(path, names)| {
        let links = [linked, &[path.display().to_string()]].concat().join(",");
        let (link, setup) = match which {
            Some(_) => (format!("--link {}", quoted(&path)), "--setup COMMAND"),
            None => (
                format!("descent run --set {}", quoted(format!("link={links}"))),
                "descent run --set setup=COMMAND",
            ),
        };
        let link = if trees.may_be_linked(&path) {
            format!("share yours: {link}; or ")
        } else {
            String::new()
        };
        let is_named = !names.is_empty();
        let why = if is_named {
            format!("it is named by {}", Vec::from_iter(names).join(" and "))
        } else {
            "it holds packages".to_owned()
        };
        let advice = Advice {
            what: format!("{why}, and a checkout lacks it"),
            hint: format!("{link}make it in each checkout: {setup}"),
            check: path.display().to_string(),
        };
        LackingPath { is_named, advice }
    });
    Ok(advice.collect())
}

/// Whether a path looks like a tool's leftovers, or lies in them: a cache may ignore each of its files itself.
pub(super) fn is_cache(path: &str) -> bool {
    let is_cache = |name: &str| {
        CACHES.contains(&name) || name.ends_with(".log") || name.ends_with(".egg-info")
    };
    path.split('/').any(is_cache)
}
