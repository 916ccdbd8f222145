//! Paths that a tree does not have from its commit: links to the project (`link`), and ignored ones that survive from one
//! pristine checkout to the next (`setup.keep`).
//!
//! Invariants: a link is made only inside the workspace, never through a symlink of the tree, and never over a file that is
//! there. Only directories and regular files are moved aside, never through a symlink, and back only to free places.
//!
//! Not here: which paths git ignores.
#![allow(clippy::disallowed_methods)] // door: directories of the cache

use std::{
    fs, io,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use super::{Result, WorkspaceError, globs::Globs, places};
use descent_system::files;

/// Paths examined below one tree.
const PATHS_MAX: usize = 1_000_000;

/// The topmost paths at or below `within`, relative to `root`, that match `globs`.
pub(super) fn matching(
    root: &Path,
    within: &[PathBuf],
    globs: &Globs,
    prefix: &Path,
) -> Vec<PathBuf> {
    let (mut found, mut open, mut looked) = (Vec::new(), within.to_vec(), 0);
    while let Some(path) = open.pop() {
        looked += 1;
        let Ok(meta) = root.join(&path).symlink_metadata() else { continue };
        let is_inside = !path.as_os_str().is_empty();
        if is_inside && globs.is_match(&path, prefix) {
            if meta.is_dir() || meta.is_file() {
                found.push(path);
            }
        } else if meta.is_dir() && looked < PATHS_MAX {
            let entries = fs::read_dir(root.join(&path)).into_iter().flatten();
            open.extend(entries.flatten().map(|entry| path.join(entry.file_name())));
        }
    }
    found
}

/// Moves `paths` of one tree to the same places in another; existing files there are replaced.
pub(super) fn put_aside(root: &Path, aside: &Path, paths: &[PathBuf]) -> Result<()> {
    for path in paths {
        remove(&aside.join(path))?;
        put_back(root, aside, path)?;
    }
    Ok(())
}

/// The topmost part of a path that does not exist yet; `None` if all of it exists, or is beyond a symlink.
pub(super) fn first_missing(root: &Path, path: &Path) -> Option<PathBuf> {
    let parts = path.ancestors().filter(|part| !part.as_os_str().is_empty());
    let missing = parts.take_while(|part| root.join(part).symlink_metadata().is_err());
    missing.last().filter(|_| has_own_parent(root, path)).map(Path::to_owned)
}

/// Moves one path back, if its place is free.
pub(super) fn put_back(aside: &Path, root: &Path, path: &Path) -> Result<()> {
    let to = root.join(path);
    make_parent(&to)?;
    fs::rename(aside.join(path), &to).map_err(WorkspaceError::io(to))
}

pub(super) fn remove(path: &Path) -> Result<()> {
    files::remove(path).map_err(WorkspaceError::io(path))
}

pub(super) fn make_parent(path: &Path) -> Result<()> {
    let parent = path.parent().unwrap_or(path);
    fs::create_dir_all(parent).map_err(WorkspaceError::io(parent))
}

/// Whether no directory above a path of a tree is a link.
pub(super) fn has_own_parent(root: &Path, path: &Path) -> bool {
    path.ancestors().skip(1).filter(|dir| !dir.as_os_str().is_empty()).all(|dir| {
        let meta = root.join(dir).symlink_metadata();
        meta.map_or_else(|error| error.kind() == io::ErrorKind::NotFound, |meta| meta.is_dir())
    })
}

/// Links whatever of `links` is in the project into `workspace`.
pub(super) fn place_links(project: &Path, workspace: &Path, links: &[PathBuf]) -> Result<()> {
    for link in links {
        let (source, target) = (project.join(link), workspace.join(link));
        if !source.exists() {
            continue;
        }
        match places::own_dir(workspace, link.parent().unwrap_or(link)) {
            Ok(_) => {}
            Err(WorkspaceError::NoProject { .. }) => continue,
            Err(error) => return Err(error),
        }
        match symlink(&source, &target) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(WorkspaceError::io(target)(error));
            }
            _ => {}
        }
    }
    Ok(())
}
