//! The fence of one job: the paths that it cannot write, and how the kernel keeps them.
//!
//! In a mount namespace these paths are read-only. Else Landlock closes them. It can only allow, so every entry beside
//! them is opened one by one, and nothing new can be made in a directory above them.
//!
//! Not here: the calls of the kernel (`guard::fence`), and which paths are closed (`fenced_place`).

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{fs, io};

use serde::{Deserialize, Serialize};

/// Entries at most that Landlock opens for one job.
const ENTRIES_MAX: usize = 10_000;

/// How the kernel keeps a fence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum FenceWay {
    /// In the mount namespace that the job has.
    Mounts,
    /// In a namespace of its own, with a user namespace: the way of an ordinary account.
    UserMounts,
    Landlock,
}

/// The fence of one job, for its guard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FenceTask {
    pub(crate) way: FenceWay,
    pub(crate) closed: Vec<PathBuf>,
    pub(crate) open: Vec<PathBuf>,
    /// Directories that keep their names, the outermost first.
    pub(crate) held: Vec<PathBuf>,
}

/// The directories above what is closed.
pub(super) fn above(closed: &[PathBuf]) -> BTreeSet<PathBuf> {
    let above = closed.iter().flat_map(|path| path.ancestors().skip(1));
    above.map(Path::to_owned).collect()
}

/// Every entry beside what is closed and what is above it. A link is what it leads to.
pub(super) fn opened(closed: &[PathBuf]) -> io::Result<Vec<PathBuf>> {
    let above = above(closed);
    let mut opened = Vec::new();
    for dir in &above {
        for entry in fs::read_dir(dir)? {
            let entry = entry?;
            let path = entry.path();
            if !entry.file_type()?.is_symlink() && !closed.contains(&path) && !above.contains(&path)
            {
                opened.push(path);
            }
        }
        if opened.len() > ENTRIES_MAX {
            return Err(io::Error::other(format!("more than {ENTRIES_MAX} entries")));
        }
    }
    Ok(opened)
}
