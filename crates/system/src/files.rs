//! Files of our own beside a state, in the cache and among the records: one way to open, read, make and remove them.
//!
//! Invariant: only a regular file is opened, under its very name: no link is followed but to a person's own file, and no
//! pipe or device is waited for. A read has a maximum. A file that is written to has one name only, and only its owner
//! may read it. A directory is a directory and no link to one. Whatever else lies there is refused by name ([`Odd`]). Not here: the state file
//! itself (`store::disk`), the trees of attempts.
#![allow(clippy::disallowed_methods)] // door: opens, makes and removes files of our own

pub mod private;
#[cfg(test)]
mod tests;

use std::{
    env,
    ffi::OsString,
    fmt,
    fs::{self, DirBuilder, File, FileType, Metadata, OpenOptions, Permissions},
    io::{self, Read, Write},
    os::{
        fd::OwnedFd,
        unix::{
            ffi::OsStringExt,
            fs::{DirBuilderExt, FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt},
        },
    },
    path::{Path, PathBuf},
    time::Duration,
};

use rustix::{
    fs::{AtFlags, CWD, Mode, OFlags, Timespec, Timestamps, UTIME_NOW, openat},
    io::Errno,
};
use tempfile::NamedTempFile;

/// The beginning of the name of a file that is not whole yet.
pub const HALF: &str = ".new-";

/// The kind of a path that should be a file or a directory of ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathKind {
    Link,
    Directory,
    Pipe,
    Socket,
    Device,
    /// A hard link: a write would change the other name's file too.
    SecondName,
    /// Larger than the bytes that are read at most.
    Larger(u64),
}

impl PathKind {
    /// `None`: a regular file.
    #[must_use]
    pub fn of(kind: FileType) -> Option<Self> {
        Some(match () {
            () if kind.is_file() => return None,
            () if kind.is_symlink() => Self::Link,
            () if kind.is_dir() => Self::Directory,
            () if kind.is_fifo() => Self::Pipe,
            () if kind.is_socket() => Self::Socket,
            () => Self::Device,
        })
    }
}

impl fmt::Display for PathKind {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Link => to.write_str("is a symbolic link"),
            Self::Directory => to.write_str("is a directory"),
            Self::Pipe => to.write_str("is a named pipe"),
            Self::Socket => to.write_str("is a socket"),
            Self::Device => to.write_str("is a device"),
            Self::SecondName => to.write_str("has a second name (a hard link)"),
            Self::Larger(bytes_max) => write!(to, "holds more than {bytes_max} bytes"),
        }
    }
}

/// A path of ours that is not a file of ours. Carried by the `io::Error` of a call.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{}` {what}", path.display())]
pub struct Odd {
    pub path: PathBuf,
    pub what: PathKind,
}

impl Odd {
    fn error(path: &Path, what: PathKind) -> io::Error {
        let path = path.to_owned();
        io::Error::new(io::ErrorKind::InvalidInput, Self { path, what })
    }

    /// The oddity that made a call fail, if there was one.
    #[must_use]
    pub fn of(error: &io::Error) -> Option<&Self> {
        error.get_ref()?.downcast_ref()
    }
}

/// Follows no link, does not wait for the other end of a pipe, and takes no terminal for ours.
const PLAIN: OFlags =
    OFlags::NOFOLLOW.union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

/// Opens a file to be read.
pub fn open(path: &Path) -> io::Result<File> {
    opened(OpenOptions::new().read(true), path, PLAIN).map(|(file, _)| file)
}

/// The same for a file of a person's own, which may be a link to one.
pub fn open_linked(path: &Path) -> io::Result<File> {
    let linked = PLAIN.difference(OFlags::NOFOLLOW);
    opened(OpenOptions::new().read(true), path, linked).map(|(file, _)| file)
}

/// Opens a directory to be locked or brought to the disk; it may be a link to one.
pub fn open_dir(dir: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | PLAIN.difference(OFlags::NOFOLLOW);
    Ok(openat(CWD, dir, flags, Mode::empty())?.into())
}

/// Opens a file to be read and written; makes it if nothing is there.
pub fn open_or_make(path: &Path) -> io::Result<File> {
    with_one_name(OpenOptions::new().read(true).write(true).create(true).truncate(false), path)
}

/// Opens a file to be appended to; makes it if nothing is there.
pub fn append(path: &Path) -> io::Result<File> {
    with_one_name(OpenOptions::new().append(true).create(true), path)
}

