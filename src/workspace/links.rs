//! The paths that every workspace shares with the project: `node_modules`, `.env`.
//!
//! Invariant: a link is made only inside the workspace, never through a symlink of the tree, and
//! never over a file that is there.
#![allow(clippy::disallowed_methods)] // door: symlinks in workspaces

use std::{
    fs, io,
    os::unix::fs::symlink,
    path::{Component, Path, PathBuf},
};

use super::{Result, WorkspaceError};

/// Reads the links as plain relative paths, for joining.
pub(super) fn read(links: &[String]) -> Result<Vec<PathBuf>> {
    links.iter().map(|link| plain(link)).collect()
}

fn plain(link: &str) -> Result<PathBuf> {
    let bad = || WorkspaceError::BadLink { path: link.to_owned() };
    let mut path = PathBuf::new();
    for component in Path::new(link).components() {
        match component {
            Component::Normal(name) => path.push(name),
            Component::CurDir => {}
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return Err(bad()),
        }
    }
    // An attempt that shares the repository or the state could change what judges it. A file system may not tell upper
    // from lower case.
    let is_ours = |part: Component<'_>| {
        let name = part.as_os_str();
        name.eq_ignore_ascii_case(".git") || name.eq_ignore_ascii_case(".descent")
    };
    if path.as_os_str().is_empty() || path.components().any(is_ours) {
        Err(bad())
    } else {
        Ok(path)
    }
}

/// Links whatever of `links` is in the project into `workspace`.
pub(super) fn place(project: &Path, workspace: &Path, links: &[PathBuf]) -> Result<()> {
    for link in links {
        let (source, target) = (project.join(link), workspace.join(link));
        if source.exists()
            && has_own_parent(workspace, link).map_err(WorkspaceError::io(&target))?
        {
            match symlink(&source, &target) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                    return Err(WorkspaceError::io(target)(error));
                }
                _ => {}
            }
        }
    }
    Ok(())
}

/// Whether the directory above `link` is the workspace's own; made if missing.
fn has_own_parent(workspace: &Path, link: &Path) -> io::Result<bool> {
    let mut dir = workspace.to_owned();
    for name in link.parent().into_iter().flat_map(Path::components) {
        dir.push(name);
        match dir.symlink_metadata() {
            Ok(meta) if meta.is_dir() => {}
            Ok(_) => return Ok(false),
            Err(error) if error.kind() == io::ErrorKind::NotFound => fs::create_dir(&dir)?,
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}
