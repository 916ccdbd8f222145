//! Pipes, sockets and devices that an attempt leaves. Git does not see them, and waits for those under the names that
//! it opens in each directory.
//!
//! Invariant: an attempt that leaves one under such a name has failed, and the path is named. The next attempt finds
//! none. A link is left alone: git does not follow it. Only a look that takes long is followed by a walk through all
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
    ffi::OsString,
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

pub(super) fn refuse_in(tree: &Path, dir: &Path) -> Result<(), GitError> {
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
    in_each_dir(
        tree,
        |dir, special| if special.iter().any(is_opened) { refuse_in(tree, dir) } else { Ok(()) },
    )
}

fn is_opened(name: &OsString) -> bool {
    OPENED.iter().any(|opened| name == opened)
}

/// Removes pipes, sockets and devices, which no clean of git's touches: it does not see them. Below `keep` it removes
/// those that git would wait for.
pub(super) fn remove_below(tree: &Path, keep: &[PathBuf]) -> Result<(), GitError> {
    let kept: Vec<&Path> =
        keep.iter().map(|path| path.strip_prefix(tree).unwrap_or(path)).collect();
    in_each_dir(tree, |dir, special| {
        let is_kept = |name: &OsString| {
            let path = dir.join(name);
            !is_opened(name) && kept.iter().any(|kept| path.starts_with(kept))
        };
        let mut odd = special.iter().filter(|name| !is_kept(name));
        odd.try_for_each(|name| disk::remove_tree(&tree.join(dir).join(name)))
    })
}

/// Calls `act` with each directory, and the names of the pipes, sockets and devices in it.
fn in_each_dir(
    tree: &Path,
    mut act: impl FnMut(&Path, &[OsString]) -> Result<(), GitError>,
) -> Result<(), GitError> {
    let mut dirs = vec![PathBuf::new()];
    while let Some(dir) = dirs.pop() {
        let found = disk::other_than_files(&tree.join(&dir));
        act(&dir, &found.special)?;
        let below = found.dirs.into_iter().filter(|name| name != ".git");
        dirs.extend(below.map(|name| dir.join(name)));
    }
    Ok(())
}
