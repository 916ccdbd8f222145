//! Earlier states beside the state file: what an edit is merged against, and what was replaced.
//!
//! Invariant: nothing here is needed to go on; only an archive is promised to be there afterwards.
//! Not here: the states in memory.
#![allow(clippy::disallowed_methods)] // door: writes and prunes the journal

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::disk::{Disk, private_dir};

const KEPT_MAX: usize = 8;
const SAME_NAME_MAX: u32 = 1000;

/// Keeps the bytes of a commit, and of all the newest alone: a higher serial is of a state that was
/// replaced. Not durable: a hint for merging.
pub(super) fn keep(journal: &Path, serial: u64, bytes: &[u8]) -> io::Result<()> {
    private_dir(journal)?;
    let unfinished = journal.join(format!(".{serial}.{}.tmp", std::process::id()));
    fs::write(&unfinished, bytes)?;
    fs::rename(&unfinished, file_of(journal, serial))?;
    let serials = newest(journal)?;
    let (replaced, ours): (Vec<u64>, Vec<u64>) = serials.iter().partition(|kept| **kept > serial);
    for gone in replaced.iter().chain(ours.iter().skip(KEPT_MAX)) {
        fs::remove_file(file_of(journal, *gone))?;
    }
    Ok(())
}

pub(super) fn kept(journal: &Path, serial: u64) -> Option<Vec<u8>> {
    fs::read(file_of(journal, serial)).ok()
}

/// The serials that are kept, the newest first.
pub(super) fn newest(journal: &Path) -> io::Result<Vec<u64>> {
    let mut serials = kept_serials(journal)?;
    serials.sort_unstable_by(|a, b| b.cmp(a));
    Ok(serials)
}

/// Keeps bytes for good, durable when this returns; the same bytes twice are one file.
pub(super) fn archive(
    disk: &dyn Disk,
    journal: &Path,
    name: &str,
    bytes: &[u8],
) -> io::Result<PathBuf> {
    private_dir(journal)?;
    for n in 0..SAME_NAME_MAX {
        let suffix = if n == 0 {
            String::new()
        } else {
            format!("-{n}")
        };
        let path = journal.join(format!("archive-{name}{suffix}.json"));
        match disk.create(&path, 0o600) {
            Ok(file) => {
                // Half an archive would be taken for one.
                let written = disk.write(&file, bytes).and_then(|()| disk.fsync(&file));
                written.inspect_err(|_| drop(disk.unlink(&path)))?;
                disk.fsync_dir(journal)?;
                return Ok(path);
            }
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            Err(_) if fs::read(&path).is_ok_and(|there| there == bytes) => return Ok(path),
            Err(_) => {}
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

fn file_of(journal: &Path, serial: u64) -> PathBuf {
    journal.join(format!("{serial}.json"))
}

fn kept_serials(journal: &Path) -> io::Result<Vec<u64>> {
    let mut serials = Vec::new();
    for entry in fs::read_dir(journal)? {
        let name = entry?.file_name();
        let stem = name.to_str().and_then(|name| name.strip_suffix(".json"));
        serials.extend(stem.and_then(|stem| stem.parse::<u64>().ok()));
    }
    Ok(serials)
}
