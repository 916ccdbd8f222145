//! How much room a file system has.
//!
//! Not here: waiting for room (`driver`), or telling a person of it (`doctor`).

use std::path::Path;

use rustix::fs::StatVfsMountFlags;

/// With less, nothing useful can be written.
const BYTES_MIN: u64 = 256 << 10;

/// The free space for an ordinary user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Space {
    pub free_bytes: u64,
    /// `None` if the file system makes them as needed.
    pub free_files: Option<u64>,
    pub is_read_only: bool,
}

pub fn free_space(path: &Path) -> Option<Space> {
    let stat = rustix::fs::statvfs(path).ok()?;
    Some(Space {
        free_bytes: stat.f_bavail.saturating_mul(stat.f_frsize),
        free_files: (stat.f_files > 0).then_some(stat.f_favail),
        is_read_only: stat.f_flag.contains(StatVfsMountFlags::RDONLY),
    })
}

/// Whether a failure there may be for want of room.
pub fn is_used_up(path: &Path) -> bool {
    free_space(path).is_some_and(|space| {
        space.free_bytes < BYTES_MIN || space.free_files == Some(0) || space.is_read_only
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_there_is_room_it_is_not_used_up() {
        let dir = tempfile::tempdir().unwrap();
        assert!(free_space(dir.path()).is_some());
        assert!(free_space(&dir.path().join("gone")).is_none());
        assert!(!is_used_up(&dir.path().join("gone")));
        let full = Path::new("/proc");
        assert!(!full.exists() || is_used_up(full));
    }
}
