//! The workspace `shadow`: the same on a repository of our own. It serves a directory that is in no repository, or in
//! one that must not be touched.
//!
//! Like `git` it lies beside the state, and moves with it. If it is lost it is made again. The start comes from the
//! files, if they are unchanged since, and the rest from repairs. Invariant: nothing is written to a person's own
//! repository.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use descent_core::{
    id::Lineage,
    state::{Constraints, StartedFrom},
};

use super::{
    super::{Result, places},
    Worktrees,
};
use crate::{git::Git, process::Programs, store::StatePlace};

impl Worktrees {
    pub(in super::super) fn open_private(
        programs: Arc<dyn Programs>,
        cache: &Path,
        at: &StatePlace,
        lineage: &Lineage,
        constraints: &Constraints,
    ) -> Result<Self> {
        let project = places::real_project(at)?;
        let place = places::place_in(cache, &project, lineage);
        places::make_below(cache, &place)?;
        let repository = places::repository_of(at, lineage)?;
        let git = Git::private(programs, &repository, &project)?;
        let mut trees = Self::of(git, place, project, at, lineage, constraints)?;
        trees.is_private = true;
        Ok(trees)
    }

    /// Takes the start of the run again; returns whether it is the same.
    pub fn remake_start(&self, start: &StartedFrom) -> Result<bool> {
        let again = self.snapshot()?;
        let is_same = again.tree == start.tree && again.commit == start.commit;
        if is_same {
            self.hold(start)?;
        }
        Ok(is_same)
    }

    /// Copies another lineage's commits, and its references in the person's repository.
    pub fn take_over(&self, parent: &Self, start: Option<&StartedFrom>) -> Result<()> {
        if self.is_private == parent.is_private {
            self.git.take_over(&parent.git)?;
        }
        match start {
            Some(start) if self.is_there(&start.commit)? && self.is_there(&start.head)? => {
                self.hold(start)
            }
            _ => Ok(()),
        }
    }

    /// Paths in the directory that are no part of the work; in a home directory that includes our own cache.
    pub(super) fn left_out(&self) -> Vec<PathBuf> {
        let cache = self.whole_cache().strip_prefix(&self.project);
        let cache = cache.ok().map(Path::to_owned);
        self.links.iter().cloned().chain(cache).collect()
    }
}
