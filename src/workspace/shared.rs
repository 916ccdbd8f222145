//! The workspace `shared`: the project itself, in place.
//!
//! Invariant: no isolation and no memory: nothing is snapshot, merged, kept or undone here.

use std::path::{Path, PathBuf};

use descent_core::state::Constraints;

use super::{Result, WorkDir, WorkspaceError};

#[derive(Debug)]
pub(super) struct SharedWorkspace {
    project: PathBuf,
    /// Only for what has to outlive the project's own files; made when it is needed.
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

    /// Never new: `setup` is for workspaces, and the person's own directory is set up by them.
    pub(super) fn made(&self) -> WorkDir {
        WorkDir::ready(self.project.clone())
    }
}
