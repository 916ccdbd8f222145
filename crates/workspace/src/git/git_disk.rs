//! The few file operations outside git: copies of an index, removal of whole directories.
#![allow(clippy::disallowed_methods)] // door: files beside git's own work

use super::GitError;
use descent_system::{
    failure::lack_of,
    files::{self, CloseStamp, PathKind},
};
use std::{
    fs::{self, File, FileTimes, Metadata, Permissions},
    io::{self, Write},
    os::unix::{
        ffi::OsStrExt,
        fs::{MetadataExt, PermissionsExt},
    },
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

/// Copies an index with its modification time. Git takes an entry for clean only if the file is
/// older than the index. A younger copy would hide a change made in the same instant.
pub(super) fn copy_index(from: &Path, to: &Path) -> Result<(), GitError> {
    // If a resource is lacking, it is lacking at the target.
    fs::copy(from, to)
        .map_err(|error| GitError::io(lack_of(&error).map_or(from, |_| to))(error))?;
    let keep_time = || {
        let changed = fs::metadata(from)?.modified()?;
        File::options().write(true).open(to)?.set_times(FileTimes::new().set_modified(changed))
    };
    keep_time().map_err(GitError::io(to))
}

/// Removes whatever is at `path`. It follows no symlink, and read-only directories are no obstacle.
pub(super) fn remove_tree(path: &Path) -> Result<(), GitError> {
    files::remove(path).map_err(GitError::io(path))
}

/// Creates a file with these bytes, complete or not at all; `false` if the name is taken: that file stays as it is.
pub fn write_new_file(path: &Path, bytes: &[u8]) -> Result<bool, GitError> {
    let dir = match path.parent() {
        Some(dir) if !dir.as_os_str().is_empty() => dir,
        _ => Path::new("."),
    };
    let write = || {
        let mut file = tempfile::Builder::new().prefix(".descent-").tempfile_in(dir)?;
        file.write_all(bytes)?;
        file.as_file().sync_all()?;
        file.as_file().set_permissions(Permissions::from_mode(0o644))?;
        match file.persist_noclobber(path) {
            Ok(_) => File::open(dir)?.sync_all().map(|()| true),
            Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(error.error),
        }
    };
    write().map_err(GitError::io(path))
}

/// Makes a new repository at `git_dir` with HEAD at `commit`, which borrows another's objects.
pub(super) fn borrow_repository(
    git_dir: &Path,
    objects: &Path,
    commit: &str,
) -> Result<(), GitError> {
    remove_tree(git_dir)?;
    make_dirs(&git_dir.join("objects/info"))?;
    make_dirs(&git_dir.join("refs/heads"))?;
    let format = match commit.len() {
        64 => "\trepositoryformatversion = 1\n[extensions]\n\tobjectFormat = sha256\n",
        _ => "\trepositoryformatversion = 0\n",
    };
    let mut alternate = objects.as_os_str().as_bytes().to_vec();
    alternate.push(b'\n');
    let files = [
        ("config", format!("[core]\n\tbare = false\n{format}").into_bytes()),
        ("objects/info/alternates", alternate),
        ("HEAD", format!("{commit}\n").into_bytes()),
    ];
    for (name, bytes) in files {
        let path = git_dir.join(name);
        files::write_anew(&path, &bytes).map_err(GitError::io(path))?;
    }
    Ok(())
}

pub(super) fn has_bytes(path: &Path, bytes: &[u8]) -> bool {
    files::read(path, bytes.len() as u64).is_ok_and(|found| found == bytes)
}

/// Writes a file of ours only if its bytes differ, and then completely or not at all.
pub(super) fn keep_bytes(path: &Path, bytes: &[u8]) -> Result<(), GitError> {
    if has_bytes(path, bytes) {
        return Ok(());
    }
    make_dirs(path.parent().unwrap_or(path))?;
    files::write_whole(path, bytes).map_err(GitError::io(path))
}

/// The same, whatever is in its place; its directory exists.
pub(super) fn hold_bytes(path: &Path, bytes: &[u8]) -> Result<(), GitError> {
    if path.symlink_metadata().is_ok_and(|meta| meta.is_dir()) {
        remove_tree(path)?;
    }
    keep_bytes(path, bytes)
}

/// Tells a directory from any other on this machine; none if it is no directory, or a link to one.
pub(super) fn identity(dir: &Path) -> Option<Vec<u8>> {
    let meta = dir.symlink_metadata().ok().filter(Metadata::is_dir)?;
    // A number is given again after a removal.
    let born = meta.created().ok();
    Some(format!("{:x}-{:x} {born:?}\n", meta.dev(), meta.ino()).into_bytes())
}

/// The stamp of a file that did not change in the last second: a later change gets another time,
/// however coarse the clock of the file system is. Nobody but the system sets this time.
pub(super) fn settled_stamp(path: &Path) -> Option<CloseStamp> {
    let meta = path.symlink_metadata().ok().filter(Metadata::is_file)?;
    let changed = Duration::from_secs(u64::try_from(meta.ctime()).ok()?);
    let since = (SystemTime::UNIX_EPOCH + changed).elapsed().ok()?;
    (since > SETTLED).then(|| CloseStamp::of(&meta))
}

/// More than a second, of which the fraction is not counted.
const SETTLED: Duration = Duration::from_secs(2);

/// Writes a file that cannot exist yet.
pub(super) fn write_new(path: &Path, bytes: &[u8]) -> Result<(), GitError> {
    files::write_new(path, bytes).map_err(GitError::io(path))
}

pub(super) fn copy_if_there(from: &Path, to: &Path) -> Result<(), GitError> {
    match fs::copy(from, to) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        copied => copied.map(drop).map_err(GitError::io(to)),
    }
}

