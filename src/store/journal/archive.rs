//! Replaced states, kept for good.
//!
//! Invariant: an archive is durable when it is reported, and never half written. Not here: the
//! commits of a state that goes on.

use std::io;
use std::path::{Path, PathBuf};

use super::super::disk::Disk;
use super::super::room::BYTES_MAX;
use crate::files;

const SAME_NAME_MAX: u32 = 1000;

/// Keeps bytes for good; they are durable when this returns. The same bytes twice are one file.
pub(in super::super) fn archive(
    disk: &dyn Disk,
    journal: &Path,
    name: &str,
    bytes: &[u8],
) -> io::Result<PathBuf> {
    files::make_dir_durably(journal)?;
    for n in 0..SAME_NAME_MAX {
        let suffix = if n == 0 { String::new() } else { format!("-{n}") };
        let path = journal.join(format!("archive-{name}{suffix}.json"));
        match disk.create(&path, 0o600) {
            Ok(file) => {
                // Half an archive would be taken for a whole one.
                let written = disk.write(&file, bytes).and_then(|()| disk.fsync(&file));
                written.inspect_err(|_| drop(disk.unlink(&path)))?;
                disk.fsync_dir(journal)?;
                return Ok(path);
            }
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            Err(_) if files::read(&path, BYTES_MAX as u64).is_ok_and(|there| there == bytes) => {
                return Ok(path);
            }
            Err(_) => {}
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}
