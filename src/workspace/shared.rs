//! The workspace `shared`: the project itself, in place.
//!
//! Invariant: no isolation and no memory: nothing is recorded, merged, kept or undone here.

use std::path::{Path, PathBuf};

use descent_core::state::Constraints;

use super::{Result, WorkDir, WorkspaceError};

#[derive(Debug)]
pub(super) struct SharedWorkspace {
    project: PathBuf,
    /// For files that must outlive the project's own; made when it is needed.
    cache: Option<PathBuf>,
    setup: Option<String>,
}

impl SharedWorkspace {
    pub(super) fn new(project: PathBuf, cache: Option<PathBuf>, constraints: &Constraints) -> Self {
        let setup = constraints.setup.clone();
        Self {
            project,
            cache,
            setup,
        }
    }

    pub(super) fn project(&self) -> &Path {
        &self.project
    }

    pub(super) fn cache(&self) -> Result<&Path> {
        self.cache.as_deref().ok_or(WorkspaceError::NoHome)
    }

    pub(super) fn setup(&self) -> Option<&str> {
        self.setup.as_deref()
    }

    /// Never new: `setup` is for workspaces, and people set up their own directory.
    pub(super) fn made(&self) -> WorkDir {
        WorkDir::ready(self.project.clone())
    }
}
