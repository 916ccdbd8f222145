//! Makes objects and references survive a power cut, and checks that commits of the state did: they are synced before
//! anything names them.
//!
//! Git syncs its own writes, but no directory, and nothing that an attempt's git wrote before. Invariants: an error is
//! final; nothing is synced a second time. An object is removed only if git cannot read it. It must be removed, because git
//! would take the broken file for the object and never write it again.

use std::{
    collections::BTreeSet,
    fs::File,
    io,
    path::{Path, PathBuf},
};

use descent_core::id::CommitId;

use super::{Git, GitError, call::as_id, git_disk};
use descent_system::files;

/// Maximum of objects synced one by one; for more the whole file system is synced.
const EACH_MAX: usize = 200;

impl Git {
    /// Makes durable what `commit` has and `known` lacks, and the reference `name`.
    pub fn make_durable(
        &self,
        name: &str,
        commit: &CommitId,
        known: &CommitId,
    ) -> Result<(), GitError> {
        self.sync_objects(name, &self.objects_of(commit, known)?)
    }

    /// Sets the reference `name` to a commit with the one parent `base`, and makes both durable.
    pub(crate) fn set_ref_durably(
        &self,
        name: &str,
        commit: &CommitId,
        base: &CommitId,
    ) -> Result<(), GitError> {
        self.set_ref(name, commit)?;
        let mut new = self.objects_between(base, commit)?;
        new.extend([commit.to_string(), self.tree_of(commit)?.to_string()]);
        self.sync_objects(name, &new)
    }

    /// Syncs these objects and the reference `name`; those that we only borrow are copied first.
    fn sync_objects(&self, name: &str, new: &[String]) -> Result<(), GitError> {
        self.own(new)?;
        if new.len() > EACH_MAX && cfg!(target_os = "linux") {
            return self.sync_all();
        }
        let mut dirs = BTreeSet::new();
        for id in new {
            let path = self.loose(id);
            match File::open(&path) {
                Ok(file) => file.sync_all().map_err(GitError::io(&path))?,
                // It is in a pack, which git syncs as a whole.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    dirs.insert(self.objects().join("pack"));
                    continue;
                }
                Err(error) => return Err(GitError::io(&path)(error)),
            }
            dirs.extend(path.parent().map(Path::to_owned));
        }
        dirs.insert(self.objects());
        dirs.extend(self.dirs_of(name));
        dirs.iter().try_for_each(|dir| sync_dir(dir))
    }

    /// Syncs only a reference; its commit has long been durable.
    pub(super) fn sync_ref(&self, name: &str) -> Result<(), GitError> {
        self.dirs_of(name).iter().try_for_each(|dir| sync_dir(dir))
    }

    /// Syncs everything in the repository, whoever wrote it.
    pub fn sync_all(&self) -> Result<(), GitError> {
        sync_all_at(&self.objects())?;
        sync_all_at(self.common_dir())
    }

    pub(super) fn objects(&self) -> PathBuf {
        self.common_dir().join("objects")
    }

    pub(super) fn loose(&self, id: &str) -> PathBuf {
        let (fan, rest) = id.split_at(2);
        self.objects().join(fan).join(rest)
    }

    /// The objects that `commit` reaches and `known` does not.
    fn objects_of(&self, commit: &CommitId, known: &CommitId) -> Result<Vec<String>, GitError> {
        let call = self.call("rev-list --objects --no-object-names").id(commit).but(known);
        Ok(call.arg("--").ok()?.split(|byte| *byte == b'\n').filter_map(as_id).collect())
    }

    /// The directories of a reference, from its own up to the repository's.
    fn dirs_of(&self, name: &str) -> Vec<PathBuf> {
        let path = self.common_dir().join(name);
        let above = path.ancestors().skip(1);
        let ours = above.take_while(|dir| dir.starts_with(self.common_dir()));
        // If all references are in tables, these tables are synced instead.
        let tables = self.common_dir().join("reftable");
        ours.map(Path::to_owned).chain([tables]).filter(|dir| dir.is_dir()).collect()
    }
}

/// Syncs the whole file system of `dir`.
pub(super) fn sync_all_at(dir: &Path) -> Result<(), GitError> {
    let held = files::open_dir(dir).map_err(GitError::io(dir))?;
    sync_file_system(&held).map_err(GitError::io(dir))
}

fn sync_dir(dir: &Path) -> Result<(), GitError> {
    match files::sync_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        synced => synced.map_err(GitError::io(dir)),
    }
}

