//! The directories of the cache: where it is, their names, and the project that each serves. So those of a project that
//! was moved away can be told. A result lies there until it is applied, which is recorded beside its objects.
//!
//! Invariants: two lineages share no directory and no reference. A place is called abandoned only if it names its
//! project, and that project is gone.
#![allow(clippy::disallowed_methods)] // door: directories of the cache

use std::{
    ffi::{OsStr, OsString},
    fs, io,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use descent_core::{
    id::{CommitId, Digest, Lineage},
    state::Workspace,
};

use super::{Result, WorkspaceError};
use descent_store::StatePlace;
use descent_system::files;

const NAME: &str = "project";
const STATE: &str = "state";
const LINEAGE: &str = "lineage";
const PREFIX: &str = "descent-prefix";
const NOTE_BYTES_MAX: u64 = 64 << 10;
/// Characters of a name that is used as it is; a longer one becomes its digest.
const NAME_BYTES_MAX: usize = 100;

/// The directory of one lineage and one project; not made yet.
pub(super) fn place_in(cache: &Path, project: &Path, lineage: &Lineage) -> PathBuf {
    cache.join(name(lineage.as_str())).join(short(project))
}

/// The prefix of one lineage's references.
pub(super) fn refs_of(lineage: &Lineage) -> String {
    format!("refs/descent/{}", name(lineage.as_str()))
}

pub(super) fn result_ref(lineage: &Lineage) -> String {
    format!("{}/result", refs_of(lineage))
}

/// A name that is safe in a path and in a reference: the text itself, else its digest.
pub(super) fn name(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let fits = !text.is_empty() && text.len() <= NAME_BYTES_MAX && text.chars().all(is_plain);
    let is_odd = text.starts_with(['.', '-'])
        || text.ends_with('.')
        || text.ends_with(".lock")
        || text.contains("..");
    if fits && !is_odd {
        return text.to_owned();
    }
    hex(text.as_bytes()).chars().take(32).collect()
}

fn short(project: &Path) -> String {
    hex(project.as_os_str().as_bytes())[..8].to_owned()
}

/// The name of a state whose own place is gone: made from its bytes, so that no two share one.
pub(super) fn saved_state(bytes: &[u8]) -> String {
    format!("state-{}.json", &hex(bytes)[..16])
}

pub(super) fn is_saved_state(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().as_bytes();
    name.starts_with(b"state-") && name.ends_with(b".json")
}

fn hex(bytes: &[u8]) -> String {
    Digest::sha256(bytes).as_str().trim_start_matches("sha256:").to_owned()
}

/// Makes a directory for this person alone, since a workspace holds what the project holds.
pub(super) fn make_private(dir: &Path) -> Result<()> {
    let unwritable = |source| WorkspaceError::CacheUnwritable { path: dir.to_owned(), source };
    files::make_dirs(dir).map_err(unwritable)?;
    rustix::fs::access(dir, rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK)
        .map_err(|errno| unwritable(errno.into()))
}

/// The same below the directory of all lineages. Anything else in its place, or above it, is removed: a link without
/// what it leads to.
pub(super) fn make_below(cache: &Path, dir: &Path) -> Result<()> {
    make_private(cache)?;
    let mut at = cache.to_owned();
    for name in dir.strip_prefix(cache).into_iter().flatten() {
        at.push(name);
        if files::plain_dir(&at).is_err_and(|error| error.kind() != io::ErrorKind::NotFound) {
            files::remove(&at).map_err(WorkspaceError::io(&at))?;
        }
        make_private(&at)?;
    }
    Ok(())
}

/// Records the project and the state that a place serves.
pub(super) fn note(place: &Path, project: &Path, state: &Path) -> io::Result<()> {
    for (name, wanted) in [(NAME, project), (STATE, state)] {
        let (path, wanted) = (place.join(name), wanted.as_os_str().as_bytes());
        if !files::read(&path, NOTE_BYTES_MAX).is_ok_and(|found| found == wanted) {
            files::write_anew(&path, wanted)?;
        }
    }
    Ok(())
}

/// Whether the project has the path in the repository that it had when this repository of the lineage was opened first.
pub(super) fn keeps_prefix(repository: &Path, prefix: &Path) -> io::Result<bool> {
    let (path, prefix) = (repository.join(PREFIX), prefix.as_os_str().as_bytes());
    match files::read(&path, NOTE_BYTES_MAX) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            files::write_anew(&path, prefix).map(|_| true)
        }
        found => Ok(found? == prefix),
    }
}

/// Whether the place is the one that was opened: one that was removed and made again has no record.
pub(super) fn is_noted(place: &Path) -> bool {
    place.join(NAME).symlink_metadata().is_ok()
}

/// The project and the state that a place serves, by its record.
pub(super) fn noted(place: &Path) -> (Option<PathBuf>, Option<PathBuf>) {
    let read = |name: &str| {
        let bytes = files::read(&place.join(name), NOTE_BYTES_MAX).ok()?;
        (!bytes.is_empty()).then(|| PathBuf::from(OsStr::from_bytes(&bytes)))
    };
    (read(NAME), read(STATE))
}

