//! Leases: while one is held, nobody begins to write to the file; who wants to waits until it ends.
//!
//! Invariant: no signal of a lease ends this process. Not here: what is done under a lease.
#![allow(unsafe_code)] // the one call that no safe interface has

use std::fs::File;
use std::io;

/// A lease, held until it is dropped.
#[derive(Debug)]
pub(super) struct FileLease<'f>(&'f File);

impl FileLease<'_> {
    /// Whether somebody waits, and goes on when the lease ends.
    pub(super) fn is_wanted(&self) -> bool {
        !kernel::is_whole(self.0)
    }
}

impl Drop for FileLease<'_> {
    fn drop(&mut self) {
        kernel::release(self.0);
    }
}

/// `WouldBlock` if somebody has the file open for writing. Any other error means that there are no leases here.
pub(super) fn take(file: &File) -> io::Result<FileLease<'_>> {
    kernel::take(file)?;
    Ok(FileLease(file))
}

#[cfg(target_os = "linux")]
mod kernel {
    use std::fs::File;
    use std::io;
    use std::os::fd::AsRawFd;
    use std::sync::{Arc, OnceLock, atomic::AtomicBool};

    pub(super) fn take(file: &File) -> io::Result<()> {
        if !outlives_breaks() {
            return Err(io::ErrorKind::Unsupported.into());
        }
        set(file, libc::F_RDLCK)
    }

    pub(super) fn release(file: &File) {
        // It ends with the open file at the latest.
        let _ = set(file, libc::F_UNLCK);
    }

    pub(super) fn is_whole(file: &File) -> bool {
        // SAFETY: the descriptor is open as long as the reference lives, and the call takes no memory.
        unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GETLEASE) == libc::F_RDLCK }
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

    pub(super) fn take(_: &File) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(super) fn release(_: &File) {}

    pub(super) fn is_whole(_: &File) -> bool {
        true
    }
}
