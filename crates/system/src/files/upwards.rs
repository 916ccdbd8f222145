//! The directories above a place, as far as git looks for a repository.
//!
//! Invariant: none lies beyond the top of the working tree that the place is in, beyond a directory of
//! `GIT_CEILING_DIRECTORIES`, or on another file system. Not here: what git says of a repository (`git`).

use std::{
    env, io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

/// The directories from `dir` upwards, `dir` among them. If they end at a repository, it is the last one.
pub fn upwards(dir: &Path) -> impl Iterator<Item = &Path> {
    let ceilings = ceilings();
    std::iter::successors(Some(dir), move |below| {
        let above = below.parent()?;
        let is_border = is_repository(below)
            || ceilings.iter().any(|ceiling| ceiling == above)
            || device(below) != device(above);
        (!is_border).then_some(above)
    })
}

/// The top of the working tree around a directory, without asking git.
pub fn top_of(dir: &Path) -> Option<&Path> {
    upwards(dir).last().filter(|last| is_repository(last))
}

/// Whether git takes the directory for a repository, or for the top of its working tree (gitrepository-layout(5)). A
/// `.git` without a `HEAD` is none; one that cannot be looked into may be one.
fn is_repository(dir: &Path) -> bool {
    let has = |name: &str| {
        let found = dir.join(name).symlink_metadata();
        !found.is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
    };
    has(".git/HEAD") || has("HEAD") && has("objects") && has("refs")
}

/// git compares them with a path without links.
fn ceilings() -> Vec<PathBuf> {
    let named = env::var_os("GIT_CEILING_DIRECTORIES").unwrap_or_default();
    let whole = env::split_paths(&named).filter(|dir| dir.is_absolute());
    whole.map(|dir| dir.canonicalize().unwrap_or(dir)).collect()
}

fn device(dir: &Path) -> Option<u64> {
    dir.metadata().ok().map(|meta| meta.dev())
}
