//! Whether the times of a file tell every change of its content.
//!
//! Then a stamp that is still the same saves the reading of a large file. Each change after a look at the times must get
//! a time of its own (fine-grained timestamps, Linux 6.13). A write through a memory map must change them too.
//! Invariant: the first is found by trying, in the very directory. Not here: what is concluded.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::BorrowedFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::FsWord;

/// File systems that change the times at a write through a map, by the magic numbers of `statfs(2)`.
const NOTICE_MAPS: [FsWord; 3] = [EXT4, XFS, BTRFS];
const EXT4: FsWord = 0xEF53;
const XFS: FsWord = 0x5846_5342;
const BTRFS: FsWord = 0x9123_683E;
/// It does not; but no test writes through a map.
const TMPFS: FsWord = 0x0102_1994;

/// Times that come from the timer interrupt stand still for a millisecond or more.
const TICK_NS: i128 = 1_000_000;
const CHANGES: usize = 6;
const TRIALS: usize = 3;

pub(super) fn tell_every_change(dir: &Path, pin: BorrowedFd<'_>) -> bool {
    let kind = rustix::fs::fstatfs(pin).map(|found| found.f_type);
    let notices_maps =
        kind.is_ok_and(|kind| NOTICE_MAPS.contains(&kind) || (cfg!(test) && kind == TMPFS));
    notices_maps && (0..TRIALS).any(|_| are_fine(dir).unwrap_or(false))
}

/// Whether some changes within a tick have different times.
fn are_fine(dir: &Path) -> io::Result<bool> {
    let mut file = tempfile::tempfile_in(dir)?;
    // A time that nobody has looked at is that of the last tick.
    changed_ns(&file)?;
    let mut times = Vec::with_capacity(CHANGES);
    for _ in 0..CHANGES {
        file.write_all(b"x")?;
        times.push(changed_ns(&file)?);
    }
    let (Some(first), Some(last)) = (times.first(), times.last()) else {
        return Ok(false);
    };
    Ok(times.is_sorted_by(|one, next| one < next) && last - first < TICK_NS)
}

fn changed_ns(file: &File) -> io::Result<i128> {
    let meta = file.metadata()?;
    Ok(i128::from(meta.ctime()) * 1_000_000_000 + i128::from(meta.ctime_nsec()))
}