/// Makes a new file; fails if anything is there.
pub fn make_new(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

/// Reads all of it; refuses a larger file.
pub fn read(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    read_whole(path, open(path)?, bytes_max)
}

/// The same for a file of a person's own, which may be a link to one.
pub fn read_linked(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    read_whole(path, open_linked(path)?, bytes_max)
}

fn read_whole(path: &Path, file: File, bytes_max: u64) -> io::Result<Vec<u8>> {
    let bytes = read_up_to(file, bytes_max.saturating_add(1))?;
    if bytes.len() as u64 > bytes_max {
        Err(Odd::error(path, PathKind::Larger(bytes_max)))
    } else {
        Ok(bytes)
    }
}

/// Reads all of it, or as much of its beginning.
pub fn read_some(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    read_up_to(open(path)?, bytes_max)
}

fn read_up_to(file: File, bytes_max: u64) -> io::Result<Vec<u8>> {
    let len = file.metadata()?.len().min(bytes_max);
    let mut bytes = Vec::with_capacity(usize::try_from(len).unwrap_or(0));
    file.take(bytes_max).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Writes a whole file at once, like [`write_whole`], where one process alone writes it. The fresh bytes have a fixed name until they are whole
/// ([`half_of`]): killed writers leave one file at most.
pub fn write_whole_alone(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let half = half_of(path);
    write_anew(&half, bytes)?;
    fs::rename(half, path)
}

/// The same, durable as soon as its directory is.
pub fn write_synced_alone(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let half = half_of(path);
    write_anew(&half, bytes)?;
    File::open(&half)?.sync_all()?;
    fs::rename(half, path)
}

/// The path at which [`write_whole_alone`] writes first.
pub fn half_of(path: &Path) -> PathBuf {
    let mut name = OsString::from(HALF);
    name.push(path.file_name().unwrap_or_default());
    path.with_file_name(name)
}

/// Writes a file at a path at which nothing is.
pub fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    make_new(path)?.write_all(bytes)
}

/// Replaces whatever is there.
pub fn write_anew(path: &Path, bytes: &[u8]) -> io::Result<()> {
    match write_new(path, bytes) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            remove(path)?;
            write_new(path, bytes)
        }
        written => written,
    }
}

/// Writes a whole file at once, in the place of whatever file is there; the directory exists.
pub fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    half(path, bytes)?.persist(path)?;
    Ok(())
}

/// The same, durable when this returns.
pub fn write_durably(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let fresh = half(path, bytes)?;
    fresh.as_file().sync_all()?;
    fresh.persist(path)?;
    sync_dir(dir_of(path))
}

/// Made with the mode 0600, under a name that nobody guesses.
fn half(path: &Path, bytes: &[u8]) -> io::Result<NamedTempFile> {
    let mut named = tempfile::Builder::new();
    let mut fresh = named.prefix(HALF).tempfile_in(dir_of(path))?;
    fresh.write_all(bytes)?;
    Ok(fresh)
}

fn dir_of(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new("."))
}

/// Removes whatever is there; follows no link.
pub fn remove(path: &Path) -> io::Result<()> {
    let removed = match path.symlink_metadata() {
        Ok(meta) if meta.is_dir() => match fs::remove_dir_all(path) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                unlock_dirs(path);
                fs::remove_dir_all(path)
            }
            removed => removed,
        },
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Makes directories writable as far as possible; the removal that follows names the others.
fn unlock_dirs(top: &Path) {
    let mut dirs = vec![top.to_owned()];
    while let Some(dir) = dirs.pop() {
        let _ = fs::set_permissions(&dir, Permissions::from_mode(0o700));
        dirs.extend(entries(&dir).into_iter().filter(|path| plain_dir(path).is_ok()));
    }
}

/// Removes a directory that holds nothing.
pub fn remove_empty(dir: &Path) -> io::Result<()> {
    fs::remove_dir(dir)
}

/// Removes a regular file with one name; refuses anything else.
pub fn remove_file(path: &Path) -> io::Result<()> {
    plain_file(path)?;
    remove(path)
}

/// Moves a file to a free name in the same file system.
pub fn move_to(from: &Path, to: &Path) -> io::Result<()> {
    match to.symlink_metadata() {
        Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
        Err(_) => fs::rename(from, to),
    }
}

/// Sets the modification time of a path, since 1970 or to the present; a link is not followed.
pub fn set_time(path: &Path, time: Option<Duration>) -> io::Result<()> {
    let seconds = |time: Duration| i64::try_from(time.as_secs()).unwrap_or(i64::MAX);
    let time = match time {
        Some(time) => Timespec { tv_sec: seconds(time), tv_nsec: time.subsec_nanos().into() },
        None => Timespec { tv_sec: 0, tv_nsec: UTIME_NOW },
    };
    let times = Timestamps { last_access: time, last_modification: time };
    Ok(rustix::fs::utimensat(CWD, path, &times, AtFlags::SYMLINK_NOFOLLOW)?)
}

/// Makes a directory for its owner alone; an existing one stays as it is. Returns whether it is new, and so empty.
pub fn make_dir(dir: &Path) -> io::Result<bool> {
    match plain_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        there => return there.map(|()| false),
    }
    match DirBuilder::new().mode(0o700).create(dir) {
        // Another process may have been first.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            plain_dir(dir).map(|()| false)
        }
        made => made.map(|()| true),
    }
}

/// The same, with its name durable before any content.
pub fn make_dir_durably(dir: &Path) -> io::Result<()> {
    match (make_dir(dir)?, dir.parent()) {
        (true, Some(parent)) => sync_dir(parent),
        _ => Ok(()),
    }
}

