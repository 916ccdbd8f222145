//! Which project a directory of the cache serves, so that those of a project that was moved away can be told.
//!
//! Invariant: only a place that names its project, which is not there, is called abandoned.
#![allow(clippy::disallowed_methods)] // door: one small file in the cache

use std::{
    ffi::OsStr,
    fs, io,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

const NAME: &str = "project";

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
