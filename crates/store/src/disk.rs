//! The system calls that a commit consists of, behind a trait, so that a test can make each one
//! fail.
//!
//! Here: the trait and the real disk. Not here: the order of the calls (`swap`), locks, what the
//! bytes mean. Invariant: a commit acts on the directory that was opened first, even if its path
//! leads elsewhere later.
#![allow(clippy::disallowed_methods)] // door: writes, renames and removes the state's files

use std::fmt;
use std::fs::{self, File};
use std::hash::Hasher as _;
use std::io::{self, Read, Seek, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use rustix::fs::{
    AtFlags, CWD, Mode, OFlags, RenameFlags, linkat, openat, renameat, renameat_with,
};
use rustix::io::Errno;
use twox_hash::xxhash3_64::Hasher;

use super::lease::{self, FileLease};
use descent_system::files;

/// The identity of a file, whatever its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileId {
    dev: u64,
    ino: u64,
}

/// An open regular file, with the mode that its replacement must not exceed.
#[derive(Debug)]
pub(super) struct OpenFile {
    pub(super) file: File,
    pub(super) id: FileId,
    pub(super) mode: u32,
    pub(super) uid: u32,
    /// The length when it was opened.
    pub(super) len: u64,
}

/// An open file with the bytes that it held when it was read.
#[derive(Debug)]
pub(super) struct FileBytes {
    pub(super) opened: OpenFile,
    pub(super) bytes: Vec<u8>,
}

/// The holder of the name of the directory that was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DirectoryCheck {
    Same,
    Gone,
    /// Another directory has the name now.
    Other,
}

pub(super) trait Disk: fmt::Debug + Send + Sync {
    /// Whether the directory of the state still has its name.
    fn check_directory(&self) -> io::Result<DirectoryCheck>;
    /// Opens a regular file; a symbolic link is refused.
    fn open(&self, path: &Path) -> io::Result<OpenFile>;
    /// Reads the whole file, but no more than `bytes_max` and one byte.
    fn read(&self, opened: &OpenFile, bytes_max: u64) -> io::Result<Vec<u8>>;
    /// Whether the file holds exactly these bytes.
    fn holds(&self, opened: &OpenFile, bytes: &[u8]) -> io::Result<bool>;
    /// The xxHash3 of the content.
    fn digest(&self, opened: &OpenFile) -> io::Result<u64>;
    /// Keeps others from opening the file for writing. `WouldBlock` if somebody has it open so already.
    fn lease<'f>(&self, opened: &'f OpenFile) -> io::Result<FileLease<'f>>;
    /// The file that has the name now.
    fn identify(&self, path: &Path) -> io::Result<FileId>;
    /// Creates a file; fails if there is one.
    fn create(&self, path: &Path, mode: u32) -> io::Result<File>;
    fn write(&self, file: &File, bytes: &[u8]) -> io::Result<()>;
    fn fsync(&self, file: &File) -> io::Result<()>;
    fn fsync_dir(&self, dir: &Path) -> io::Result<()>;
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Fails if there is a file at `to`.
    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()>;
    fn exchange(&self, one: &Path, other: &Path) -> io::Result<()>;
    /// Gives a file a second name.
    fn link(&self, from: &Path, to: &Path) -> io::Result<()>;
    fn unlink(&self, path: &Path) -> io::Result<()>;
    /// Files of `dir` whose names start with `prefix`.
    fn list(&self, dir: &Path, prefix: &str) -> io::Result<Vec<PathBuf>>;
    /// When the file or its name last changed, in milliseconds since 1970.
    fn changed_ms(&self, path: &Path) -> io::Result<u64>;
}

impl dyn Disk + '_ {
    pub(super) fn open_and_read(&self, path: &Path, bytes_max: u64) -> io::Result<FileBytes> {
        let opened = self.open(path)?;
        let bytes = self.read(&opened, bytes_max)?;
        Ok(FileBytes { opened, bytes })
    }
}

/// Whether the error says that the file system lacks the call.
pub(super) fn is_unsupported(error: &io::Error) -> bool {
    let errno = Errno::from_io_error(error);
    error.kind() == io::ErrorKind::Unsupported
        || errno
            .is_some_and(|errno| [Errno::INVAL, Errno::NOSYS, Errno::OPNOTSUPP].contains(&errno))
}

/// The target of a symbolic link that leads to nothing.
pub(super) fn dangling(link: &Path) -> Option<PathBuf> {
    let is_there = fs::metadata(link).map_err(|error| error.kind());
    (is_there.err() == Some(io::ErrorKind::NotFound)).then(|| fs::read_link(link).ok()).flatten()
}

