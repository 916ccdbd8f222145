//! Brings new bytes to the state's name: whole, durably, and without losing what a person saves
//! meanwhile.
//!
//! Invariant: the name holds a whole state, or what a person's editor put there. A file that had
//! the name is never removed here, since an editor may have it open. It stays beside the state
//! until `sweep` finds it at rest. Not here: the calls themselves (`disk`), what the bytes mean.

use std::io;
use std::path::{Path, PathBuf};

use super::StoreError;
use super::disk::{Disk, FileId, OpenFile, is_unsupported};
use super::lease::FileLease;
use super::names::{Names, Taker};
use descent_system::files::ContentStamp;

/// The result of replacing the old bytes by new ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Swap {
    Done,
    /// Somebody saved in between: their bytes have the name, ours are withdrawn.
    Overtaken,
    /// Like [`Swap::Overtaken`], but ours had the name for an instant: an editor may have read
    /// them.
    GivenBack,
    /// Somebody has the file open for writing.
    Busy,
}

/// How replacing ended, with the stamp that the new file had before anybody else knew of it.
#[derive(Debug)]
pub(super) struct Replaced {
    pub(super) swap: Swap,
    pub(super) stamp: Option<ContentStamp>,
}

/// The new bytes under a name that nobody knows, durable.
struct FreshFile {
    path: PathBuf,
    stamp: Option<ContentStamp>,
}

#[derive(Debug)]
pub(super) struct SwapError {
    pub(super) error: StoreError,
    /// Ours had the name: an editor may have read them.
    pub(super) was_shown: bool,
}

impl From<StoreError> for SwapError {
    fn from(error: StoreError) -> Self {
        let was_shown = false;
        Self { error, was_shown }
    }
}

fn shown(error: StoreError) -> SwapError {
    let was_shown = true;
    SwapError { error, was_shown }
}

/// The file to be replaced: it had the name when it was opened. `bytes` is its content then, as far
/// as known.
#[derive(Debug, Clone, Copy)]
pub(super) struct OldFile<'o> {
    pub(super) opened: &'o OpenFile,
    pub(super) bytes: &'o [u8],
    /// The commit that adopts it, if it is a person's save.
    pub(super) taker: Option<&'o Taker>,
}

impl OldFile<'_> {
    /// Its path after it has lost the name.
    fn kept_as(&self, names: &Names) -> PathBuf {
        match self.taker {
            Some(taker) => names.taken(self.bytes, taker),
            None => names.swapped(self.bytes),
        }
    }
}

/// The reaction if somebody has the file open for writing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Writer {
    GiveWay,
    /// Their bytes are adopted from the file that lost the name.
    GoOn,
}

/// Replaces `old` by `new`: the only way in which a state file changes. Nothing happens if the file
/// holds anything else by then.
pub(super) fn replace(
    disk: &dyn Disk,
    names: &Names,
    old: OldFile<'_>,
    new: &[u8],
    writer: Writer,
) -> Result<Replaced, SwapError> {
    // Content before name: a crash after the exchange must not leave the name on an empty file.
    let FreshFile { path, stamp } = write_durably(disk, names, 0o600 & old.opened.mode, new)?;
    let fresh = &path;
    let ready = old.kept_as(names);
    // The name now tells what the file will hold after the exchange. If we are killed before the
    // exchange, the unpublished state is recognised by its seal.
    match disk.rename(fresh, &ready) {
        Ok(()) => {}
        // Another commit removed it: our lock file was deleted, and that commit took a new one.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Ok(Replaced { swap: Swap::Overtaken, stamp });
        }
        Err(error) => return Err(abandon(disk, fresh, "rename", fresh, error).into()),
    }
    let swap = match look_before(disk, names, old, writer) {
        Ok(FileCondition::Quiet(lease)) => {
            let swap = exchange(disk, names, &ready, old, true, new)?;
            drop(lease);
            swap
        }
        Ok(FileCondition::Unguarded) => exchange(disk, names, &ready, old, false, new)?,
        Ok(FileCondition::Busy) => withdraw(disk, &ready, Swap::Busy),
        Ok(FileCondition::Changed) => withdraw(disk, &ready, Swap::Overtaken),
        Err(error) => return Err(abandon(disk, &ready, "read", &names.state, error).into()),
    };
    if swap == Swap::Done {
        // Name before effects: a power cut would put the name back on the old file, and nothing
        // would know of work started for the new one.
        let synced = disk.fsync_dir(names.dir());
        synced.map_err(|error| shown(StoreError::io("sync", names.dir(), error)))?;
        if old.taker.is_some() {
            // The commit stays. If this fails, a sweep reads the file before removing it.
            let _ = disk.rename(&ready, &names.swapped(old.bytes));
        }
    }
    Ok(Replaced { swap, stamp })
}

