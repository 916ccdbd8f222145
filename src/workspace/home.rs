//! The place of a result until it is applied, and the record that it was.
//!
//! Not here: how it is applied (`git`).

use std::path::{Path, PathBuf};

use descent_core::{
    id::{CommitId, Lineage},
    state::Workspace,
};

use super::{cache_dir, places};
use crate::{files, store::StatePlace};

/// More than the length of a commit's name.
const NOTE_BYTES_MAX: u64 = 128;
pub(super) const APPLIED: &str = "applied";

/// Records that this result was applied, for [`applied`]. Without the record only the suggested next command is worse,
/// so no error stops anything.
pub fn note_applied(at: &StatePlace, lineage: &Lineage, head: &CommitId) {
    let _ = files::write_durably(&applied_note(at, lineage), head.as_str().as_bytes());
}

/// The result that was brought home last, as files or as a branch.
pub fn applied(at: &StatePlace, lineage: &Lineage) -> Option<CommitId> {
    noted_commit(&applied_note(at, lineage))
}

/// The commit that a file names, as a reference of git does.
pub(super) fn noted_commit(file: &Path) -> Option<CommitId> {
    let text = String::from_utf8(files::read(file, NOTE_BYTES_MAX).ok()?).ok()?;
    Some(CommitId::new(text.trim_end()))
}

/// Beside the objects of the result: it goes where they go.
fn applied_note(at: &StatePlace, lineage: &Lineage) -> PathBuf {
    let repository = at.repositories().join(places::name(lineage.as_str()));
    repository.join(APPLIED)
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
    let top = match kind {
        Workspace::Shadow => Some(project),
        Workspace::Git | Workspace::Shared => files::top_of(project),
    };
    let within = top.and_then(|top| project.strip_prefix(top).ok());
    let path = match within {
        Some(within) if !within.as_os_str().is_empty() => result.join(within),
        _ => result,
    };
    Some((path.is_dir().then_some(path), places::result_ref(lineage)))
}