/// Whether the error says that the path is a symbolic link.
pub(super) fn is_link(error: &io::Error) -> bool {
    Errno::from_io_error(error) == Some(Errno::LOOP)
}

/// Whether it is the file that `ignore_all` makes.
pub(super) fn is_own_ignore(path: &Path) -> bool {
    path.ends_with(IGNORE)
        && files::read(path, IGNORED.len() as u64).is_ok_and(|text| text == IGNORED)
}

/// Writes a `.gitignore` that hides the directory, itself included. It is complete before a state
/// lies beside it; an empty one is what a power cut left of it.
pub(super) fn ignore_all(dir: &Path) -> io::Result<()> {
    let path = dir.join(IGNORE);
    if path.symlink_metadata().is_ok_and(|meta| meta.len() > 0) {
        return Ok(());
    }
    files::write_durably(&path, IGNORED)
}

/// Removes a directory that holds nothing but what `ignore_all` made.
pub(super) fn remove_unused(dir: &Path) -> io::Result<()> {
    let names: Vec<_> =
        fs::read_dir(dir)?.map(|entry| Ok(entry?.file_name())).collect::<io::Result<_>>()?;
    if names != [".gitignore"] {
        return Ok(());
    }
    fs::remove_file(dir.join(".gitignore"))?;
    fs::remove_dir(dir)
}

/// Reads the file in chunks as long as `goes_on` returns true, and returns whether it reached the
/// end.
fn in_chunks(opened: &OpenFile, mut goes_on: impl FnMut(&[u8]) -> bool) -> io::Result<bool> {
    let mut file = &opened.file;
    file.rewind()?;
    // A small file needs no more room than itself, and a byte to see its end.
    let size = usize::try_from(opened.len).unwrap_or(CHUNK_BYTES);
    let mut chunk = vec![0; size.saturating_add(1).min(CHUNK_BYTES)];
    loop {
        let count = match file.read(&mut chunk) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            read => read?,
        };
        match chunk.get(..count) {
            None | Some([]) => return Ok(true),
            Some(part) if goes_on(part) => {}
            Some(_) => return Ok(false),
        }
    }
}

/// The system's own disk, with one directory held open. Files of that directory are reached through
/// it, others by their paths.
#[derive(Debug)]
pub(super) struct RealDisk {
    dir: PathBuf,
    pin: OnceLock<OwnedFd>,
}

impl RealDisk {
    pub(super) fn in_dir(dir: &Path) -> Self {
        Self { dir: dir.to_owned(), pin: OnceLock::new() }
    }

    fn pinned(&self) -> io::Result<BorrowedFd<'_>> {
        if let Some(pin) = self.pin.get() {
            return Ok(pin.as_fd());
        }
        let opened = openat(CWD, &self.dir, DIRECTORY, Mode::empty())?;
        Ok(self.pin.get_or_init(|| opened).as_fd())
    }

    fn at<'a>(&'a self, path: &'a Path) -> io::Result<(BorrowedFd<'a>, &'a Path)> {
        match path.file_name() {
            Some(name) if path.parent() == Some(&*self.dir) => {
                Ok((self.pinned()?, Path::new(name)))
            }
            _ => Ok((CWD, path)),
        }
    }

    fn stat(&self, path: &Path) -> io::Result<rustix::fs::Stat> {
        let (dir, name) = self.at(path)?;
        Ok(rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)?)
    }
}

const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

const IGNORE: &str = ".gitignore";
const IGNORED: &[u8] = b"*\n";

/// Bytes handled at once: few enough to stay in the CPU's cache.
const CHUNK_BYTES: usize = 64 << 10;

/// Opening a pipe would otherwise wait for a writer.
const REGULAR: OFlags =
    OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);

const NEW: OFlags = OFlags::WRONLY.union(OFlags::CREATE).union(OFlags::EXCL).union(OFlags::CLOEXEC);

impl Disk for RealDisk {
    fn check_directory(&self) -> io::Result<DirectoryCheck> {
        let pinned = rustix::fs::fstat(self.pinned()?)?;
        match fs::metadata(&self.dir) {
            Ok(now) if (now.dev(), now.ino()) == (pinned.st_dev, pinned.st_ino) => {
                Ok(DirectoryCheck::Same)
            }
            Ok(_) => Ok(DirectoryCheck::Other),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(DirectoryCheck::Gone),
            Err(error) => Err(error),
        }
    }

