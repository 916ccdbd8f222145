//! Stamps that tell contents of a file apart without reading them. They are hints.

use std::{
    fs::{self, Metadata},
    os::unix::fs::MetadataExt,
    path::Path,
};

/// A renamed file keeps it. A write through a memory map, or one whose times are put back, may change none of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContentStamp {
    ino: u64,
    len: u64,
    /// Seconds and nanoseconds.
    modified: (i64, i64),
}

impl ContentStamp {
    /// The stamp of the file that has the name now.
    #[must_use]
    pub fn at(path: &Path) -> Option<Self> {
        fs::metadata(path).ok().map(|meta| Self::of(&meta))
    }

    #[must_use]
    pub fn of(meta: &Metadata) -> Self {
        Self { ino: meta.ino(), len: meta.len(), modified: (meta.mtime(), meta.mtime_nsec()) }
    }
}

/// A stamp with the time that nobody can put back. A new name changes it too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CloseStamp {
    file: ContentStamp,
    changed: (i64, i64),
}

impl CloseStamp {
    #[must_use]
    pub fn at(path: &Path) -> Option<Self> {
        fs::metadata(path).ok().map(|meta| Self::of(&meta))
    }

    #[must_use]
    pub fn of(meta: &Metadata) -> Self {
        Self { file: ContentStamp::of(meta), changed: (meta.ctime(), meta.ctime_nsec()) }
    }
}
