//! The copies of build state in the tree of an attempt, for the next attempt in the same slot: files that nobody touched
//! are not copied again.
//!
//! `<checks>/slots/<tree>/` holds the record, and the copies while the tree is brought to another commit. Invariant: the
//! record is removed before they are moved, and written when all of them are whole again.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use super::{
    super::{Result, WorkspaceError, Worktrees, kept, places},
    Image, RECORD, RECORD_BYTES_MAX,
    dir_copy::{CopyStamp, CopyStamps},
};
use descent_system::files;

/// The copies of one tree, by their directories in it.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct SlotCopies {
    /// The record of the image that they are copies of. No two images have the same.
    image: Option<CopyStamp>,
    pub(super) dirs: BTreeMap<PathBuf, CopyStamps>,
}

impl SlotCopies {
    pub(super) fn of(image: &Image) -> Self {
        Self { image: CopyStamp::of(&image.top.join(RECORD)), dirs: BTreeMap::new() }
    }
}

impl Worktrees {
    /// Moves the copies of an image out of a tree that is brought to another commit; none from another image.
    pub(super) fn put_copies_aside(&self, root: &Path, image: &Image) -> Result<SlotCopies> {
        let mut copies = SlotCopies::of(image);
        if !self.is_attempt(root) {
            return Ok(copies);
        }
        let (at, record) = (self.copies_of(root)?, self.record_of(root));
        self.git.remove_worktrees(&at)?;
        let Some(record) = record.filter(|record| record.image == copies.image) else {
            return Ok(copies);
        };
        places::make_below(self.whole_cache(), &at)?;
        for (dir, stamps) in record.dirs {
            let is_known = image.dirs.iter().any(|(known, _)| *known == dir);
            let is_plain = is_known && kept::has_own_parent(root, &dir);
            let is_plain = is_plain && files::plain_dir(&root.join(&dir)).is_ok();
            if is_plain && kept::put_aside(root, &at, std::slice::from_ref(&dir)).is_ok() {
                copies.dirs.insert(dir, stamps);
            }
        }
        Ok(copies)
    }

    /// Removes what was not moved back, and notes the copies that are there now.
    pub(super) fn note_copies(&self, root: &Path, copies: &SlotCopies) -> Result<()> {
        if !self.is_attempt(root) {
            return Ok(());
        }
        let at = self.copies_of(root)?;
        self.git.remove_worktrees(&at)?;
        places::make_below(self.whole_cache(), &at)?;
        let record = serde_json::to_vec(copies).unwrap_or_default();
        files::write_whole(&at.join(RECORD), &record).map_err(WorkspaceError::io(at))
    }

    /// The copies that nobody touched, where git no longer ignores their directory. They are no part of a change.
    pub(in super::super) fn untouched_copies(&self, root: &Path) -> Result<Vec<PathBuf>> {
        let mut untouched = Vec::new();
        for (dir, stamps) in self.record_of(root).unwrap_or_default().dirs {
            let at = root.join(&dir);
            if !at.is_dir() || self.git.is_ignored(Some(root), &dir)? {
                continue;
            }
            let files = stamps.into_iter().map(|(path, stamp)| (at.join(path), stamp));
            let as_copied = files.filter(|(path, stamp)| CopyStamp::of(path) == Some(*stamp));
            untouched.extend(as_copied.map(|(path, _)| path));
        }
        Ok(untouched)
    }

    fn record_of(&self, root: &Path) -> Option<SlotCopies> {
        let path = self.copies_of(root).ok()?.join(RECORD);
        serde_json::from_slice(&files::read(&path, RECORD_BYTES_MAX).ok()?).ok()
    }

    pub(super) fn copies_of(&self, root: &Path) -> Result<PathBuf> {
        Ok(self.checks_root()?.join("slots").join(root.file_name().unwrap_or_default()))
    }
}