/// Makes all missing directories above too; existing links above are a person's affair.
pub fn make_dirs(dir: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(dir)
}

/// An error unless the path itself is a directory.
pub fn plain_dir(dir: &Path) -> io::Result<()> {
    let meta = dir.symlink_metadata()?;
    match what(&meta) {
        Some(PathKind::Directory) => Ok(()),
        Some(odd) => Err(Odd::error(dir, odd)),
        // Something is in the way, but harmless.
        None => Err(io::ErrorKind::NotADirectory.into()),
    }
}

/// An error if the path is a link.
pub fn no_link(path: &Path) -> io::Result<()> {
    match path.symlink_metadata() {
        Ok(meta) if meta.is_symlink() => Err(Odd::error(path, PathKind::Link)),
        _ => Ok(()),
    }
}

pub fn sync_dir(dir: &Path) -> io::Result<()> {
    open_dir(dir)?.sync_all()
}

/// The paths in a directory, in no order; none if it is no directory, or a link to one.
pub fn entries(dir: &Path) -> Vec<PathBuf> {
    let names = names(dir).unwrap_or_default();
    names.into_iter().map(|name| dir.join(name)).collect()
}

fn names(dir: &Path) -> io::Result<Vec<OsString>> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | PLAIN;
    let opened: OwnedFd = openat(CWD, dir, flags, Mode::empty())?;
    let mut names = Vec::new();
    for entry in rustix::fs::Dir::new(opened)? {
        let name = entry?.file_name().to_bytes().to_vec();
        if name != b"." && name != b".." {
            names.push(OsString::from_vec(name));
        }
    }
    Ok(names)
}

/// An error unless it is a regular file with one name; nothing is opened.
pub fn plain_file(path: &Path) -> io::Result<()> {
    let meta = match path.symlink_metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        meta => meta?,
    };
    let odd = what(&meta).or((meta.nlink() > 1).then_some(PathKind::SecondName));
    odd.map_or(Ok(()), |odd| Err(Odd::error(path, odd)))
}

fn with_one_name(how: &mut OpenOptions, path: &Path) -> io::Result<File> {
    let (file, meta) = opened(how.mode(0o600), path, PLAIN)?;
    match meta.nlink() {
        // 0: it was removed in this very moment, which the caller finds out.
        0 | 1 => Ok(file),
        _ => Err(Odd::error(path, PathKind::SecondName)),
    }
}

fn opened(how: &mut OpenOptions, path: &Path, flags: OFlags) -> io::Result<(File, Metadata)> {
    let file = how.custom_flags(flags.bits().cast_signed()).open(path);
    let file = file.map_err(|error| named(error, path))?;
    let meta = file.metadata()?;
    match what(&meta) {
        None => Ok((file, meta)),
        Some(odd) => Err(Odd::error(path, odd)),
    }
}

/// Names the kind of path for the system's refusals.
fn named(error: io::Error, path: &Path) -> io::Error {
    let is_refused = matches!(
        Errno::from_io_error(&error),
        Some(Errno::LOOP | Errno::MLINK | Errno::NXIO | Errno::ISDIR | Errno::OPNOTSUPP)
    );
    let meta = is_refused.then(|| path.symlink_metadata().ok()).flatten();
    match meta.as_ref().and_then(what) {
        Some(odd) => Odd::error(path, odd),
        None => error,
    }
}

fn what(meta: &Metadata) -> Option<PathKind> {
    PathKind::of(meta.file_type())
}

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

/// The directories from `dir` upwards, `dir` among them. If they end at a repository, it is the last one.
pub fn upwards(dir: &Path) -> impl Iterator<Item = &Path> {
    let ceilings = ceilings();
    std::iter::successors(Some(dir), move |below| {
        let above = below.parent()?;
        let is_border = is_repository(below)
            || ceilings.iter().any(|ceiling| ceiling == above)
            || device(below) != device(above);
        (!is_border).then_some(above)
    })
}

/// The top of the working tree around a directory, without asking git.
pub fn top_of(dir: &Path) -> Option<&Path> {
    upwards(dir).last().filter(|last| is_repository(last))
}

/// Whether git takes the directory for a repository, or for the top of its working tree (gitrepository-layout(5)). A
/// `.git` without a `HEAD` is none; one that cannot be looked into may be one.
fn is_repository(dir: &Path) -> bool {
    let has = |name: &str| {
        let found = dir.join(name).symlink_metadata();
        !found.is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
    };
    has(".git/HEAD") || has("HEAD") && has("objects") && has("refs")
}

/// git compares them with a path without links.
fn ceilings() -> Vec<PathBuf> {
    let named = env::var_os("GIT_CEILING_DIRECTORIES").unwrap_or_default();
    let whole = env::split_paths(&named).filter(|dir| dir.is_absolute());
    whole.map(|dir| dir.canonicalize().unwrap_or(dir)).collect()
}

fn device(dir: &Path) -> Option<u64> {
    dir.metadata().ok().map(|meta| meta.dev())
}
