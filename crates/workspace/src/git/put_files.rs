//! Puts files into the person's tree, one at a time, each complete or not at all.
//!
//! Invariant: everything overwritten here was first checked by `in_the_way` and the caller.
#![allow(clippy::disallowed_methods)] // door: the person's files

use super::{GitError, call::as_path, diff::PathChange, git_disk};
use std::{
    collections::BTreeSet,
    fs, io,
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
};

/// Paths in the person's tree that block the change: a file or symlink where a directory must be,
/// or files in a directory that becomes a file.
pub(super) fn in_the_way(top: &Path, changes: &[PathChange]) -> Vec<PathBuf> {
    let known: BTreeSet<&Path> = changes.iter().map(|change| as_path(&change.path)).collect();
    let mut found = BTreeSet::new();
    for change in changes {
        let path = as_path(&change.path);
        for dir in path.ancestors().skip(1).take_while(|dir| !dir.as_os_str().is_empty()) {
            let meta = top.join(dir).symlink_metadata();
            if meta.is_ok_and(|meta| !meta.is_dir()) && !known.contains(dir) {
                found.insert(dir.to_owned());
            }
        }
        if !change.new.is_absent() {
            found.extend(unknown_below(top, path, &known));
        }
    }
    found.into_iter().collect()
}

/// Files in the directory `path` that are not among the known ones.
fn unknown_below(top: &Path, path: &Path, known: &BTreeSet<&Path>) -> Vec<PathBuf> {
    let dir = top.join(path);
    if !dir.symlink_metadata().is_ok_and(|meta| meta.is_dir()) {
        return Vec::new();
    }
    let below = git_disk::files_below(&dir, usize::MAX).into_iter();
    let below = below.filter_map(|file| Some(file.strip_prefix(top).ok()?.to_owned()));
    below.filter(|path| !known.contains(path.as_path())).collect()
}

/// Whether `path` is a file or a symlink; a directory counts by its content.
pub(super) fn is_there(top: &Path, path: &[u8]) -> bool {
    let meta = top.join(as_path(path)).symlink_metadata();
    meta.is_ok_and(|meta| !meta.is_dir())
}

/// Moves the files of `changes` from `ready`, where they have the same paths, to `top`.
pub(super) fn put(top: &Path, ready: &Path, changes: &[&PathChange]) -> Result<(), GitError> {
    // Deletions come first: a directory may become a file, or a file a directory.
    let (gone, new): (Vec<&PathChange>, Vec<&PathChange>) =
        changes.iter().partition(|change| change.new.is_absent());
    for change in gone {
        delete(top, as_path(&change.path))?;
    }
    for change in new {
        let path = as_path(&change.path);
        place(&ready.join(path), &top.join(path)).map_err(GitError::io(top.join(path)))?;
    }
    Ok(())
}

fn delete(top: &Path, path: &Path) -> Result<(), GitError> {
    match fs::remove_file(top.join(path)) {
        Err(error) if !is_absent(&error) => return Err(GitError::io(top.join(path))(error)),
        _ => {}
    }
    for dir in path.ancestors().skip(1).take_while(|dir| !dir.as_os_str().is_empty()) {
        // This fails if something is left in it, as it should.
        if fs::remove_dir(top.join(dir)).is_err() {
            break;
        }
    }
    Ok(())
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

fn place(from: &Path, to: &Path) -> io::Result<()> {
    if let Some(parent) = to.parent() {
        fs::create_dir_all(parent)?;
    }
    if to.symlink_metadata().is_ok_and(|meta| meta.is_dir()) {
        remove_empty_dirs(to)?;
    }
    keep_mode(from, to)?;
    match fs::rename(from, to) {
        Err(error) if error.kind() == io::ErrorKind::CrossesDevices => copy_over(from, to),
        done => done,
    }
}

/// Gives a new file the mode of the one in its place, but for the executable bits: who may read it may execute it.
fn keep_mode(from: &Path, to: &Path) -> io::Result<()> {
    let mode = |path: &Path| {
        let meta = path.symlink_metadata().ok().filter(fs::Metadata::is_file);
        meta.map(|meta| meta.permissions().mode() & 0o777)
    };
    let (Some(new), Some(old)) = (mode(from), mode(to)) else { return Ok(()) };
    let executable = if new & 0o100 == 0 { 0 } else { (old & 0o444) >> 2 };
    fs::set_permissions(from, fs::Permissions::from_mode(old & !0o111 | executable))
}

/// Removes a directory without files; it may still hold empty directories.
fn remove_empty_dirs(dir: &Path) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        remove_empty_dirs(&entry?.path())?;
    }
    fs::remove_dir(dir)
}

fn copy_over(from: &Path, to: &Path) -> io::Result<()> {
    let parent = to.parent().unwrap_or(Path::new("/"));
    let scratch = tempfile::Builder::new().prefix(".descent-").tempdir_in(parent)?;
    let copy = scratch.path().join("new");
    if from.is_symlink() {
        symlink(fs::read_link(from)?, &copy)?;
    } else {
        fs::copy(from, &copy)?;
        fs::File::open(&copy)?.sync_all()?;
    }
    fs::rename(&copy, to)
}
