//! The directories that `setup` made in the tree of an attempt and that are tied to their place, such as a virtual
//! environment. The next attempt in the same place begins with them.
//!
//! `<checks>/set-up/<tree>/` holds them, with a record that is written last. Invariant: they are copied before the attempt
//! begins, and lie where no attempt can guess, so nothing of an attempt is in them.

use std::path::{Path, PathBuf};

use descent_core::id::CommitId;
use serde::{Deserialize, Serialize};

use super::{
    super::{Result, WorkspaceError, Worktrees, kept, places},
    CopyWay, RECORD, RECORD_BYTES_MAX,
    dir_copy::{CopyPlace, DirList},
};
use descent_system::files;

#[derive(Serialize, Deserialize)]
struct SetupRecord {
    mark: Vec<u8>,
    /// All that has to be there, and the part of it that lies here.
    dirs: Vec<PathBuf>,
    own: Vec<PathBuf>,
}

impl Worktrees {
    /// Puts back what `setup` made in this very place, if it would make the same now. Whether all of it is there then.
    pub(in super::super) fn put_back_setup(
        &self,
        root: &Path,
        mark: Option<&[u8]>,
    ) -> Result<bool> {
        let Some(mark) = mark else { return Ok(true) };
        let at = self.setup_of(root)?;
        let record = files::read(&at.join(RECORD), RECORD_BYTES_MAX).ok();
        let record = record.and_then(|bytes| serde_json::from_slice::<SetupRecord>(&bytes).ok());
        let Some(record) = record.filter(|record| record.mark == mark) else {
            return Ok(false);
        };
        for dir in &record.own {
            let list = DirList::of(&at.join(dir), CopyPlace::Same);
            if !list.map_or(Ok(false), |list| self.carry(&at, root, dir, &list))? {
                return Ok(false);
            }
        }
        Ok(record.dirs.iter().all(|dir| files::plain_dir(&root.join(dir)).is_ok()))
    }

    /// Keeps what `setup` made in the tree of an attempt, if all of it is in directories that git ignores.
    pub(in super::super) fn keep_setup(&self, root: &Path, commit: &CommitId) -> Result<()> {
        let Some(mark) = self.mark_of_setup(commit)?.filter(|_| self.is_warm) else {
            return Ok(());
        };
        let at = self.setup_of(root)?;
        kept::remove(&at)?;
        let dirs = self.git.ignored(Some(root))?;
        let linked = self.linked_in(root);
        let is_dir = |dir: &PathBuf| files::plain_dir(&root.join(dir)).is_ok();
        let is_linked = |dir: &PathBuf| linked.iter().any(|link| link.starts_with(root.join(dir)));
        if !dirs.iter().all(|dir| is_dir(dir) && !is_linked(dir))
            || !self.git.files_changed(root, &linked)?.is_empty()
        {
            return Ok(());
        }
        let tied =
            dirs.iter().filter(|dir| DirList::of(&root.join(dir), CopyPlace::Another).is_none());
        let own: Vec<PathBuf> = tied.cloned().collect();
        places::make_below(self.whole_cache(), &at)?;
        for dir in &own {
            let list = DirList::of(&root.join(dir), CopyPlace::Same);
            let fits = |list: &DirList| self.copy_way(list.bytes) != CopyWay::TooLarge;
            let Some(list) = list.filter(fits) else { return kept::remove(&at) };
            kept::make_parent(&at.join(dir))?;
            list.copy(&root.join(dir), &at.join(dir)).map_err(WorkspaceError::io(&at))?;
        }
        let record = serde_json::to_vec(&SetupRecord { mark, dirs, own }).unwrap_or_default();
        files::write_whole(&at.join(RECORD), &record).map_err(WorkspaceError::io(at))
    }

    fn setup_of(&self, root: &Path) -> Result<PathBuf> {
        Ok(self.checks_root()?.join("set-up").join(root.file_name().unwrap_or_default()))
    }
}
