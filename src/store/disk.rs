//! The state file on disk: replaced whole, by steps in an order that no crash can tear.
//!
//! Here: the few system calls a commit is made of, behind a trait so that each can fail in a test,
//! and the two ways a file comes to its name. Not here: locks, what the bytes mean.
//! Invariant: the name holds a whole state, or what a person's editor put there; bytes that a
//! person may have written are never unlinked.
#![allow(clippy::disallowed_methods)] // door: writes, renames and removes the state's files

use std::fmt;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, OFlags, RenameFlags, renameat_with};
use rustix::io::Errno;

use super::StoreError;
use super::names::Names;

/// A file's bytes, and the mode that what replaces it must not exceed.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) bytes: Vec<u8>,
    pub(super) mode: u32,
    pub(super) uid: u32,
}

pub(super) trait Disk: fmt::Debug + Send + Sync {
    /// A regular file whole, but no more than `bytes_max` and one byte.
    fn read(&self, path: &Path, bytes_max: u64) -> io::Result<Found>;
    /// A new file; fails where one is.
    fn create(&self, path: &Path, mode: u32) -> io::Result<File>;
    fn write(&self, file: &File, bytes: &[u8]) -> io::Result<()>;
    fn fsync(&self, file: &File) -> io::Result<()>;
    fn fsync_dir(&self, dir: &Path) -> io::Result<()>;
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Fails where there is a file at `to`.
    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()>;
    fn exchange(&self, one: &Path, other: &Path) -> io::Result<()>;
    fn unlink(&self, path: &Path) -> io::Result<()>;
    /// Files of `dir` whose names start so.
    fn list(&self, dir: &Path, prefix: &str) -> io::Result<Vec<PathBuf>>;
    /// When the file, or its name, changed last; milliseconds since 1970.
    fn changed_ms(&self, path: &Path) -> io::Result<u64>;
}

/// What came of putting new bytes in the place of the old.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Swap {
    Done,
    /// Somebody saved in between: their bytes have the name, ours are gone.
    Overtaken,
}

/// Puts `new` in the place of `old`: the one way a state file changes.
pub(super) fn replace(
    disk: &dyn Disk,
    names: &Names,
    old: &Found,
    new: &[u8],
) -> Result<Swap, StoreError> {
    let ready = names.swapped(&old.bytes);
    // Content before name: a crash after the exchange must not find the name on an empty file.
    let fresh = write_durably(disk, names, 0o600 & old.mode, new)?;
    // The name now says what will be in the file after the exchange. Killed before it, the whole
    // state that was never published is known by its seal.
    let renamed = disk.rename(&fresh, &ready);
    renamed.map_err(|error| abandon(disk, &fresh, "rename", &fresh, error))?;
    let swap = match disk.exchange(&ready, &names.state) {
        Ok(()) => look_at_what_came_out(disk, names, &ready, old, new)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => overtaken(disk, &ready),
        Err(error) if has_no_exchange(&error) => rename_over(disk, names, &ready, old)?,
        Err(error) => return Err(abandon(disk, &ready, "exchange", &names.state, error)),
    };
    if swap == Swap::Done {
        // Name before effects: after a power cut the name would be back on the old file, and
        // nothing would know of what was started on the new one's word.
        let synced = disk.fsync_dir(names.dir());
        synced.map_err(|error| StoreError::io("sync", names.dir(), error))?;
    }
    Ok(swap)
}

/// The first state at a name that has none.
pub(super) fn first(disk: &dyn Disk, names: &Names, new: &[u8]) -> Result<(), StoreError> {
    let fresh = write_durably(disk, names, 0o600, new)?;
    // Never over a file that appeared meanwhile, whatever is in it.
    if let Err(error) = disk.rename_new(&fresh, &names.state) {
        let _ = disk.unlink(&fresh);
        return Err(match error.kind() {
            io::ErrorKind::AlreadyExists => StoreError::Exists {
                path: names.state.clone(),
            },
            _ => StoreError::io("make", &names.state, error),
        });
    }
    let synced = disk.fsync_dir(names.dir());
    synced.map_err(|error| StoreError::io("sync", names.dir(), error))
}

/// Gives a person's late save the name back, in exchange for `old`, which must be kept elsewhere.
pub(super) fn give_back(
    disk: &dyn Disk,
    names: &Names,
    late: &Path,
    old: &Found,
) -> io::Result<()> {
    let ready = names.swapped(&old.bytes);
    disk.rename(late, &ready)?;
    disk.exchange(&ready, &names.state)?;
    disk.fsync_dir(names.dir())
}

fn write_durably(
    disk: &dyn Disk,
    names: &Names,
    mode: u32,
    new: &[u8],
) -> Result<PathBuf, StoreError> {
    let fresh = names.fresh();
    let file = disk.create(&fresh, mode);
    let file = file.map_err(|error| StoreError::io("make", &fresh, error))?;
    // A failed fsync is never repeated on the same file: the kernel may have dropped the pages
    // and call the second one a success.
    let written = disk.write(&file, new).and_then(|()| disk.fsync(&file));
    written.map_err(|error| abandon(disk, &fresh, "write", &names.state, error))?;
    Ok(fresh)
}

/// A step failed before anything was published: `ours` is removed and all is as before.
fn abandon(
    disk: &dyn Disk,
    ours: &Path,
    doing: &'static str,
    path: &Path,
    error: io::Error,
) -> StoreError {
    let _ = disk.unlink(ours);
    StoreError::io(doing, path, error)
}

