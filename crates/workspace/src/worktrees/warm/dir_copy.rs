//! A directory of build state, looked at and copied: files with their times and modes, links, and second names of one file.
//! Copies share blocks where the file system can.
//!
//! Invariant: what holds a repository, leads elsewhere by an absolute path, or cannot be read is not copied at all. Pipes,
//! sockets and devices are left out. Not here: the path of a tree in files (`tied_paths`).
#![allow(clippy::disallowed_methods)] // door: directories of the cache

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    fs::{self, File, Metadata, Permissions},
    io,
    os::unix::fs::{MetadataExt, PermissionsExt, symlink},
    path::{Path, PathBuf},
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

use serde::{Deserialize, Serialize};

use super::tied_paths::{TieSearch, TreeMove, TreeOrigin, is_tied_file, moved};
use crate::git::{FileTime, changed};
use descent_system::files;

/// Entries of one directory at most.
const ENTRIES_MAX: usize = 1_000_000;
const THREADS_MAX: usize = 8;
/// A longer file is copied as it is, whatever path it holds.
const MOVED_BYTES_MAX: u64 = 256 << 10;

/// All that is in a directory, by paths relative to it.
#[derive(Debug, Default)]
pub(super) struct DirList {
    dirs: Vec<(PathBuf, Metadata)>,
    files: Vec<(PathBuf, Metadata)>,
    links: Vec<(PathBuf, PathBuf)>,
    pub(super) bytes: u64,
    pub(super) newest: FileTime,
    /// Text that holds the path of the tree gets that of the new one.
    pub(super) is_movable: bool,
    /// The notes of what holds that path and is made again.
    pub(super) left_out: Vec<PathBuf>,
}

impl DirList {
    /// The directory `dir` of a tree, which lies below `top` now; `None` if it cannot be carried.
    pub(super) fn of(top: &Path, dir: &Path, made_in: TreeOrigin<'_>) -> Option<Self> {
        // Records of images and copies are text, and so are all names in them.
        dir.to_str()?;
        let (at, mut list, mut ties) = (&top.join(dir), Self::default(), TieSearch::default());
        let mut open = vec![PathBuf::new()];
        while let Some(dir) = open.pop() {
            list.dirs.push((dir.clone(), at.join(&dir).symlink_metadata().ok()?));
            for entry in fs::read_dir(at.join(&dir)).ok()? {
                let path = dir.join(entry.ok()?.file_name());
                let meta = at.join(&path).symlink_metadata().ok()?;
                let is_text = path.to_str().is_some();
                if !is_text
                    || !ties.meet(&path)
                    || list.files.len() + list.links.len() > ENTRIES_MAX
                {
                    return None;
                }
                if meta.is_dir() {
                    open.push(path);
                } else if meta.is_symlink() {
                    let leads_to = fs::read_link(at.join(&path)).ok()?;
                    list.links.push((path, leads_to));
                } else if meta.is_file() {
                    File::open(at.join(&path)).ok()?;
                    list.newest = list.newest.max(changed(&meta).unwrap_or_default());
                    list.bytes = list.bytes.saturating_add(size(&meta));
                    list.files.push((path, meta));
                }
            }
        }
        list.is_movable = ties.is_movable;
        list.left_out = ties.left_out(at, made_in, dir)?;
        let stays = |path: &Path| !list.left_out.iter().any(|gone| path.starts_with(gone));
        list.dirs.retain(|(path, _)| stays(path));
        list.files.retain(|(path, _)| stays(path));
        list.links.retain(|(path, _)| stays(path));
        list.may_serve_elsewhere(at, made_in, ties.is_of_cargo).then_some(list)
    }

    fn may_serve_elsewhere(&self, at: &Path, made_in: TreeOrigin<'_>, is_of_cargo: bool) -> bool {
        let is_there = |to: &PathBuf| to.is_relative() || to.starts_with(made_in.path);
        let leads_elsewhere = self.links.iter().any(|(_, to)| !is_there(to));
        let is_tied = |(path, _): &(PathBuf, Metadata)| is_tied_file(&at.join(path), made_in.path);
        let is_exact = is_of_cargo || !made_in.is_persons;
        (self.is_movable || !leads_elsewhere) && (is_exact || !self.files.iter().any(is_tied))
    }

