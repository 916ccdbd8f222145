//! The workspace `shadow`: the same on a repository of our own, for a directory that is in none or is not to be touched.
//!
//! Like the other it lies beside the state, and moves with it. What is lost with it is made again: the start from the
//! files, where they still are what the run began from, and the rest as repairs. Invariant: to a person's own repository
//! nothing is written.

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
        places::make_private(&place)?;
        let repository = places::repository_of(at, lineage)?;
        let old = places::old_repository_in(cache, lineage);
        let is_moved = !repository.exists() && old.is_dir();
        if is_moved {
            places::move_dir(&old, &repository)?;
        }
        let git = Git::private(programs, &repository, &project)?;
        let mut rooms = Self::of((git, place), (project, &at.state), lineage, constraints)?;
        rooms.is_private = true;
        rooms.is_moved = is_moved;
        Ok(rooms)
    }

    /// What the run began from, taken again; whether it is the same.
    pub(in super::super) fn remake_start(&self, start: &StartedFrom) -> Result<bool> {
        let again = self.snapshot()?;
        let is_same = again.tree == start.tree && again.commit == start.commit;
        if is_same {
            self.hold(start)?;
        }
        Ok(is_same)
    }

    /// What another lineage's repository holds is here from now on too, and what it holds in the person's.
    pub(in super::super) fn take_over(
        &self,
        parent: &Self,
        start: Option<&StartedFrom>,
    ) -> Result<()> {
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

    /// What lies in the directory and is no part of the work; in a home directory our own cache does.
    pub(super) fn left_out(&self) -> Vec<PathBuf> {
        let cache = self.whole_cache().strip_prefix(&self.project);
        let cache = cache.ok().map(Path::to_owned);
        self.links.iter().cloned().chain(cache).collect()
    }
}
