//! Facts about the trees for checks: what they share, what survives in them, and how they are removed.
//!
//! Not here: how they are made (`git`).

use std::path::PathBuf;

use super::{Checkout, Result, WorkspaceKind, Workspaces};

impl Workspaces {
    /// The globs of ignored paths that survive from one pristine checkout to the next; none in `shared`.
    pub fn keeps(&self) -> Vec<String> {
        match &*self.0 {
            WorkspaceKind::Git(rooms) => rooms.keeps(),
            WorkspaceKind::Shared(_) => Vec::new(),
        }
    }

    /// Removes a tree for checks and gives its path; nothing in `shared`.
    pub fn remove_checks(&self, which: Checkout) -> Result<Option<PathBuf>> {
        match &*self.0 {
            WorkspaceKind::Git(rooms) => rooms.remove_checks(which).map(Some),
            WorkspaceKind::Shared(_) => Ok(None),
        }
    }
}
