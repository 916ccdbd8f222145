//! Finds files of a working tree that are not committed: ignored paths, changed files. Nothing is
//! changed here.

use super::{
    Git, GitError,
    call::{Call, as_path, fields, shown},
    status::{OWN_DIR, StatusEntry, StatusKind, is_within},
};
use std::{
    collections::BTreeMap,
    os::unix::{ffi::OsStrExt, fs::MetadataExt},
    path::{Path, PathBuf},
};

/// Maximum of paths listed.
const PATHS_MAX: usize = 200;

/// Untracked files that are looked at; where there are more, none of them is.
const UNTRACKED_MAX: usize = 10_000;

/// Files by their names, each with a stamp of its present content.
type FileStamps = BTreeMap<String, (i64, i64, u64)>;

/// Tracked files that differ from the index, and untracked ones that are not ignored.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stamps {
    tracked: FileStamps,
    /// `None` where there are too many.
    untracked: Option<FileStamps>,
}

impl Stamps {
    /// The tracked files that changed since `before`.
    pub fn changed_since(&self, before: &Self) -> Vec<String> {
        let names = self.tracked.keys().chain(before.tracked.keys());
        let other = names.filter(|name| self.tracked.get(*name) != before.tracked.get(*name));
        let mut other: Vec<String> = other.cloned().collect();
        other.sort();
        other.dedup();
        other
    }

    /// The untracked files that appeared or changed since `before`.
    pub fn left_since(&self, before: &Self) -> Vec<String> {
        let both = self.untracked.as_ref().zip(before.untracked.as_ref());
        let left = both.into_iter().flat_map(|(now, before)| {
            let is_other = |(name, stamp): &(&String, _)| before.get(*name) != Some(*stamp);
            now.iter().filter(is_other)
        });
        left.map(|(name, _)| name.clone()).collect()
    }
}

impl Git {
    /// Ignored paths, relative to the top; a wholly ignored directory is one path. They are of the
    /// person's tree, or of our tree at `at`.
    pub fn ignored(&self, at: Option<&Path>) -> Result<Vec<String>, GitError> {
        let paths = self.ignored_paths(at)?.into_iter();
        let names = paths.map(|path| shown(path.as_os_str().as_bytes()));
        Ok(names.take(PATHS_MAX).collect())
    }

    /// All ignored paths, without a limit.
    pub fn ignored_paths(&self, at: Option<&Path>) -> Result<Vec<PathBuf>, GitError> {
        let call = match at {
            None => self.at_home("ls-files"),
            Some(at) if self.tree(at).is_whole() => self.tree(at).call("ls-files"),
            Some(_) => return Ok(Vec::new()),
        };
        let output = call
            .args(["--others", "--ignored", "--exclude-standard"])
            .args(["--directory", "-z"])
            .ok()?;
        let paths = fields(&output).map(|path| path.strip_suffix(b"/").unwrap_or(path));
        let others = paths.filter(|path| !is_within(path, OWN_DIR));
        Ok(others.map(|path| as_path(path).to_owned()).collect())
    }

    /// Whether a path, relative to the top, is left out of commits; a tracked path is not.
    pub fn is_ignored(&self, path: &Path) -> Result<bool, GitError> {
        self.is_ignored_by(self.at_home("check-ignore"), path)
    }

    /// Like [`Git::is_ignored`], in our tree at `at`.
    pub fn is_ignored_at(&self, at: &Path, path: &Path) -> Result<bool, GitError> {
        self.is_ignored_by(self.tree(at).call("check-ignore"), path)
    }

    fn is_ignored_by(&self, call: Call<'_>, path: &Path) -> Result<bool, GitError> {
        let mut name = path.as_os_str().as_bytes().to_vec();
        if name.is_empty() || name.contains(&0) || path.is_absolute() {
            return Ok(false);
        }
        name.push(0);
        // Git exits with 1 if nothing is ignored, and with 128 for a path outside the tree; both
        // mean no.
        let ran = call
            .args(["-z", "--stdin"])
            // This command knows no other paths, and rejects the variable.
            .env("GIT_LITERAL_PATHSPECS", "0")
            .stdin(name)
            .output()?;
        Ok(ran.status.success() && !ran.stdout.is_empty())
    }

    /// The files of the person's tree that are in no commit, without those in `left_out`.
    pub fn stamps(&self, left_out: &[PathBuf]) -> Result<Stamps, GitError> {
        let status = self.status(self.at_home("status"), true)?;
        let stamp = |entry: &&StatusEntry| {
            let meta = self.top().join(as_path(&entry.path)).symlink_metadata();
            let stamp =
                meta.map_or((0, 0, 0), |meta| (meta.mtime(), meta.mtime_nsec(), meta.size()));
            (shown(&entry.path), stamp)
        };
        let is_untracked = |entry: &&StatusEntry| entry.kind == StatusKind::Untracked;
        let is_taken = |entry: &&StatusEntry| {
            is_start_file(entry)
                && !left_out.iter().any(|out| as_path(&entry.path).starts_with(out))
        };
        let (untracked, tracked): (Vec<_>, Vec<_>) = status.entries.iter().partition(is_untracked);
        let worked = tracked.iter().copied().filter(|entry| entry.worked != b'.');
        let taken: Vec<&StatusEntry> = untracked.into_iter().filter(is_taken).collect();
        let is_few = taken.len() <= UNTRACKED_MAX;
        Ok(Stamps {
            tracked: worked.map(|entry| stamp(&entry)).collect(),
            untracked: is_few.then(|| taken.iter().map(stamp).collect()),
        })
    }

    /// The number of paths that differ from HEAD or are not tracked yet.
    pub fn uncommitted(&self) -> Result<usize, GitError> {
        let status = self.status(self.at_home("status"), true)?;
        Ok(status.entries.iter().filter(|entry| is_start_file(entry)).count())
    }
}

/// Whether a start of a run takes it. A nested repository is left out.
fn is_start_file(entry: &StatusEntry) -> bool {
    let is_own = is_within(&entry.path, OWN_DIR);
    let is_nested = entry.kind == StatusKind::Untracked && entry.path.ends_with(b"/");
    !is_own && !is_nested
}
