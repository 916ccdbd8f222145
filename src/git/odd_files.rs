//! Files of an attempt that git would wait for: pipes, sockets and devices under the names that it
//! opens in each directory.
//!
//! Invariant: an attempt that leaves one has failed, and the path is named. A link is left alone:
//! git does not follow it. Only a look that takes long is followed by a walk through all
//! directories; git itself passes over those that are ignored, which may be many.

use super::{
    Git, GitError,
    call::{Call, as_path},
    disk,
    status::WorkTreeStatus,
};
use crate::process::tool::ToolError;
use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    time::Duration,
};

/// The names that git opens in a directory of files.
const OPENED: &[&str] = &[".gitignore", ".gitattributes", ".gitmodules"];

/// A look that takes longer may be one that waits.
const FIRST_LOOK_MAX: Duration = Duration::from_secs(5);

impl Git {
    /// The status of a tree that an attempt left; `call` makes a run on it. When it returns, git can
    /// read the files that it names without waiting.
    pub(super) fn status_of_left<'c>(
        &self,
        tree: &Path,
        call: impl Fn() -> Call<'c>,
        untracked: bool,
    ) -> Result<WorkTreeStatus, GitError> {
        refuse_in(tree, Path::new(""))?;
        let status = match self.status(call().within(FIRST_LOOK_MAX), untracked) {
            Err(GitError::Tool(ToolError::TooLong { .. })) => {
                refuse_below(tree)?;
                self.status(call(), untracked)?
            }
            status => status?,
        };
        let paths = status.entries.iter().map(|entry| as_path(&entry.path));
        let dirs: BTreeSet<&Path> = paths.flat_map(|path| path.ancestors().skip(1)).collect();
        for dir in dirs {
            refuse_in(tree, dir)?;
        }
        Ok(status)
    }
}

fn refuse_in(tree: &Path, dir: &Path) -> Result<(), GitError> {
    let mut paths = OPENED.iter().map(|name| dir.join(name));
    match paths.find_map(|path| disk::special(tree, &path).map(|what| (path, what))) {
        Some((path, what)) => {
            let path = path.display().to_string();
            Err(GitError::WaitedFor { path, what })
        }
        None => Ok(()),
    }
}

fn refuse_below(tree: &Path) -> Result<(), GitError> {
    in_each_dir(tree, |dir| refuse_in(tree, dir))
}

/// Removes such files, which no clean of git's touches: it does not see them.
pub(super) fn remove_below(tree: &Path) -> Result<(), GitError> {
    in_each_dir(tree, |dir| {
        let paths = OPENED.iter().map(|name| dir.join(name));
        let mut odd = paths.filter(|path| disk::special(tree, path).is_some());
        odd.try_for_each(|path| disk::remove_tree(&tree.join(path)))
    })
}

fn in_each_dir(
    tree: &Path,
    mut act: impl FnMut(&Path) -> Result<(), GitError>,
) -> Result<(), GitError> {
    let mut dirs = vec![PathBuf::new()];
    while let Some(dir) = dirs.pop() {
        act(&dir)?;
        let below = disk::dirs_in(&tree.join(&dir)).into_iter();
        let below = below.filter(|name| name != ".git");
        dirs.extend(below.map(|name| dir.join(name)));
    }
    Ok(())
}