    fn open(&self, path: &Path) -> io::Result<OpenFile> {
        let (dir, name) = self.at(path)?;
        let file = File::from(openat(dir, name, REGULAR, Mode::empty())?);
        let meta = file.metadata()?;
        if meta.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        if !meta.is_file() {
            return Err(io::Error::other("not a regular file"));
        }
        Ok(OpenFile {
            id: FileId { dev: meta.dev(), ino: meta.ino() },
            mode: meta.mode(),
            uid: meta.uid(),
            len: meta.len(),
            file,
        })
    }

    fn read(&self, opened: &OpenFile, bytes_max: u64) -> io::Result<Vec<u8>> {
        let mut file = &opened.file;
        let size = usize::try_from(file.metadata()?.len().min(bytes_max)).unwrap_or(0);
        let mut bytes = Vec::with_capacity(size + 1);
        file.rewind()?;
        file.take(bytes_max + 1).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn holds(&self, opened: &OpenFile, bytes: &[u8]) -> io::Result<bool> {
        let mut rest = bytes;
        let is_same = in_chunks(opened, |chunk| match rest.strip_prefix(chunk) {
            Some(left) => {
                rest = left;
                true
            }
            None => false,
        })?;
        Ok(is_same && rest.is_empty())
    }

    fn digest(&self, opened: &OpenFile) -> io::Result<u64> {
        let mut hasher = Hasher::new();
        in_chunks(opened, |chunk| {
            hasher.write(chunk);
            true
        })?;
        Ok(hasher.finish())
    }

    fn lease<'f>(&self, opened: &'f OpenFile) -> io::Result<FileLease<'f>> {
        lease::take(&opened.file)
    }

    fn identify(&self, path: &Path) -> io::Result<FileId> {
        let stat = self.stat(path)?;
        Ok(FileId { dev: stat.st_dev, ino: stat.st_ino })
    }

    fn create(&self, path: &Path, mode: u32) -> io::Result<File> {
        let (dir, name) = self.at(path)?;
        Ok(openat(dir, name, NEW, Mode::from_raw_mode(mode))?.into())
    }

    fn write(&self, mut file: &File, bytes: &[u8]) -> io::Result<()> {
        file.write_all(bytes)
    }

    fn fsync(&self, file: &File) -> io::Result<()> {
        file.sync_all()
    }

    fn fsync_dir(&self, dir: &Path) -> io::Result<()> {
        if dir == self.dir {
            Ok(rustix::fs::fsync(self.pinned()?)?)
        } else {
            File::open(dir)?.sync_all()
        }
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let (from, to) = (self.at(from)?, self.at(to)?);
        Ok(renameat(from.0, from.1, to.0, to.1)?)
    }

    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        let (old, new) = (self.at(from)?, self.at(to)?);
        match renameat_with(old.0, old.1, new.0, new.1, RenameFlags::NOREPLACE) {
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
                self.link(from, to)?;
                self.unlink(from)
            }
            result => result.map_err(io::Error::from),
        }
    }

    fn exchange(&self, one: &Path, other: &Path) -> io::Result<()> {
        let (one, other) = (self.at(one)?, self.at(other)?);
        let swapped = renameat_with(one.0, one.1, other.0, other.1, RenameFlags::EXCHANGE);
        swapped.map_err(io::Error::from)
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        let (from, to) = (self.at(from)?, self.at(to)?);
        Ok(linkat(from.0, from.1, to.0, to.1, AtFlags::empty())?)
    }

    fn unlink(&self, path: &Path) -> io::Result<()> {
        let (dir, name) = self.at(path)?;
        Ok(rustix::fs::unlinkat(dir, name, AtFlags::empty())?)
    }

    fn list(&self, dir: &Path, prefix: &str) -> io::Result<Vec<PathBuf>> {
        let opened = if dir == self.dir {
            openat(self.pinned()?, ".", DIRECTORY, Mode::empty())?
        } else {
            openat(CWD, dir, DIRECTORY, Mode::empty())?
        };
        let mut found = Vec::new();
        for entry in rustix::fs::Dir::new(opened)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy();
            if name.starts_with(prefix) {
                found.push(dir.join(&*name));
            }
        }
        Ok(found)
    }

    fn changed_ms(&self, path: &Path) -> io::Result<u64> {
        let stat = self.stat(path)?;
        let (seconds, nanos) = (i128::from(stat.st_ctime), i128::from(stat.st_ctime_nsec));
        Ok(u64::try_from(seconds * 1000 + nanos / 1_000_000).unwrap_or(0))
    }
}
