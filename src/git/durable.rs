//! Makes objects and references survive a power cut: they are synced before anything names them.
//!
//! Git syncs its own writes, but no directory, and nothing that an attempt's git wrote before.
//! Invariant: an error is final; nothing is synced a second time.

use super::{Git, GitError, call::as_id};
use crate::files;
use descent_core::id::CommitId;
use std::{
    collections::BTreeSet,
    fs::File,
    io,
    path::{Path, PathBuf},
};

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
        let new = self.objects_of(commit, known)?;
        self.sync_objects(name, &new)
    }

    /// Sets the reference `name` to a commit with the one parent `base`, and makes both durable.
    pub fn set_ref_durably(
        &self,
        name: &str,
        commit: &CommitId,
        base: &CommitId,
    ) -> Result<(), GitError> {
        let (change, set) = std::thread::scope(|scope| {
            let set = scope.spawn(|| self.set_ref(name, commit));
            let change = self.change(base, commit);
            (change, set.join().expect("BUG: no panic in git"))
        });
        set?;
        let mut new = change?.objects();
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
        let output = self
            .call("rev-list")
            .args(["--objects", "--no-object-names"])
            .id("", commit.as_str(), "")
            .id("^", known.as_str(), "")
            .arg("--")
            .ok()?;
        let lines = output.split(|byte| *byte == b'\n');
        Ok(lines.filter_map(as_id).collect())
    }

    /// The directories of a reference, from its own up to the repository's.
    fn dirs_of(&self, name: &str) -> Vec<PathBuf> {
        let path = self.common_dir().join(name);
        let above = path.ancestors().skip(1);
        let ours = above.take_while(|dir| dir.starts_with(self.common_dir()));
        // If all references are in tables, these tables are synced instead.
        let tables = self.common_dir().join("reftable");
        let ours = ours.map(Path::to_owned).chain([tables]);
        ours.filter(|dir| dir.is_dir()).collect()
    }
}

/// Syncs the whole file system of `dir`.
pub(super) fn sync_all_at(dir: &Path) -> Result<(), GitError> {
    let held = files::open_dir(dir).map_err(GitError::io(dir))?;
    sync_file_system(&held).map_err(GitError::io(dir))
}

fn sync_dir(dir: &Path) -> Result<(), GitError> {
    match files::open_dir(dir) {
        Ok(held) => held.sync_all().map_err(GitError::io(dir)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(GitError::io(dir)(error)),
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
