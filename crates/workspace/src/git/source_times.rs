//! The times of a tree's tracked files, beside the build state that was made from them. A build tool takes what it made for
//! current by these times, so a tree that begins with that state needs them too.
//!
//! Invariant: a file has the time of the record only if its content is the recorded one. Any other file is newer than all
//! that was recorded.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::Metadata,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use serde::{Deserialize, Serialize};

use super::{
    Git, GitError,
    call::{as_id, as_path, fields},
    git_disk,
    trees::Tree,
};
use descent_core::id::CommitId;
use descent_system::files;

/// Files that git may read at every look.
const READ_MAX: usize = 200;
const SECOND: Duration = Duration::from_secs(1);

/// The time of a file, since 1970.
pub type FileTime = Duration;

/// The unchanged tracked files of a tree.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct SourceTimes {
    /// The id of its blob, and its time.
    by_path: BTreeMap<String, (String, FileTime)>,
    /// The newest time of all that was recorded, build state included.
    pub(crate) newest: FileTime,
}

impl SourceTimes {
    /// A record by which each file gets a new time.
    pub(crate) fn new_ones() -> Self {
        Self { by_path: BTreeMap::new(), newest: FileTime::MAX }
    }
}

impl Git {
    /// The times that the files of a commit have at `place`: in a tree that was brought to it, or in the person's, from which
    /// it was made. `changed` are those that differ there.
    pub(crate) fn source_times(
        &self,
        commit: &CommitId,
        place: &Path,
        changed: &[PathBuf],
    ) -> Result<SourceTimes, GitError> {
        let changed: BTreeSet<&PathBuf> = changed.iter().collect();
        let mut times = SourceTimes::default();
        for Blob { path, id, .. } in self.blobs_of(commit)? {
            let is_as_committed = !changed.contains(&path) && is_plain(place, &path);
            let Some(time) = time_of(&place.join(&path)).filter(|_| is_as_committed) else {
                continue;
            };
            if let Some(name) = path.to_str() {
                times.newest = times.newest.max(time);
                times.by_path.insert(name.to_owned(), (id, time));
            }
        }
        Ok(times)
    }

    /// The regular files of a commit.
    fn blobs_of(&self, commit: &CommitId) -> Result<Vec<Blob>, GitError> {
        let files = self.files_of(commit)?;
        let blobs = fields(&files).filter(|record| record.starts_with(b"100")).map(|record| {
            let mut parts = record.splitn(2, |byte| *byte == b'\t');
            let id = parts.next().and_then(|head| head.rsplit(|byte| *byte == b' ').next());
            let id = id.and_then(as_id).ok_or(GitError::Odd { verb: "ls-tree" })?;
            let path = as_path(parts.next().unwrap_or_default()).to_owned();
            Ok(Blob { path, id, record: record.to_vec() })
        });
        blobs.collect()
    }

    /// Gives each file of a tree at that commit its recorded time, and a new one to any other that is not newer than the
    /// record.
    pub(super) fn settle_times(
        &self,
        tree: &Tree<'_>,
        commit: &CommitId,
        times: &SourceTimes,
    ) -> Result<(), GitError> {
        let mut settled = Vec::new();
        for blob in self.blobs_of(commit)? {
            let at = tree.at.join(&blob.path);
            let Some(now) = time_of(&at).filter(|_| is_plain(&tree.at, &blob.path)) else {
                continue;
            };
            let recorded = blob.path.to_str().and_then(|path| times.by_path.get(path));
            let wanted = match recorded {
                Some((id, time)) if *id == blob.id => (*time != now).then_some(Some(*time)),
                _ => (now <= times.newest).then_some(None),
            };
            if let Some(time) = wanted {
                files::set_time(&at, time).map_err(GitError::io(&at))?;
                settled.push(blob.record);
            }
        }
        self.note_settled(tree, settled)
    }

    /// Lets git see each later change of these files. It knows a file by its size, its time and the second of its last
    /// change, and the same size and time may come in that very second.
    fn note_settled(&self, tree: &Tree<'_>, settled: Vec<Vec<u8>>) -> Result<(), GitError> {
        match settled.len() {
            0 => Ok(()),
            1..READ_MAX => {
                // Git knows nothing of these then, and reads them at every look.
                let mut lines = settled.join(&0);
                lines.push(0);
                tree.call("update-index -z --index-info").stdin(lines).ok().map(drop)
            }
            _ => {
                tree.call("update-index -q --refresh").ok()?;
                std::thread::sleep(SECOND);
                Ok(())
            }
        }
    }
}

/// A regular file of a commit, with its line of `ls-tree`.
struct Blob {
    path: PathBuf,
    id: String,
    record: Vec<u8>,
}

/// Whether a regular file is there, and not behind a link.
fn is_plain(top: &Path, path: &Path) -> bool {
    top.join(path).symlink_metadata().is_ok_and(|meta| meta.is_file())
        && !git_disk::is_beyond_symlink(top, path)
}

fn time_of(path: &Path) -> Option<FileTime> {
    path.symlink_metadata().ok().and_then(|meta| changed(&meta))
}

pub(crate) fn changed(meta: &Metadata) -> Option<FileTime> {
    meta.modified().ok()?.duration_since(SystemTime::UNIX_EPOCH).ok()
}
