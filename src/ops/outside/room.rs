//! The place of one question: a directory below the person's cache, and a tree of the project in it.
//!
//! The tree is a fresh checkout of the files as they are; outside of a repository it is a copy of them. A directory that
//! is too large to be copied, or whose repository has no commit, is not copied: the agent finds an empty one then.
//!
//! Invariant: all of it is removed when this is dropped. The next question removes the leftovers of a killed process.

use std::path::{Path, PathBuf};

use descent_core::{
    id::Lineage,
    state::{Constraints, Workspace},
};

use crate::{
    failure::Failure,
    files,
    git::Git,
    process::{self, environment::Environment},
    store::StatePlace,
    workspace::{Checkout, Size, WorkspaceError, Workspaces, cache_dir, size_of},
};

/// The directory of all questions, below the cache.
const ROOMS: &str = "aligning";

pub(super) struct QuestionRoom {
    pub(super) dir: PathBuf,
    pub(super) tree: PathBuf,
    workspaces: Option<Workspaces>,
}

impl QuestionRoom {
    pub(super) fn make(top: &Path) -> Result<Self, Failure> {
        let cache = cache_dir().ok_or(WorkspaceError::NoHome)?;
        let rooms = cache.join(ROOMS);
        remove_left(&rooms);
        let dir = rooms.join(format!("{}-{}", std::process::id(), uuid::Uuid::now_v7()));
        let unwritable = |error| Failure::io("the place of the question cannot be made", &error);
        files::make_dirs(&dir).map_err(unwritable)?;
        let mut room = Self { tree: dir.join("empty"), dir, workspaces: None };
        match room.copy(top)? {
            Some(tree) => room.tree = tree,
            None => files::make_dirs(&room.tree).map_err(unwritable)?,
        }
        Ok(room)
    }

    /// The tree; `None` where there is nothing to copy it from, or too much.
    fn copy(&mut self, top: &Path) -> Result<Option<PathBuf>, Failure> {
        let mut constraints = Constraints::default();
        match Git::open(top)? {
            Some(git) if git.head()?.commit.is_none() => return Ok(None),
            Some(_) => constraints.workspace = Some(Workspace::Git),
            None => match size_of(top, &constraints)? {
                Size::Usual => constraints.workspace = Some(Workspace::Shadow),
                Size::Large { .. } => return Ok(None),
            },
        }
        let mut place = StatePlace::at(top, Some(&self.dir.join("state.json")));
        place.project = top.to_owned();
        place
            .make()
            .map_err(|error| Failure::io("the place of the question cannot be made", &error))?;
        let lineage = Lineage::new(uuid::Uuid::now_v7().to_string());
        let workspaces = Workspaces::open(&place, &lineage, &constraints)?;
        let workspaces = self.workspaces.insert(workspaces);
        let start = workspaces.snapshot()?.map(|start| start.commit);
        let made = workspaces.for_checks(Checkout::Consult, start.as_ref())?;
        Ok(Some(made.path))
    }

    /// The variables of a program that works there.
    pub(super) fn environment(&self, theirs: Environment) -> Environment {
        match &self.workspaces {
            Some(workspaces) => workspaces.environment(theirs),
            None => theirs,
        }
    }

    /// The mark of its processes.
    pub(super) fn mark(&self) -> String {
        let name = self.dir.file_name().unwrap_or_default();
        format!("{}/aligner", name.to_string_lossy())
    }
}

impl Drop for QuestionRoom {
    fn drop(&mut self) {
        if let Some(trees) = self.workspaces.as_ref().and_then(Workspaces::trees)
            && let Err(error) = trees.discard()
        {
            tracing::warn!(%error, "the tree of a question is left in the cache");
        }
        if let Err(error) = files::remove(&self.dir) {
            tracing::warn!(%error, "the place of a question is left in the cache");
        }
        // It stays while another process asks too.
        let _ = self.dir.parent().map(files::remove_empty);
    }
}

/// Removes what processes that are gone left behind.
fn remove_left(rooms: &Path) {
    for room in files::entries(rooms) {
        let name = room.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let pid = name.split('-').next().and_then(|pid| pid.parse().ok());
        if pid.is_some_and(|pid: u32| process::entry(pid).is_none()) {
            // The next question tries again what cannot be removed now.
            let _ = files::remove(&room);
        }
    }
}