/// Renames a directory if the new name is free; otherwise removes it.
pub(super) fn name_dir(from: &Path, to: &Path) -> Result<(), GitError> {
    match fs::rename(from, to) {
        Err(_) if to.is_dir() => remove_tree(from),
        renamed => renamed.map_err(GitError::io(to)),
    }
}

/// Keeps an index durably: after a power cut it is complete, or the one before.
pub(super) fn keep_index(from: &Path, to: &Path) -> Result<(), GitError> {
    let half_made = to.with_extension(format!("new-{}", std::process::id()));
    copy_index(from, &half_made)?;
    File::open(&half_made).and_then(|file| file.sync_all()).map_err(GitError::io(&half_made))?;
    rename(&half_made, to)
}

/// Shares an object file with another repository, by a hard link if the file system can.
pub(super) fn share_file(from: &Path, to: &Path) -> Result<(), GitError> {
    if to.exists() {
        return Ok(());
    }
    make_dirs(to.parent().unwrap_or(to))?;
    fs::hard_link(from, to).or_else(|_| fs::copy(from, to).map(drop)).map_err(GitError::io(to))
}

/// The first of `paths` that exists and cannot be read.
pub(super) fn first_unreadable<'p>(
    top: &Path,
    paths: impl IntoIterator<Item = &'p Path>,
) -> Option<GitError> {
    paths.into_iter().find_map(|path| {
        let path = top.join(path);
        let is_file = path.symlink_metadata().is_ok_and(|meta| meta.is_file());
        let source = is_file.then(|| files::open(&path).err()).flatten()?;
        Some(GitError::Unreadable { path, source })
    })
}

/// Makes one directory in an existing one.
pub(super) fn make_dir(path: &Path) -> Result<(), GitError> {
    match fs::create_dir(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            Err(GitError::io(path)(error))
        }
        _ => Ok(()),
    }
}

pub(super) fn make_dirs(path: &Path) -> Result<(), GitError> {
    fs::create_dir_all(path).map_err(GitError::io(path))
}

pub(super) fn rename(from: &Path, to: &Path) -> Result<(), GitError> {
    fs::rename(from, to).map_err(GitError::io(to))
}

pub(super) fn is_older_than(path: &Path, age: Duration) -> bool {
    let changed = path.symlink_metadata().and_then(|meta| meta.modified());
    changed.is_ok_and(|changed| changed.elapsed().is_ok_and(|since| since > age))
}

/// The kind of a path that is neither file nor directory nor symlink: a pipe, a socket, a device.
pub(super) fn special(top: &Path, path: &Path) -> Option<PathKind> {
    match PathKind::of(top.join(path).symlink_metadata().ok()?.file_type())? {
        PathKind::Directory | PathKind::Link => None,
        what => Some(what),
    }
}

/// Whether a directory between `top` and `path` is a symlink: then `path` names a file elsewhere.
pub(super) fn is_beyond_symlink(top: &Path, path: &Path) -> bool {
    let above = path.ancestors().skip(1);
    above.take_while(|dir| !dir.as_os_str().is_empty()).any(|dir| top.join(dir).is_symlink())
}

/// The files below `dir`, as far as they can be listed, and at most `most`.
pub(super) fn files_below(dir: &Path, most: usize) -> Vec<PathBuf> {
    let (mut dirs, mut files) = (vec![dir.to_owned()], Vec::new());
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(&dir).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                dirs.push(entry.path());
            } else if files.len() < most {
                files.push(entry.path());
            }
        }
    }
    files
}

/// Whether a process visible to this person has the file open; `true` if that is unknown.
pub(super) fn is_held_open(path: &Path) -> bool {
    let Ok(processes) = fs::read_dir("/proc") else { return true };
    processes.flatten().any(|process| {
        let open = fs::read_dir(process.path().join("fd")).into_iter().flatten();
        open.flatten().any(|fd| fs::read_link(fd.path()).is_ok_and(|held| held == path))
    })
}
