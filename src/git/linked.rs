//! The administrative directory of a worktree of ours, found by the worktree's path.
//!
//! Beside what git keeps there, ours holds `descent-index.<commit>`: the index as it was when the
//! worktree was last checked out, which an attempt's own git does not touch.

use super::{Git, GitError, call::Call, disk, index::PREFIX, modules::SAVED_DIR};
use descent_core::id::CommitId;
use std::{
    ffi::OsStr,
    fs::{self, File},
    io::Read,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

const SAVED: &str = "descent-index.";

/// What every index begins with (gitformat-index).
const INDEX_SIGN: &[u8; 4] = b"DIRC";

/// What stays there between two attempts; all else (merges begun, locks, settings) is theirs.
const KEPT: &[&str] = &[
    "gitdir",
    "commondir",
    "HEAD",
    "logs",
    "refs",
    "reftable",
    SAVED_DIR,
];

#[derive(Debug)]
pub(super) struct Linked {
    admin: PathBuf,
}

impl Git {
    /// A run on the files of a worktree of ours, with the repository's own settings: what stands
    /// in the worktree's `.git` has no say.
    pub(super) fn call_on(&self, verb: &'static str, tree: &Path) -> Call<'_> {
        self.call_in(verb, self.common_dir(), tree)
            .setting("core.sparseCheckout=false")
    }
}

impl Linked {
    pub(super) fn admin(&self) -> &Path {
        &self.admin
    }

    /// By the repository's own records, whatever became of the worktree.
    pub(super) fn find(git: &Git, at: &Path) -> Option<Self> {
        Self::all(git, at).into_iter().next()
    }

    pub(super) fn all(git: &Git, at: &Path) -> Vec<Self> {
        let at = settled(at);
        Self::where_tree(git, |tree| tree == at)
    }

    /// All worktrees somewhere below `dir`.
    pub(super) fn below(git: &Git, dir: &Path) -> Vec<Self> {
        let dir = settled(dir);
        Self::where_tree(git, |tree| tree.starts_with(&dir))
    }

    /// Those whose worktrees have names that begin so.
    pub(super) fn named(git: &Git, dir: &Path, prefix: &str) -> Vec<Self> {
        let dir = settled(dir);
        let is_named = |tree: &Path| {
            let name = tree.file_name().map(OsStr::as_bytes).unwrap_or_default();
            name.starts_with(prefix.as_bytes())
        };
        Self::where_tree(git, |tree| tree.starts_with(&dir) && is_named(tree))
    }

    /// The records of worktrees below `dir` that git cannot read as such. A torn record may not say where its worktree
    /// is: then the worktree's own word, or the index that we keep there, tells that it is ours.
    pub(super) fn broken(git: &Git, dir: &Path) -> Vec<Self> {
        let trees = fs::read_dir(dir).into_iter().flatten().flatten();
        let named: Vec<PathBuf> = trees
            .filter_map(|tree| pointed(&tree.path().join(".git"), b"gitdir: "))
            .map(|admin| settled(&admin))
            .collect();
        let below = settled(dir);
        let records = fs::read_dir(git.common_dir().join("worktrees"));
        let admins = records.into_iter().flatten().flatten();
        let all = admins.map(|entry| Self {
            admin: entry.path(),
        });
        all.filter(|linked| !linked.is_readable())
            .filter(|linked| {
                let tree = pointed(&linked.admin.join("gitdir"), b"");
                let is_below = tree.is_some_and(|tree| settled(&tree).starts_with(&below));
                is_below || named.contains(&settled(&linked.admin)) || linked.has_our_index()
            })
            .collect()
    }

    /// A power cut leaves files without their bytes: empty ones, or as long as they were and full of zeros.
    fn is_readable(&self) -> bool {
        let says = |name: &str| {
            let text = fs::read(self.admin.join(name)).unwrap_or_default();
            !text.trim_ascii().is_empty() && !text.contains(&0)
        };
        says("gitdir") && says("commondir") && says("HEAD") && self.has_no_torn_index()
    }

    fn has_no_torn_index(&self) -> bool {
        let index = File::open(self.admin.join("index"));
        index.map_or(true, |mut index| {
            let mut begins = [0; INDEX_SIGN.len()];
            index.read_exact(&mut begins).is_ok() && &begins == INDEX_SIGN
        })
    }

    fn has_our_index(&self) -> bool {
        let entries = fs::read_dir(&self.admin).into_iter().flatten().flatten();
        let mut names = entries.map(|entry| entry.file_name());
        names.any(|name| name.as_bytes().starts_with(SAVED.as_bytes()))
    }

    fn where_tree(git: &Git, is_meant: impl Fn(&Path) -> bool) -> Vec<Self> {
        let records = fs::read_dir(git.common_dir().join("worktrees"));
        let admins = records
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path());
        let ours = admins.filter(|admin| {
            let named = pointed(&admin.join("gitdir"), b"");
            let tree = named.and_then(|file| admin.join(file).parent().map(settled));
            tree.as_deref().is_some_and(&is_meant)
        });
        ours.map(|admin| Self { admin }).collect()
    }

    /// Whether the worktree's `.git` and the repository's records still name one another.
    pub(super) fn is_whole(&self, git: &Git, at: &Path) -> bool {
        let back = pointed(&at.join(".git"), b"gitdir: ");
        let is_back = back.is_some_and(|admin| settled(&at.join(admin)) == settled(&self.admin));
        let common = pointed(&self.admin.join("commondir"), b"");
        let is_ours = common.is_some_and(|dir| settled(&self.admin.join(dir)) == git.common_dir());
        is_back && is_ours && self.admin.join("HEAD").is_file() && !at.is_symlink()
    }

    pub(super) fn saved_index(&self, commit: &CommitId) -> Option<PathBuf> {
        let path = self.admin.join(format!("{SAVED}{commit}"));
        path.is_file().then_some(path)
    }

    /// The index becomes the one last saved, or none; what an attempt left here goes.
    pub(super) fn tidy(&self) -> Result<(), GitError> {
        let mut saved = None;
        for entry in fs::read_dir(&self.admin).map_err(GitError::io(&self.admin))? {
            let entry = entry.map_err(GitError::io(&self.admin))?;
            let name = entry.file_name();
            if name.as_bytes().starts_with(SAVED.as_bytes()) && entry.path().is_file() {
                saved = Some(entry.path());
            } else if !KEPT.iter().any(|kept| name == *kept) {
                disk::remove_tree(&entry.path())?;
            }
        }
        match saved {
            Some(saved) => disk::copy_index(&saved, &self.admin.join("index")),
            None => Ok(()),
        }
    }

    /// From now on the worktree is known to be `commit`.
    pub(super) fn save_index(&self, commit: &CommitId) -> Result<(), GitError> {
        let half_made = self.admin.join(format!("{PREFIX}new"));
        disk::copy_index(&self.admin.join("index"), &half_made)?;
        for entry in fs::read_dir(&self.admin).into_iter().flatten().flatten() {
            if entry.file_name().as_bytes().starts_with(SAVED.as_bytes()) {
                disk::remove_tree(&entry.path())?;
            }
        }
        let path = self.admin.join(format!("{SAVED}{commit}"));
        disk::rename(&half_made, &path)
    }

    pub(super) fn is_detached_at(&self, commit: &CommitId) -> bool {
        let head = fs::read(self.admin.join("HEAD")).unwrap_or_default();
        head.trim_ascii_end() == commit.as_str().as_bytes()
    }

    pub(super) fn remove(&self) -> Result<(), GitError> {
        disk::remove_tree(&self.admin)
    }

    /// Indexes that a killed process of ours was working with: nobody may be at work there.
    pub(super) fn drop_private_indexes(&self) -> Result<(), GitError> {
        let entries = fs::read_dir(&self.admin).into_iter().flatten().flatten();
        let ours = entries.filter(|entry| {
            let is_dir = entry.file_type().is_ok_and(|kind| kind.is_dir());
            is_dir
                && entry.file_name().as_bytes().starts_with(PREFIX.as_bytes())
                && entry.file_name() != SAVED_DIR
        });
        ours.map(|entry| entry.path())
            .try_for_each(|path| disk::remove_tree(&path))
    }
}

/// The path that a one-line file names.
fn pointed(file: &Path, before: &[u8]) -> Option<PathBuf> {
    let text = fs::read(file).ok()?;
    let path = text.strip_prefix(before)?.trim_ascii_end();
    Some(PathBuf::from(OsStr::from_bytes(path)))
}

/// With symlinks resolved as far as the path exists.
fn settled(path: &Path) -> PathBuf {
    if let Ok(real) = path.canonicalize() {
        return real;
    }
    match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) => settled(parent).join(name),
        _ => path.to_owned(),
    }
}