/// Publishes the first state under a name that no file has.
pub(super) fn first(disk: &dyn Disk, names: &Names, new: &[u8]) -> Result<(), StoreError> {
    let fresh = write_durably(disk, names, 0o600, new)?.path;
    // Never over a file that appeared meanwhile, whatever is in it.
    if let Err(error) = disk.rename_new(&fresh, &names.state) {
        let _ = disk.unlink(&fresh);
        return Err(match error.kind() {
            io::ErrorKind::AlreadyExists => StoreError::Exists { path: names.state.clone() },
            _ => StoreError::io("make", &names.state, error),
        });
    }
    let synced = disk.fsync_dir(names.dir());
    synced.map_err(|error| StoreError::io("sync", names.dir(), error))
}

/// Gives a person's late save the name again. The state that had it stays beside, recognised by its
/// seal. The save has a second name until it is adopted: an editor that read the state before may
/// save over the name meanwhile.
pub(super) fn give_back(disk: &dyn Disk, names: &Names, late: &Path) -> io::Result<()> {
    let second = names.late();
    disk.link(late, &second)?;
    if let Err(error) = disk.exchange(late, &names.state) {
        let _ = disk.unlink(&second);
        return Err(error);
    }
    disk.fsync_dir(names.dir())
}

fn write_durably(
    disk: &dyn Disk,
    names: &Names,
    mode: u32,
    new: &[u8],
) -> Result<FreshFile, StoreError> {
    let path = names.fresh();
    let file = disk.create(&path, mode);
    let file = file.map_err(|error| StoreError::io("make", &path, error))?;
    // A failed fsync is never repeated on the same file: the kernel may have dropped the pages and
    // report success. The next commit writes a new file.
    let written = disk.write(&file, new).and_then(|()| disk.fsync(&file));
    written.map_err(|error| abandon(disk, &path, "write", &names.state, error))?;
    let stamp = file.metadata().ok().map(|meta| ContentStamp::of(&meta));
    Ok(FreshFile { path, stamp })
}

/// A step failed before anything was published: `ours` is removed, and everything is as before.
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

/// `ours` never had the name: nobody can have it open.
fn withdraw(disk: &dyn Disk, ours: &Path, swap: Swap) -> Swap {
    let _ = disk.unlink(ours);
    swap
}

/// The condition of the file just before the exchange.
enum FileCondition<'f> {
    /// As it was read; nobody can begin to write it while the lease is held.
    Quiet(FileLease<'f>),
    /// As it was read; there are no leases here, or a writer is not waited for.
    Unguarded,
    Busy,
    Changed,
}

fn look_before<'f>(
    disk: &dyn Disk,
    names: &Names,
    old: OldFile<'f>,
    writer: Writer,
) -> io::Result<FileCondition<'f>> {
    let lease = match disk.lease(old.opened) {
        Ok(lease) => Some(lease),
        Err(error) if is_busy(&error) && writer == Writer::GiveWay => {
            return Ok(FileCondition::Busy);
        }
        Err(_) => None,
    };
    // The content may have changed since it was read; under the lease it no longer changes.
    if !is_named(disk, names, old.opened.id)? || !disk.holds(old.opened, old.bytes)? {
        return Ok(FileCondition::Changed);
    }
    Ok(match lease {
        // A writer that is let in now writes into the file that has the name.
        Some(lease) if lease.is_wanted() && writer == Writer::GiveWay => FileCondition::Busy,
        Some(lease) => FileCondition::Quiet(lease),
        None => FileCondition::Unguarded,
    })
}

pub(super) fn is_busy(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::WouldBlock
}

