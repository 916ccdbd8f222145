//! Delivers a result: into the person's files, as a patch, or as a branch; and its place until then.
//!
//! Not here: the content of a result.

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

/// More than the length of a commit's name.
const NOTE_BYTES_MAX: u64 = 128;

impl Workspaces {
    /// The person's HEAD; `None` in `shared` and `shadow`, which have no commits of theirs.
    pub fn person_head(&self) -> Result<Option<CommitId>> {
        match &*self.0 {
            WorkspaceKind::Git(rooms) => rooms.person_head(),
            WorkspaceKind::Shared(_) => Ok(None),
        }
    }

    /// Applies `base`→`head` to the person's working tree; a dry run only checks.
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

    /// The result as a patch for `git apply`; empty if nothing differs.
    pub fn patch(&self, base: &CommitId, head: &CommitId) -> Result<Vec<u8>> {
        match &*self.0 {
            WorkspaceKind::Git(rooms) => Ok(rooms.git().patch(base, head)?),
            WorkspaceKind::Shared(_) => Ok(Vec::new()),
        }
    }

    /// Writes a file of a person's choice; false if the name is taken.
    pub fn write_new_file(&self, path: &Path, bytes: &[u8]) -> Result<bool> {
        match &*self.0 {
            WorkspaceKind::Git(rooms) => Ok(rooms.git().write_new_file(path, bytes)?),
            WorkspaceKind::Shared(_) => Ok(false),
        }
    }

    /// Makes the result, from its base to its head, a new branch of the person's. Otherwise tells the obstacle.
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

    /// The top of the person's working tree, to which the paths of a result are relative.
    pub fn top(&self) -> &Path {
        match &*self.0 {
            WorkspaceKind::Git(rooms) => rooms.git().top(),
            WorkspaceKind::Shared(place) => place.project(),
        }
    }
}

/// Records that this result was applied, for [`applied`]. Without the record only the suggested next command is worse,
/// so no error stops anything.
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
