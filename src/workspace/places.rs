//! The directories of the cache: what they are called, and which project each serves, so that those of a project that
//! was moved away can be told.
//!
//! Invariants: two lineages share no directory and no reference; only a place that names its project, which is not
//! there, is called abandoned.
#![allow(clippy::disallowed_methods)] // door: directories of the cache, and one small file in each

use std::{
    ffi::OsStr,
    fs::{self, DirBuilder},
    io,
    os::unix::{ffi::OsStrExt, fs::DirBuilderExt},
    path::{Path, PathBuf},
};

use descent_core::id::{Digest, Lineage};

use super::{Result, WorkspaceError};

const NAME: &str = "project";
/// Characters of a name that is used as it is; a longer one becomes its digest.
const NAME_BYTES_MAX: usize = 100;

/// The directory of one lineage and one project; not made yet.
pub(super) fn place_in(cache: &Path, project: &Path, lineage: &Lineage) -> PathBuf {
    cache.join(name(lineage.as_str())).join(short(project))
}

/// The repository of our own that the places of one lineage share; not made yet.
pub(super) fn repository_in(cache: &Path, lineage: &Lineage) -> PathBuf {
    cache.join(name(lineage.as_str())).join("shadow.git")
}

/// Where the references of one lineage are.
pub(super) fn refs_of(lineage: &Lineage) -> String {
    format!("refs/descent/{}", name(lineage.as_str()))
}

pub(super) fn result_ref(lineage: &Lineage) -> String {
    format!("{}/result", refs_of(lineage))
}

/// What may stand in a path and in a reference; anything else goes by its digest.
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
    hex(project.as_os_str().as_bytes())
        .chars()
        .take(8)
        .collect()
}

fn hex(bytes: &[u8]) -> String {
    let digest = Digest::of(bytes);
    digest.as_str().trim_start_matches("sha256:").to_owned()
}

/// For this person alone: a workspace holds what the project holds.
pub(super) fn make_private(dir: &Path) -> Result<()> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(dir);
    let unwritable = |source| WorkspaceError::CacheUnwritable {
        path: dir.to_owned(),
        source,
    };
    made.map_err(unwritable)?;
    rustix::fs::access(
        dir,
        rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK,
    )
    .map_err(|errno| unwritable(errno.into()))
}

pub(super) fn note(place: &Path, project: &Path) -> io::Result<()> {
    let (path, wanted) = (place.join(NAME), project.as_os_str().as_bytes());
    if fs::read(&path).is_ok_and(|found| found == wanted) {
        return Ok(());
    }
    fs::write(path, wanted)
}

/// The places beside this one whose project is gone.
pub(super) fn abandoned(place: &Path) -> Vec<PathBuf> {
    let beside = place.parent().map(fs::read_dir).into_iter().flatten();
    let places = beside.flatten().flatten().map(|entry| entry.path());
    places
        .filter(|other| other != place && is_abandoned(other))
        .collect()
}

fn is_abandoned(place: &Path) -> bool {
    let Ok(project) = fs::read(place.join(NAME)) else {
        return false;
    };
    let looked = Path::new(OsStr::from_bytes(&project)).symlink_metadata();
    looked.is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_abandoned_only_when_its_project_is_known_and_gone() {
        let world = tempfile::tempdir().unwrap();
        let place = |name: &str| world.path().join(name);
        for name in ["mine", "gone", "there", "unknown"] {
            fs::create_dir(place(name)).unwrap();
        }
        note(&place("mine"), &place("never")).unwrap();
        note(&place("gone"), &place("moved")).unwrap();
        note(&place("there"), world.path()).unwrap();
        assert_eq!(abandoned(&place("mine")), [place("gone")]);
    }
}
