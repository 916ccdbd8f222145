//! Objects and references that outlive a power cut: synced before anything names them.
//!
//! Git syncs what it writes itself, but no directory, and not what an attempt's own git left there before. Invariant:
//! an error is an error for good; nothing is synced a second time in the hope that it goes better.

use super::{Git, GitError, call::as_id};
use descent_core::id::CommitId;
use std::{
    collections::BTreeSet,
    fs::File,
    io,
    path::{Path, PathBuf},
};

/// Objects that are synced one by one; more than these go with all that the file system holds.
const EACH_MAX: usize = 200;

impl Git {
    /// What `commit` has and `known` lacks, and the reference `name`, are on the disk when this returns.
    pub fn make_durable(
        &self,
        name: &str,
        commit: &CommitId,
        known: &CommitId,
    ) -> Result<(), GitError> {
        let new = self.objects_of(commit, known)?;
        self.own(&new)?;
        if new.len() > EACH_MAX && cfg!(target_os = "linux") {
            return self.sync_all();
        }
        let mut dirs = BTreeSet::new();
        for id in &new {
            let path = self.loose(id);
            match File::open(&path) {
                Ok(file) => file.sync_all().map_err(GitError::io(&path))?,
                // It lies in a pack, which git syncs as a whole.
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

    /// A reference alone, of whose commit all is there for long.
    pub(super) fn sync_ref(&self, name: &str) -> Result<(), GitError> {
        self.dirs_of(name).iter().try_for_each(|dir| sync_dir(dir))
    }

    /// Everything of the repository, whoever wrote it.
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
        let said = self
            .call("rev-list")
            .args(["--objects", "--no-object-names"])
            .id("", commit.as_str(), "")
            .id("^", known.as_str(), "")
            .arg("--")
            .ok()?;
        let lines = said.split(|byte| *byte == b'\n');
        Ok(lines.filter_map(as_id).collect())
    }

    /// The directories in which a reference stands, from its own up to the repository's.
    fn dirs_of(&self, name: &str) -> Vec<PathBuf> {
        let path = self.common_dir().join(name);
        let above = path.ancestors().skip(1);
        let ours = above.take_while(|dir| dir.starts_with(self.common_dir()));
        // Where all references stand in tables of their own, these are what is to be synced.
        let tables = self.common_dir().join("reftable");
        let ours = ours.map(Path::to_owned).chain([tables]);
        ours.filter(|dir| dir.is_dir()).collect()
    }
}

/// Everything of the file system that `dir` is on.
pub(super) fn sync_all_at(dir: &Path) -> Result<(), GitError> {
    let held = File::open(dir).map_err(GitError::io(dir))?;
    sync_file_system(&held).map_err(GitError::io(dir))
}

fn sync_dir(dir: &Path) -> Result<(), GitError> {
    match File::open(dir) {
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
