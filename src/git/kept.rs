//! The small files of a repository of ours that decide how git reads and writes bytes.
//!
//! Invariant: they are as this program wrote them before each run of git in that repository. An
//! attempt runs as the person, so that it can write there. With a filter of its own, other bytes
//! would be delivered than were checked.

use super::{
    Git, GitError,
    disk::{self, FileStamp},
};
use crate::files;
use std::{
    collections::BTreeMap,
    io,
    path::Path,
    sync::{Mutex, PoisonError},
};

/// All that git, or we, read settings from. Those that are missing stay so.
const NAMES: &[&str] = &[
    "config",
    "config.worktree",
    "commondir",
    "descent-attributes",
    "descent-config",
    "descent-excludes",
    "descent-settings",
    "descent-sparse",
    "info/attributes",
    "info/exclude",
    "objects/info/alternates",
];

/// The directories of these files.
const DIRS: &[&str] = &["info", "objects/info"];

/// Other files that git opens in each run; it would wait for a pipe.
const OPENED: &[&str] = &["HEAD", "packed-refs"];

/// Maximum of bytes of each copied file of settings.
pub(super) const BYTES_MAX: u64 = 64 << 20;

#[derive(Debug)]
pub(super) struct KeptFiles(Mutex<BTreeMap<&'static str, KeptFile>>);

#[derive(Debug)]
struct KeptFile {
    bytes: Vec<u8>,
    /// That of the file when it had these bytes.
    stamp: Option<FileStamp>,
}

impl KeptFile {
    fn of(bytes: Vec<u8>) -> Self {
        let stamp = None;
        Self { bytes, stamp }
    }

    fn put_back(&mut self, path: &Path) -> Result<(), GitError> {
        let stamp = disk::settled_stamp(path);
        if stamp.is_some() && stamp == self.stamp {
            return Ok(());
        }
        self.stamp = None;
        if disk::has_bytes(path, &self.bytes) {
            self.stamp = stamp;
            return Ok(());
        }
        disk::hold_bytes(path, &self.bytes)
    }
}

impl KeptFiles {
    /// As they are now: the caller has just written them, and nothing has run since.
    pub(super) fn read(repository: &Path) -> Result<Self, GitError> {
        let mut kept = BTreeMap::new();
        for name in NAMES {
            let path = repository.join(name);
            match files::read(&path, BYTES_MAX) {
                Ok(bytes) => drop(kept.insert(*name, KeptFile::of(bytes))),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(GitError::io(path)(error)),
            }
        }
        Ok(Self(Mutex::new(kept)))
    }

    /// From here on these bytes are the right ones.
    pub(super) fn replace(&self, name: &'static str, bytes: Vec<u8>) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.insert(name, KeptFile::of(bytes));
    }

    /// Writes again those that differ, and removes those that should not exist.
    fn put_back(&self, repository: &Path) -> Result<(), GitError> {
        for dir in [repository, &repository.join("objects")] {
            match dir.symlink_metadata() {
                Ok(meta) if meta.is_dir() => {}
                Ok(_) => {
                    let path = dir.to_owned();
                    return Err(GitError::NoDirectory { path });
                }
                // A missing repository is not replaced: git fails, and says so.
                Err(_) => return Ok(()),
            }
        }
        for dir in DIRS.iter().map(|name| repository.join(name)) {
            if files::plain_dir(&dir).is_err() {
                disk::remove_tree(&dir)?;
                disk::make_dir(&dir)?;
            }
        }
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for name in NAMES {
            let path = repository.join(name);
            match kept.get_mut(name) {
                Some(file) => file.put_back(&path)?,
                None => disk::remove_tree(&path)?,
            }
        }
        for name in OPENED {
            if let Some(what) = disk::special(repository, Path::new(name)) {
                let path = repository.join(name);
                return Err(GitError::NotPlain { path, what });
            }
        }
        Ok(())
    }
}

impl Git {
    /// Makes the files of a repository of ours that decide about bytes what they were. The person's
    /// repository is theirs.
    pub(super) fn put_back(&self) -> Result<(), GitError> {
        match &self.0.kept {
            Some(kept) => kept.put_back(self.common_dir()),
            None => Ok(()),
        }
    }
}
