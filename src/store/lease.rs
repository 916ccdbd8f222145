//! Leases: while one is held, nobody begins to write to the file, or nobody else opens it at all; they wait until it
//! ends.
//!
//! Invariant: no signal of a lease ends this process. Not here: what is done under a lease.
#![allow(unsafe_code)] // the one call that no safe interface has

use std::fs::File;
use std::io;

/// A lease, held until it is dropped.
#[derive(Debug)]
pub(super) struct FileLease<'f> {
    file: &'f File,
    against: Against,
}

/// Those who have to wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Against {
    Writers,
    /// All who open the file.
    Others,
}

impl FileLease<'_> {
    /// Whether somebody waits, and goes on when the lease ends.
    pub(super) fn is_wanted(&self) -> bool {
        !kernel::is_whole(self.file, self.against)
    }
}

impl Drop for FileLease<'_> {
    fn drop(&mut self) {
        kernel::release(self.file);
    }
}

/// `WouldBlock` if one of those has the file open. Any other error means that there are no leases here. A file opened for
/// writing can be leased against all others alone.
pub(super) fn take(file: &File, against: Against) -> io::Result<FileLease<'_>> {
    kernel::take(file, against)?;
    Ok(FileLease { file, against })
}

#[cfg(target_os = "linux")]
mod kernel {
    use std::fs::File;
    use std::io;
    use std::os::fd::AsRawFd;
    use std::sync::{Arc, OnceLock, atomic::AtomicBool};

    use super::Against;

    pub(super) fn take(file: &File, against: Against) -> io::Result<()> {
        if !outlives_breaks() {
            return Err(io::ErrorKind::Unsupported.into());
        }
        set(file, kind(against))
    }

    fn kind(against: Against) -> libc::c_int {
        match against {
            Against::Writers => libc::F_RDLCK,
            Against::Others => libc::F_WRLCK,
        }
    }

    pub(super) fn release(file: &File) {
        // It ends with the open file at the latest.
        let _ = set(file, libc::F_UNLCK);
    }

    pub(super) fn is_whole(file: &File, against: Against) -> bool {
        // SAFETY: the descriptor is open as long as the reference lives, and the call takes no memory.
        unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GETLEASE) == kind(against) }
    }

    fn set(file: &File, kind: libc::c_int) -> io::Result<()> {
        // SAFETY: as above.
        match unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETLEASE, kind) } {
            -1 => Err(io::Error::last_os_error()),
            _ => Ok(()),
        }
    }

    /// Handles SIGIO, which the kernel sends when somebody wants to write; without a handler it
    /// ends the process. Ignoring it would do too, but children inherit that.
    fn outlives_breaks() -> bool {
        static HANDLED: OnceLock<bool> = OnceLock::new();
        *HANDLED.get_or_init(|| {
            let seen = Arc::new(AtomicBool::new(false));
            signal_hook::flag::register(libc::SIGIO, seen).is_ok()
        })
    }
}

#[cfg(not(target_os = "linux"))]
mod kernel {
    use std::fs::File;
    use std::io;

    pub(super) fn take(_: &File, _: super::Against) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(super) fn release(_: &File) {}

    pub(super) fn is_whole(_: &File, _: super::Against) -> bool {
        true
    }
}
