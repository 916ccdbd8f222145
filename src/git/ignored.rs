//! Finds files of a working tree that are not committed: ignored paths, changed files. Nothing is
//! changed here.

use super::{
    Git, GitError,
    call::{Call, as_path, fields, shown},
    status::{OWN_DIR, StatusKind, is_within},
};
use std::{
    collections::BTreeMap,
    os::unix::{ffi::OsStrExt, fs::MetadataExt},
    path::{Path, PathBuf},
};

/// Maximum of paths listed.
const PATHS_MAX: usize = 200;

/// Tracked files that differ from the index, each with a stamp of its present content.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stamps(BTreeMap<String, (i64, i64, u64)>);

impl Stamps {
    /// The files that changed since `before`.
    pub fn changed_since(&self, before: &Self) -> Vec<String> {
        let names = self.0.keys().chain(before.0.keys());
        let other = names.filter(|name| self.0.get(*name) != before.0.get(*name));
        let mut other: Vec<String> = other.cloned().collect();
        other.sort();
        other.dedup();
        other
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

    pub fn stamps(&self) -> Result<Stamps, GitError> {
        let status = self.status(self.at_home("status"), false)?;
        let worked = status.entries.iter().filter(|entry| entry.worked != b'.');
        let stamp = |path: &[u8]| {
            let meta = self.top().join(as_path(path)).symlink_metadata();
            meta.map_or((0, 0, 0), |meta| {
                (meta.mtime(), meta.mtime_nsec(), meta.size())
            })
        };
        let stamps = worked.map(|entry| (shown(&entry.path), stamp(&entry.path)));
        Ok(Stamps(stamps.collect()))
    }

    /// The number of paths that differ from HEAD or are not tracked yet.
    pub fn uncommitted(&self) -> Result<usize, GitError> {
        let status = self.status(self.at_home("status"), true)?;
        let others = status.entries.iter().filter(|entry| {
            let is_own = is_within(&entry.path, OWN_DIR);
            // A nested repository is left out of the start of a run.
            let is_nested = entry.kind == StatusKind::Untracked && entry.path.ends_with(b"/");
            !is_own && !is_nested
        });
        Ok(others.count())
    }
}