#[cfg(target_os = "linux")]
fn sync_file_system(held: &File) -> io::Result<()> {
    Ok(rustix::fs::syncfs(held)?)
}

#[cfg(not(target_os = "linux"))]
fn sync_file_system(held: &File) -> io::Result<()> {
    rustix::fs::sync();
    held.sync_all()
}

/// Larger objects are not read, only checked for existence.
const READ_BYTES_MAX: u64 = 32 << 20;
/// Bytes read at once.
const CHUNK_BYTES_MAX: u64 = 64 << 20;
/// Maximum of object files that are looked at one by one.
const OBJECTS_MAX: usize = 1_000_000;

impl Git {
    /// Those of `commits` that are broken, or that are based on a broken one, down to `start`. A
    /// commit is broken if an object is missing that `start` does not have.
    ///
    /// Broken objects are removed.
    pub(crate) fn unsound(
        &self,
        start: &CommitId,
        commits: &BTreeSet<CommitId>,
    ) -> Result<BTreeSet<CommitId>, GitError> {
        if commits.is_empty() || self.are_sound(start, commits)? {
            return Ok(BTreeSet::new());
        }
        let loose = git_disk::files_below(&self.objects(), OBJECTS_MAX).into_iter();
        let ids = loose.filter_map(|path| {
            let mut names = path.iter().rev().map(|name| name.to_string_lossy());
            let (rest, fan) = (names.next()?, names.next()?);
            as_id(format!("{fan}{rest}").as_bytes())
        });
        self.remove_unreadable(&ids.collect::<Vec<_>>())?;
        let mut found = BTreeSet::new();
        for commit in commits {
            if !self.are_sound(start, &BTreeSet::from([commit.clone()]))? {
                found.insert(commit.clone());
            }
        }
        Ok(found)
    }

    /// Removes those of our objects that git cannot read, one of which can end a whole run of it.
    fn remove_unreadable(&self, ids: &[String]) -> Result<(), GitError> {
        if self.are_readable(ids)? {
            return Ok(());
        }
        if let [id] = ids {
            tracing::warn!(object = id, "removed an object that git cannot read");
            return git_disk::remove_tree(&self.loose(id));
        }
        let (one, other) = ids.split_at(ids.len() / 2);
        self.remove_unreadable(one)?;
        self.remove_unreadable(other)
    }

    /// Checks all of them at once: the usual case.
    fn are_sound(&self, start: &CommitId, commits: &BTreeSet<CommitId>) -> Result<bool, GitError> {
        let mut call = self.call("rev-list --objects --no-object-names --stdin").check_id(start);
        let mut asked = String::new();
        for commit in commits {
            call = call.check_id(commit);
            asked.push_str(&format!("{commit}\n"));
        }
        asked.push_str(&format!("^{start}\n"));
        let ran = call.stdin(asked).output()?;
        if !ran.status.success() {
            return Ok(false);
        }
        let ids: Vec<String> = ran.stdout.split(|byte| *byte == b'\n').filter_map(as_id).collect();
        self.are_readable(&ids)
    }

    /// Whether git has all these objects, and can read each from the first byte to the last.
    fn are_readable(&self, ids: &[String]) -> Result<bool, GitError> {
        let list: String = ids.iter().map(|id| format!("{id}\n")).collect();
        let call = self.call("cat-file").arg("--batch-check=%(objectname) %(objectsize)");
        let ran = call.stdin(list).output()?;
        let output = String::from_utf8_lossy(&ran.stdout).into_owned();
        let sizes = output.lines().map(|line| line.rsplit(' ').next()?.parse().ok());
        let sizes: Option<Vec<u64>> = sizes.collect();
        let Some(sizes) = sizes.filter(|sizes| ran.status.success() && sizes.len() == ids.len())
        else {
            return Ok(false);
        };
        let (mut chunk, mut chunk_bytes) = (String::new(), 0);
        for (id, size) in ids.iter().zip(sizes).filter(|(_, size)| *size <= READ_BYTES_MAX) {
            if chunk_bytes + size > CHUNK_BYTES_MAX && !self.gives(&std::mem::take(&mut chunk))? {
                return Ok(false);
            }
            chunk_bytes = if chunk.is_empty() { size } else { chunk_bytes + size };
            chunk.push_str(&format!("{id}\n"));
        }
        self.gives(&chunk)
    }

    fn gives(&self, ids: &str) -> Result<bool, GitError> {
        if ids.is_empty() {
            return Ok(true);
        }
        Ok(self.call("cat-file --batch --buffer").stdin(ids).output()?.status.success())
    }
}