    /// Makes a copy of all of it, for use in a tree. A file that lies there already stays if nobody touched it since it was
    /// copied, by `known`. Gives the stamps of the files now.
    pub(super) fn copy(
        &self,
        from: &Path,
        to: &Path,
        trees: &TreeMove<'_>,
        known: &CopyStamps,
    ) -> io::Result<CopyStamps> {
        self.clear(to)?;
        for (link, leads_to) in &self.links {
            let below = leads_to.strip_prefix(trees.from).map(|below| trees.to.join(below));
            let leads_to = below.as_ref().unwrap_or(leads_to);
            if fs::read_link(to.join(link)).ok().as_ref() != Some(leads_to) {
                files::remove(&to.join(link))?;
                symlink(leads_to, to.join(link))?;
            }
        }
        let is_known = |path: &PathBuf| {
            known.get(path).is_some_and(|stamp| CopyStamp::of(&to.join(path)) == Some(*stamp))
        };
        let mut first_names = HashMap::new();
        let (mut first, mut second) = (Vec::new(), Vec::new());
        for (path, meta) in &self.files {
            let first_name = first_names.entry((meta.dev(), meta.ino())).or_insert(path);
            match meta.nlink() > 1 && *first_name != path {
                _ if is_known(path) => {}
                true => second.push((*first_name, path)),
                false => first.push((path, meta)),
            }
        }
        in_parallel(&first, |(path, meta)| {
            files::remove(&to.join(path))?;
            self.copy_file(&from.join(path), &to.join(path), meta, trees)
        })?;
        for (first_name, path) in second {
            files::remove(&to.join(path))?;
            fs::hard_link(to.join(first_name), to.join(path))?;
        }
        for (dir, meta) in self.dirs.iter().rev() {
            fs::set_permissions(to.join(dir), Permissions::from_mode(meta.mode() | 0o700))?;
            files::set_time(&to.join(dir), changed(meta))?;
        }
        let stamp = |path: &PathBuf| Some((path.clone(), CopyStamp::of(&to.join(path))?));
        let files = self.files.iter().map(|(path, _)| path);
        Ok(files.chain(self.links.iter().map(|(path, _)| path)).filter_map(stamp).collect())
    }

    /// Makes all directories, and removes what is not of this list.
    fn clear(&self, to: &Path) -> io::Result<()> {
        let dirs = self.dirs.iter().map(|(path, _)| path);
        let links = self.links.iter().map(|(path, _)| path);
        let own: HashSet<&PathBuf> =
            self.files.iter().map(|(path, _)| path).chain(dirs).chain(links).collect();
        for (dir, _) in &self.dirs {
            let at = to.join(dir);
            if files::plain_dir(&at).is_err() {
                files::remove(&at)?;
                fs::create_dir(&at)?;
                continue;
            }
            for entry in fs::read_dir(&at)? {
                let name = entry?.file_name();
                if !own.contains(&dir.join(&name)) {
                    files::remove(&at.join(&name))?;
                }
            }
        }
        Ok(())
    }

    fn copy_file(
        &self,
        from: &Path,
        to: &Path,
        meta: &Metadata,
        trees: &TreeMove<'_>,
    ) -> io::Result<()> {
        let is_moved = self.is_movable && meta.len() <= MOVED_BYTES_MAX;
        match is_moved.then(|| fs::read(from).map(|text| moved(&text, trees))).transpose()? {
            Some(Some(text)) => {
                fs::write(to, text)?;
                fs::set_permissions(to, meta.permissions())?;
            }
            _ => drop(fs::copy(from, to)?),
        }
        files::set_time(to, changed(meta))
    }
}

/// The bytes that a file takes, or that its copy would where the file has holes.
fn size(meta: &Metadata) -> u64 {
    meta.len().max(meta.blocks().saturating_mul(512))
}

/// The files and links of a copy, by paths relative to its directory.
pub(super) type CopyStamps = BTreeMap<PathBuf, CopyStamp>;

/// A file as it was when it had been copied. Whatever is done to it gives it another time of change, which no program can
/// set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct CopyStamp(u64, i64, i64);

impl CopyStamp {
    pub(super) fn of(path: &Path) -> Option<Self> {
        let meta = path.symlink_metadata().ok()?;
        Some(Self(meta.ino(), meta.ctime(), meta.ctime_nsec()))
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
        all.into_iter().map(|one| one.join().unwrap_or(Ok(()))).fold(mine, io::Result::and)
    })
}

/// The time that the file system gives to a file now.
pub(super) fn present(dir: &Path) -> Option<FileTime> {
    changed(&tempfile::tempfile_in(dir).ok()?.metadata().ok()?)
}

pub(super) fn are_on_one_disk(a: &Path, b: &Path) -> bool {
    let disk = |path: &Path| path.metadata().map(|meta| meta.dev()).ok();
    disk(a).is_some() && disk(a) == disk(b)
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
