//! Estimates the size of a private repository for a directory: counted only as far as it matters.
//!
//! Invariant: only names and sizes are read, and no more of them than the limits allow.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
};

use descent_core::state::Constraints;

use super::{Result, WorkspaceError, links};

/// Up to this size nobody is asked (contract §4).
const FILES_MAX: u64 = 50_000;
const BYTES_MAX: u64 = 2 << 30;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Size {
    Usual,
    /// Larger than that, and the part of the directory that holds most of it.
    Large {
        what: &'static str,
        largest: PathBuf,
    },
}

/// The size of all files but the linked ones. Repositories inside are left out, as the snapshot leaves them out.
pub fn size_of(project: &Path, constraints: &Constraints) -> Result<Size> {
    let mut left_out = links::read(&constraints.link)?;
    left_out.push(PathBuf::from(".descent"));
    let mut seen = SizeCount::default();
    let mut dirs = vec![PathBuf::new()];
    while let Some(dir) = dirs.pop() {
        dirs.extend(count(project, &dir, &left_out, &mut seen)?);
        if let Some(what) = seen.is_beyond() {
            let largest = seen.largest(what);
            return Ok(Size::Large { what, largest });
        }
    }
    Ok(Size::Usual)
}

const MANY_FILES: &str = "more than 50,000 files";
const MANY_BYTES: &str = "more than 2 GB of files";

/// Files and bytes: in total, and by the first part of the path.
#[derive(Default)]
struct SizeCount {
    files: u64,
    bytes: u64,
    parts: BTreeMap<OsString, (u64, u64)>,
}

impl SizeCount {
    fn add(&mut self, path: &Path, bytes: u64) {
        self.files += 1;
        self.bytes = self.bytes.saturating_add(bytes);
        let first = path.iter().next().unwrap_or_default().to_owned();
        let part = self.parts.entry(first).or_default();
        *part = (part.0 + 1, part.1.saturating_add(bytes));
    }

    fn is_beyond(&self) -> Option<&'static str> {
        if self.files > FILES_MAX {
            return Some(MANY_FILES);
        }
        (self.bytes > BYTES_MAX).then_some(MANY_BYTES)
    }

    fn largest(&self, what: &str) -> PathBuf {
        let size = |(files, bytes): (u64, u64)| if what == MANY_FILES { files } else { bytes };
        let largest = self.parts.iter().max_by_key(|(_, part)| size(**part));
        largest.map(|(name, _)| name.into()).unwrap_or_default()
    }
}

/// Counts the files of a directory, and gives the directories in it.
fn count(
    project: &Path,
    dir: &Path,
    left_out: &[PathBuf],
    seen: &mut SizeCount,
) -> Result<Vec<PathBuf>> {
    let at = project.join(dir);
    let is_top = dir.as_os_str().is_empty();
    if !is_top && at.join(".git").symlink_metadata().is_ok() {
        return Ok(Vec::new());
    }
    let entries = match fs::read_dir(&at) {
        Ok(entries) => entries,
        Err(error) if is_top => return Err(WorkspaceError::io(at)(error)),
        // The snapshot cannot read it either.
        Err(_) => return Ok(Vec::new()),
    };
    let mut dirs = Vec::new();
    for entry in entries.flatten() {
        let path = dir.join(entry.file_name());
        let Ok(meta) = entry.metadata() else { continue };
        if left_out.contains(&path) || (is_top && entry.file_name() == ".git") {
            continue;
        }
        if meta.is_dir() {
            dirs.push(path);
        } else if meta.is_file() {
            seen.add(&path, meta.len());
        }
        if seen.is_beyond().is_some() {
            break;
        }
    }
    Ok(dirs)
}
