//! How a result comes home: into the person's files, as a patch, as a branch; and where it lies until then.
//!
//! Not here: what a result is.

use std::path::{Path, PathBuf};

use descent_core::{
    id::{CommitId, Lineage},
    state::Workspace,
};

use super::{Result, WorkspaceKind, Workspaces, cache_dir, places};
use crate::{
    files,
    git::{ApplyOutcome, BranchOutcome, FileLines},
    store::StatePlace,
};

/// The name of a commit is shorter.
const NOTE_BYTES_MAX: u64 = 128;

impl Workspaces {
    /// The commit that the person stands at; none in `shared` and `shadow`, where nothing of theirs is one.
    pub fn person_head(&self) -> Result<Option<CommitId>> {
        match &*self.0 {
            WorkspaceKind::Git(rooms) => rooms.person_head(),
            WorkspaceKind::Shared(_) => Ok(None),
        }
    }

    /// Brings `base`→`head` into the person's working tree; a dry one only looks.
    pub fn apply(&self, base: &CommitId, head: &CommitId, is_dry: bool) -> Result<ApplyOutcome> {
        match &*self.0 {
            WorkspaceKind::Git(rooms) => rooms.apply(base, head, is_dry),
            WorkspaceKind::Shared(_) => Ok(ApplyOutcome::Nothing),
        }
    }

    /// Added and removed lines of each file of the result.
    pub fn lines(&self, base: &CommitId, head: &CommitId) -> Result<Vec<FileLines>> {
        match &*self.0 {
            WorkspaceKind::Git(rooms) => Ok(rooms.git().lines(base, head)?),
            WorkspaceKind::Shared(_) => Ok(Vec::new()),
        }
    }

    /// The result as `git apply` takes it; empty where nothing differs.
    pub fn patch(&self, base: &CommitId, head: &CommitId) -> Result<Vec<u8>> {
        match &*self.0 {
            WorkspaceKind::Git(rooms) => Ok(rooms.git().patch(base, head)?),
            WorkspaceKind::Shared(_) => Ok(Vec::new()),
        }
    }

    /// A file of a person's choice, where nothing has the name yet; else false.
    pub fn write_new_file(&self, path: &Path, bytes: &[u8]) -> Result<bool> {
        match &*self.0 {
            WorkspaceKind::Git(rooms) => Ok(rooms.git().write_new_file(path, bytes)?),
            WorkspaceKind::Shared(_) => Ok(false),
        }
    }

    /// The result, from its base to its head, as a new branch of the person's, or what is in its way.
    pub fn branch(
        &self,
        name: &str,
        of: (&CommitId, &CommitId),
        is_dry: bool,
    ) -> Result<BranchOutcome> {
        match &*self.0 {
            WorkspaceKind::Git(rooms) => Ok(rooms.git().branch(name, of, is_dry)?),
            WorkspaceKind::Shared(_) => Ok(BranchOutcome::BadName),
        }
    }

    /// The top of the person's working tree, from which the paths of a result are meant.
    pub fn top(&self) -> &Path {
        match &*self.0 {
            WorkspaceKind::Git(rooms) => rooms.git().top(),
            WorkspaceKind::Shared(place) => place.project(),
        }
    }
}

/// Notes that this result was brought home, for [`applied`]. Without the note, only what is typed next is less to the
/// point: so no error stops what has been done.
pub fn note_applied(at: &StatePlace, lineage: &Lineage, head: &CommitId) {
    let _ = files::write_durably(&applied_note(at, lineage), head.as_str().as_bytes());
}

/// The result that was brought home last, as files or as a branch.
pub fn applied(at: &StatePlace, lineage: &Lineage) -> Option<CommitId> {
    let bytes = files::read(&applied_note(at, lineage), NOTE_BYTES_MAX).ok()?;
    String::from_utf8(bytes).ok().map(CommitId::new)
}

/// Beside the objects of the result: it goes where they go.
fn applied_note(at: &StatePlace, lineage: &Lineage) -> PathBuf {
    let repository = at.repositories().join(places::name(lineage.as_str()));
    repository.join("applied")
}

/// The place at which `deliver` puts the result, if it did, and the reference that follows it: known without asking
/// git.
pub fn result_of(
    project: &Path,
    lineage: &Lineage,
    kind: Workspace,
) -> Option<(Option<PathBuf>, String)> {
    let cache = cache_dir()?;
    let result = places::place_in(&cache, project, lineage).join("result");
    let mut above = project.ancestors();
    let top = match kind {
        Workspace::Shadow => Some(project),
        _ => above.find(|dir| dir.join(".git").symlink_metadata().is_ok()),
    };
    let within = top.and_then(|top| project.strip_prefix(top).ok());
    let path = match within {
        Some(within) if !within.as_os_str().is_empty() => result.join(within),
        _ => result,
    };
    Some((path.is_dir().then_some(path), places::result_ref(lineage)))
}