/// The directory at `inside` of a tree, made if missing; an error if a commit has something else there.
pub(super) fn own_dir(tree: &Path, inside: &Path) -> Result<PathBuf> {
    let mut dir = tree.to_owned();
    for name in inside {
        dir.push(name);
        match dir.symlink_metadata() {
            Ok(meta) if meta.is_dir() => {}
            Ok(_) => return Err(WorkspaceError::NoProject { path: dir }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                fs::create_dir(&dir).map_err(WorkspaceError::io(&dir))?;
            }
            Err(error) => return Err(WorkspaceError::io(&dir)(error)),
        }
    }
    Ok(dir)
}

/// The directory with the trees for checks of one lineage and project. Nobody can guess its name, and it is apart from
/// the trees of attempts. It serves the same project as `place`.
pub(super) fn checks_of(cache: &Path, place: &Path, lineage: &Lineage) -> Result<PathBuf> {
    let served = noted(place);
    let found = all_checks(cache, lineage).into_iter().filter(|dir| noted(dir) == served);
    if let Some(dir) = found.min() {
        return Ok(dir);
    }
    let above = cache.join(CHECKS);
    make_below(cache, &above)?;
    let made = tempfile::Builder::new().prefix("").rand_bytes(RANDOM_CHARS).tempdir_in(&above);
    let dir = made.map_err(WorkspaceError::io(&above))?.keep();
    let (project, state) = served;
    let write = || {
        note(&dir, &project.unwrap_or_default(), &state.unwrap_or_default())?;
        files::write_anew(&dir.join(LINEAGE), name(lineage.as_str()).as_bytes())
    };
    write().map_err(WorkspaceError::io(&dir))?;
    Ok(dir)
}

/// The lineage of such a directory, by the name of its directories.
pub(super) fn lineage_of_checks(dir: &Path) -> Option<String> {
    String::from_utf8(files::read(&dir.join(LINEAGE), NOTE_BYTES_MAX).ok()?).ok()
}

/// The directories of the lineage whose project is gone.
pub(super) fn abandoned_checks(cache: &Path, lineage: &Lineage) -> Vec<PathBuf> {
    all_checks(cache, lineage).into_iter().filter(|dir| is_abandoned(dir)).collect()
}

const CHECKS: &str = "checks";
/// Each is one of 62 characters.
const RANDOM_CHARS: usize = 22;

fn all_checks(cache: &Path, lineage: &Lineage) -> Vec<PathBuf> {
    let lineage = Some(name(lineage.as_str()));
    let mut all = files::entries(&cache.join(CHECKS));
    all.retain(|dir| files::plain_dir(dir).is_ok() && lineage_of_checks(dir) == lineage);
    all
}

/// The places beside this one whose project is gone.
pub(super) fn abandoned(place: &Path) -> Vec<PathBuf> {
    let siblings = place.parent().map(fs::read_dir).into_iter().flatten();
    let places = siblings.flatten().flatten().map(|entry| entry.path());
    places.filter(|other| other != place && is_abandoned(other)).collect()
}

fn is_abandoned(place: &Path) -> bool {
    files::read(&place.join(NAME), NOTE_BYTES_MAX).is_ok_and(|project| {
        let looked = Path::new(OsStr::from_bytes(&project)).symlink_metadata();
        looked.is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
    })
}

pub(super) fn real_project(at: &StatePlace) -> Result<PathBuf> {
    let project = &at.project;
    project.canonicalize().map_err(WorkspaceError::io(project))
}

/// The repository of a lineage; makes the directory of the sidecars.
pub(super) fn repository_of(at: &StatePlace, lineage: &Lineage) -> Result<PathBuf> {
    at.make().map_err(WorkspaceError::io(&at.dir))?;
    Ok(at.repositories().join(name(lineage.as_str())))
}

/// The directory of the workspaces, if there is a place for it; nothing is made.
pub fn cache_dir() -> Option<PathBuf> {
    cache_root(variable)
}

/// Without HOME, the account's own entry counts.
fn variable(name: &str) -> Option<OsString> {
    match name {
        "HOME" => std::env::home_dir().map(PathBuf::into_os_string),
        _ => std::env::var_os(name),
    }
}

/// Follows the XDG rules: a relative path in a variable is ignored.
pub(super) fn cache_root(var: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let absolute = |name| var(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")));
    Some(cache?.join("descent"))
}

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
    Some(CommitId::new(String::from_utf8(files::read(file, NOTE_BYTES_MAX).ok()?).ok()?.trim_end()))
}

/// Beside the objects of the result: it goes where they go.
fn applied_note(at: &StatePlace, lineage: &Lineage) -> PathBuf {
    at.repositories().join(name(lineage.as_str())).join(APPLIED)
}

/// The place at which `deliver` puts the result, if it did, and the reference that follows it: known without asking
/// git.
pub fn result_of(
    project: &Path,
    lineage: &Lineage,
    kind: Workspace,
) -> Option<(Option<PathBuf>, String)> {
    let result = place_in(&cache_dir()?, project, lineage).join("result");
    let top = match kind {
        Workspace::Shadow => Some(project),
        Workspace::Git | Workspace::Shared => files::top_of(project),
    };
    let within = top.and_then(|top| project.strip_prefix(top).ok());
    let path = match within {
        Some(within) if !within.as_os_str().is_empty() => result.join(within),
        _ => result,
    };
    Some((path.is_dir().then_some(path), result_ref(lineage)))
}