fn is_named(disk: &dyn Disk, names: &Names, file: FileId) -> io::Result<bool> {
    match disk.identify(&names.state) {
        Ok(now) => Ok(now == file),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

fn exchange(
    disk: &dyn Disk,
    names: &Names,
    ready: &Path,
    old: OldFile<'_>,
    is_guarded: bool,
    new: &[u8],
) -> Result<Swap, SwapError> {
    match disk.exchange(ready, &names.state) {
        Ok(()) => {}
        // An editor has moved the name away and will make it anew.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Ok(withdraw(disk, ready, Swap::Overtaken));
        }
        Err(error) if is_unsupported(&error) => return Ok(rename_over(disk, names, ready, old)?),
        Err(error) => return Err(abandon(disk, ready, "exchange", &names.state, error).into()),
    }
    match came_out_as_read(disk, ready, old, is_guarded) {
        Ok(true) => Ok(Swap::Done),
        Ok(false) => {
            keep_written(disk, names, ready, old);
            put_back(disk, names, ready, new).map_err(shown)
        }
        Err(error) => {
            // The file was not read, so it may be a person's: it gets the name again.
            let given_back = put_back(disk, names, ready, new);
            Err(shown(given_back.err().unwrap_or_else(|| StoreError::io("read", ready, error))))
        }
    }
}

/// Whether nothing was saved between the check and the exchange, neither over the name nor into the
/// file.
fn came_out_as_read(
    disk: &dyn Disk,
    ready: &Path,
    old: OldFile<'_>,
    is_guarded: bool,
) -> io::Result<bool> {
    if disk.identify(ready)? != old.opened.id {
        return Ok(false);
    }
    Ok(is_guarded || disk.holds(old.opened, old.bytes)?)
}

/// Gives a file that was written after it had lost the name a second one, like a late save. Without second names a
/// save over it in the same instant is the end of it.
fn keep_written(disk: &dyn Disk, names: &Names, ready: &Path, old: OldFile<'_>) {
    if disk.identify(ready).is_ok_and(|id| id == old.opened.id) {
        let _ = disk.link(ready, &names.late());
    }
}

fn put_back(disk: &dyn Disk, names: &Names, ready: &Path, new: &[u8]) -> Result<Swap, StoreError> {
    let failed = |error| StoreError::io("put back", &names.state, error);
    match disk.exchange(ready, &names.state) {
        Ok(()) => {}
        // The editor has moved the name away and will make it anew: its earlier save waits.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            disk.rename_new(ready, &names.state).map_err(failed)?;
            return Ok(Swap::GivenBack);
        }
        Err(error) => return Err(failed(error)),
    }
    // Ours had the name for an instant, so it stays until it is at rest; its seal identifies it.
    let found = disk.open_and_read(ready, names.bytes_max).map_err(failed)?;
    if found.bytes == new {
        return Ok(Swap::GivenBack);
    }
    // A second save came between the two exchanges: the newer one has the name, the older one is
    // kept.
    disk.exchange(ready, &names.state).map_err(failed)?;
    rescue(disk, names, ready).map_err(failed)?;
    Ok(Swap::GivenBack)
}

/// Replaces without an exchange: for some microseconds a save over the name could be lost.
fn rename_over(
    disk: &dyn Disk,
    names: &Names,
    ready: &Path,
    old: OldFile<'_>,
) -> Result<Swap, StoreError> {
    let kept = old.kept_as(names);
    match disk.link(&names.state, &kept) {
        Ok(()) if disk.identify(&kept).is_ok_and(|id| id == old.opened.id) => {}
        Ok(()) => {
            let _ = disk.unlink(&kept);
            return Ok(withdraw(disk, ready, Swap::Overtaken));
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Ok(withdraw(disk, ready, Swap::Overtaken));
        }
        // There are no second names either: an editor that has the file open now loses its save.
        Err(_) => {}
    }
    let renamed = disk.rename(ready, &names.state);
    renamed.map_err(|error| {
        let _ = disk.unlink(&kept);
        abandon(disk, ready, "replace", &names.state, error)
    })?;
    Ok(Swap::Done)
}

/// Keeps a person's file under a name that the person sees.
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
