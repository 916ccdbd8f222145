//! A directory of build state, looked at and copied: files with their times and modes, links, and second names of one file.
//! Copies share blocks where the file system can.
//!
//! Invariant: what holds a repository, leads to a place by an absolute path, or cannot be read is not copied at all. Pipes,
//! sockets and devices are left out.
#![allow(clippy::disallowed_methods)] // door: directories of the cache

use std::{
    collections::HashMap,
    fs::{self, File, Metadata, Permissions},
    io,
    os::unix::fs::{MetadataExt, PermissionsExt, symlink},
    path::{Path, PathBuf},
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

use crate::git::{FileTime, changed};
use descent_system::files;

/// Entries of one directory at most.
const ENTRIES_MAX: usize = 1_000_000;
const THREADS_MAX: usize = 8;
/// Names that say that what lies beside them holds the path of its place.
const TIED_TO_A_PLACE: [&str; 3] = ["pyvenv.cfg", "CMakeCache.txt", ".pnpm"];

/// All that is in a directory, by paths relative to it.
#[derive(Debug, Default)]
pub(super) struct DirList {
    dirs: Vec<(PathBuf, Metadata)>,
    files: Vec<(PathBuf, Metadata)>,
    links: Vec<(PathBuf, PathBuf)>,
    pub(super) bytes: u64,
    pub(super) newest: FileTime,
}

/// The place of a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CopyPlace {
    Same,
    Another,
}

impl DirList {
    /// `None` if the directory cannot be carried there.
    pub(super) fn of(top: &Path, to: CopyPlace) -> Option<Self> {
        let mut list = Self::default();
        let mut open = vec![PathBuf::new()];
        while let Some(dir) = open.pop() {
            list.dirs.push((dir.clone(), top.join(&dir).symlink_metadata().ok()?));
            for entry in fs::read_dir(top.join(&dir)).ok()? {
                let name = entry.ok()?.file_name();
                let path = dir.join(&name);
                let meta = top.join(&path).symlink_metadata().ok()?;
                let is_tied = TIED_TO_A_PLACE.iter().any(|tied| name == *tied);
                let is_unfit = name == ".git" || (is_tied && to == CopyPlace::Another);
                if is_unfit || list.files.len() + list.links.len() > ENTRIES_MAX {
                    return None;
                }
                if meta.is_dir() {
                    open.push(path);
                } else if meta.is_symlink() {
                    let leads_to = fs::read_link(top.join(&path)).ok()?;
                    if leads_to.is_absolute() && to == CopyPlace::Another {
                        return None;
                    }
                    list.links.push((path, leads_to));
                } else if meta.is_file() {
                    File::open(top.join(&path)).ok()?;
                    list.newest = list.newest.max(changed(&meta).unwrap_or_default());
                    list.bytes = list.bytes.saturating_add(meta.blocks().saturating_mul(512));
                    list.files.push((path, meta));
                }
            }
        }
        Some(list)
    }

    /// Copies all of it to a place that is free.
    pub(super) fn copy(&self, from: &Path, to: &Path) -> io::Result<()> {
        for (dir, _) in &self.dirs {
            fs::create_dir(to.join(dir))?;
        }
        for (link, leads_to) in &self.links {
            symlink(leads_to, to.join(link))?;
        }
        let mut first_names = HashMap::new();
        let (mut first, mut second) = (Vec::new(), Vec::new());
        for (path, meta) in &self.files {
            let known = first_names.entry((meta.dev(), meta.ino())).or_insert(path);
            if meta.nlink() > 1 && *known != path {
                second.push((*known, path));
            } else {
                first.push((path, meta));
            }
        }
        in_parallel(&first, |(path, meta)| {
            fs::copy(from.join(path), to.join(path))?;
            files::set_time(&to.join(path), changed(meta))
        })?;
        for (known, path) in second {
            fs::hard_link(to.join(known), to.join(path))?;
        }
        for (dir, meta) in self.dirs.iter().rev() {
            fs::set_permissions(to.join(dir), Permissions::from_mode(meta.mode() | 0o700))?;
            files::set_time(&to.join(dir), changed(meta))?;
        }
        Ok(())
    }
}

/// Does it for each; the first error ends all.
fn in_parallel<T: Sync>(all: &[T], each: impl Fn(&T) -> io::Result<()> + Sync) -> io::Result<()> {
    let next = AtomicUsize::new(0);
    let work = || {
        while let Some(one) = all.get(next.fetch_add(1, Ordering::Relaxed)) {
            each(one).inspect_err(|_| next.store(all.len(), Ordering::Relaxed))?;
        }
        Ok(())
    };
    let threads = thread::available_parallelism().map_or(1, usize::from).min(THREADS_MAX);
    thread::scope(|scope| {
        let all: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let mine = work();
        let others = all.into_iter().map(|one| one.join().unwrap_or(Ok(())));
        others.fold(mine, io::Result::and)
    })
}

/// The time that the file system gives to a file now.
pub(super) fn present(dir: &Path) -> Option<FileTime> {
    changed(&tempfile::tempfile_in(dir).ok()?.metadata().ok()?)
}

/// Whether copies in a directory share blocks with what they are made from.
pub(super) fn shares_blocks(dir: &Path) -> bool {
    let shares = || -> io::Result<()> {
        let (mut from, to) = (tempfile::tempfile_in(dir)?, tempfile::tempfile_in(dir)?);
        io::Write::write_all(&mut from, b"descent")?;
        Ok(rustix::fs::ioctl_ficlone(&to, &from)?)
    };
    shares().is_ok()
}