/// The file that lost the name stays for a while: an editor that had it open may write yet.
fn look_at_what_came_out(
    disk: &dyn Disk,
    names: &Names,
    ready: &Path,
    old: &Found,
    new: &[u8],
) -> Result<Swap, StoreError> {
    match disk.read(ready, names.bytes_max) {
        Ok(came_out) if came_out.bytes == old.bytes => Ok(Swap::Done),
        Ok(_) => put_back(disk, names, ready, new),
        Err(error) => {
            // Unseen, it may be a person's: it gets the name again.
            put_back(disk, names, ready, new)?;
            Err(StoreError::io("read", ready, error))
        }
    }
}

fn put_back(disk: &dyn Disk, names: &Names, ready: &Path, new: &[u8]) -> Result<Swap, StoreError> {
    let failed = |error| StoreError::io("put back", &names.state, error);
    match disk.exchange(ready, &names.state) {
        Ok(()) => {}
        // The editor has moved the name away and will make it anew: what it saved before waits.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            disk.rename_new(ready, &names.state).map_err(failed)?;
            return Ok(Swap::Overtaken);
        }
        Err(error) => return Err(failed(error)),
    }
    let is_ours = disk
        .read(ready, names.bytes_max)
        .map(|found| found.bytes == new);
    if is_ours.map_err(failed)? {
        return Ok(overtaken(disk, ready));
    }
    // A second save came between the two exchanges: the newer one has the name, the older is kept.
    disk.exchange(ready, &names.state).map_err(failed)?;
    rescue(disk, names, ready).map_err(failed)?;
    Ok(Swap::Overtaken)
}

fn overtaken(disk: &dyn Disk, ours: &Path) -> Swap {
    let _ = disk.unlink(ours);
    Swap::Overtaken
}

/// Without an exchange: a window of microseconds remains in which a save could be lost.
fn rename_over(
    disk: &dyn Disk,
    names: &Names,
    ready: &Path,
    old: &Found,
) -> Result<Swap, StoreError> {
    match disk.read(&names.state, names.bytes_max) {
        Ok(now) if now.bytes == old.bytes => {
            let renamed = disk.rename(ready, &names.state);
            renamed.map_err(|error| abandon(disk, ready, "replace", &names.state, error))?;
            Ok(Swap::Done)
        }
        Ok(_) => Ok(overtaken(disk, ready)),
        Err(error) => Err(abandon(disk, ready, "read", &names.state, error)),
    }
}

/// Keeps a file that is a person's under a name that the person sees.
pub(super) fn rescue(disk: &dyn Disk, names: &Names, path: &Path) -> io::Result<PathBuf> {
    for n in 1..RESCUED_MAX {
        let kept = names.rescued(n);
        match disk.rename_new(path, &kept) {
            Ok(()) => return Ok(kept),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

const RESCUED_MAX: u32 = 10_000;

fn has_no_exchange(error: &io::Error) -> bool {
    let errno = Errno::from_io_error(error);
    errno.is_some_and(|errno| [Errno::INVAL, Errno::NOSYS, Errno::OPNOTSUPP].contains(&errno))
}

/// A directory that nobody else looks into; one that is there stays as it is.
pub(super) fn private_dir(dir: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(dir) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && dir.is_dir() => Ok(()),
        Err(error) => Err(error),
        // The directory's own name is durable before a state in it is.
        Ok(()) => dir
            .parent()
            .map_or(Ok(()), |parent| File::open(parent)?.sync_all()),
    }
}

/// A `.gitignore` that hides the directory, itself included.
pub(super) fn ignore_all(dir: &Path) -> io::Result<()> {
    let path = dir.join(".gitignore");
    match path.exists() {
        true => Ok(()),
        false => fs::write(path, "*\n"),
    }
}

/// The system's own disk.
#[derive(Debug)]
pub(super) struct RealDisk;

impl Disk for RealDisk {
    fn read(&self, path: &Path, bytes_max: u64) -> io::Result<Found> {
        // Opening a pipe would wait for somebody to write into it.
        let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or(0);
        let file = OpenOptions::new()
            .read(true)
            .custom_flags(flags)
            .open(path)?;
        let meta = file.metadata()?;
        if meta.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        if !meta.is_file() {
            return Err(io::Error::other("not a regular file"));
        }
        let size = usize::try_from(meta.len().min(bytes_max)).unwrap_or(0);
        let mut bytes = Vec::with_capacity(size + 1);
        file.take(bytes_max + 1).read_to_end(&mut bytes)?;
        let (mode, uid) = (meta.mode(), meta.uid());
        Ok(Found { bytes, mode, uid })
    }

    fn create(&self, path: &Path, mode: u32) -> io::Result<File> {
        OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(mode)
            .open(path)
    }

    fn write(&self, mut file: &File, bytes: &[u8]) -> io::Result<()> {
        file.write_all(bytes)
    }

    fn fsync(&self, file: &File) -> io::Result<()> {
        file.sync_all()
    }

    fn fsync_dir(&self, dir: &Path) -> io::Result<()> {
        File::open(dir)?.sync_all()
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
                fs::hard_link(from, to)?;
                fs::remove_file(from)
            }
            result => result.map_err(io::Error::from),
        }
    }

    fn exchange(&self, one: &Path, other: &Path) -> io::Result<()> {
        renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).map_err(io::Error::from)
    }

    fn unlink(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn list(&self, dir: &Path, prefix: &str) -> io::Result<Vec<PathBuf>> {
        let mut found = Vec::new();
        for entry in fs::read_dir(dir)? {
            let entry = entry?;
            if entry.file_name().to_string_lossy().starts_with(prefix) {
                found.push(entry.path());
            }
        }
        Ok(found)
    }

    fn changed_ms(&self, path: &Path) -> io::Result<u64> {
        let meta = fs::metadata(path)?;
        let ms = meta.ctime() * 1000 + meta.ctime_nsec() / 1_000_000;
        Ok(u64::try_from(ms).unwrap_or(0))
    }
}
