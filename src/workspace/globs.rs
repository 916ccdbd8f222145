//! Patterns as a person writes them, for paths of the project.
//!
//! Not here: the use of a pattern.

use std::{collections::BTreeSet, path::Path};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use descent_core::{graph::overlap, state::Constraints};

use super::{Result, WorkspaceError, links};

/// Checks the paths and patterns of the constraints before anything is made.
pub(super) fn check(constraints: &Constraints) -> Result<()> {
    links::read(&constraints.link)?;
    for (key, globs) in [
        ("protected", &constraints.protected),
        ("setup.inputs", &constraints.setup.inputs),
        ("setup.keep", &constraints.setup.keep),
    ] {
        Globs::read(key, globs)?;
    }
    Ok(())
}

/// Those of some declared paths and patterns whose files no attempt may change. A pattern of the constraint that cannot
/// be read protects none here.
pub fn protected(
    constraints: &Constraints,
    touched: impl IntoIterator<Item = String>,
) -> BTreeSet<String> {
    let Ok(globs) = Globs::read("protected", &constraints.protected) else {
        return BTreeSet::new();
    };
    let is_match = |path: &str| globs.is_match(Path::new(path), Path::new(""));
    let is_protected = |touched: &String| {
        let path = touched.trim_start_matches("./").trim_end_matches('/');
        match path.find(['*', '?', '[', '{', '\\']) {
            // All that it matches lies in this directory.
            Some(wildcard) => path[..wildcard]
                .rfind('/')
                .is_some_and(|end| is_match(&format!("{}/x", &path[..end]))),
            None => is_match(path) || is_match(&format!("{path}/x")),
        }
    };
    touched.into_iter().filter(is_protected).collect()
}

/// A pattern without what says that it begins at the top: all of them do.
pub(super) fn below_top(pattern: &str) -> &str {
    overlap::plain(pattern).trim_start_matches('/')
}

/// The patterns of one constraint; each is relative to the project, or to the repository's top.
#[derive(Debug, Clone)]
pub(super) struct Globs(GlobSet);

impl Globs {
    /// `*` stops at a slash, `**` does not, `tests/` means all in it, and `/` before it is the top. `key` names the
    /// constraint in an error.
    pub(super) fn read(key: &'static str, patterns: &[String]) -> Result<Self> {
        let mut set = GlobSetBuilder::new();
        let bad = |glob: &str, error: &globset::Error| WorkspaceError::BadGlob {
            key,
            glob: glob.to_owned(),
            fault: error.kind().to_string(),
        };
        for pattern in patterns {
            let below = match below_top(pattern) {
                "" => [String::new(), "**".to_owned()],
                path => [path.to_owned(), format!("{path}/**")],
            };
            for text in &below {
                let glob = GlobBuilder::new(text).literal_separator(true).build();
                set.add(glob.map_err(|error| bad(pattern, &error))?);
            }
        }
        let built = set.build();
        let set = built.map_err(|error| bad(&patterns.join(" "), &error))?;
        Ok(Self(set))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// `path` is relative to the repository's top, in which the project lies at `prefix`.
    pub(super) fn is_match(&self, path: &Path, prefix: &Path) -> bool {
        let in_project = path.strip_prefix(prefix);
        self.0.is_match(path) || in_project.is_ok_and(|path| self.0.is_match(path))
    }
}
