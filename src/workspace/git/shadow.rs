//! The workspace `shadow`: the same on a repository of our own, for a directory that is in none or is not to be touched.
//!
//! It lies beside the places of its lineage, so that a project that is moved keeps what was made of it. What is lost
//! with the cache is made again: the start from the directory, where that still is what the run began from, and the
//! rest as repairs. Invariant: to a person's own repository nothing is written.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use descent_core::{
    id::{Lineage, UnixMillis},
    state::{Constraints, StartedFrom},
};

use super::{
    super::{Result, WorkspaceError, places},
    Rooms,
};
use crate::{git::Git, process::Programs};

impl Rooms {
    pub(in super::super) fn open_private(
        programs: Arc<dyn Programs>,
        cache: &Path,
        project: PathBuf,
        lineage: &Lineage,
        constraints: &Constraints,
    ) -> Result<Self> {
        let place = places::place_in(cache, &project, lineage);
        places::make_private(&place)?;
        let repository = places::repository_in(cache, lineage);
        let git = Git::private(programs, &repository, &project)?;
        let mut rooms = Self::of((git, place), project, lineage, constraints)?;
        rooms.is_private = true;
        Ok(rooms)
    }

    /// What the run began from, taken again; whether it is the same.
    pub(in super::super) fn remake_start(&self, start: &StartedFrom) -> Result<bool> {
        if !self.is_private {
            return Ok(false);
        }
        // When it was taken makes no difference to it.
        let again = self.snapshot(UnixMillis(0))?;
        Ok(again.tree == start.tree && again.commit == start.commit)
    }

    /// What another lineage's repository holds is here from now on too.
    pub(in super::super) fn take_over(&self, parent: &Self) -> Result<()> {
        if self.is_private && parent.is_private {
            self.git.share_objects_of(&parent.git)?;
        }
        Ok(())
    }

    /// What lies in the directory and is no part of the work; in a home directory our own cache does.
    pub(super) fn left_out(&self) -> Vec<PathBuf> {
        let cache = self.whole_cache().strip_prefix(&self.project);
        let cache = cache.ok().map(Path::to_owned);
        self.links.iter().cloned().chain(cache).collect()
    }

    pub(super) fn remove_repository(&self) -> Result<()> {
        let repository = self.git.common_dir();
        fs::remove_dir_all(repository).map_err(WorkspaceError::io(repository))
    }
}
