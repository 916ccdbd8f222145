//! A disk that forgets: at a power cut only synced data is sure to be there; of the rest any part may be.
//!
//! The files are real ones, so that locks, leases and file handles are. A model beside them holds the data that would
//! survive. After a power cut the files are made anew from it. Invariant: an operation of a directory survives whole or
//! not at all, and no two unsynced ones depend on one another.
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::disk::{DirectoryCheck, Disk, FileId, OpenFile, RealDisk};
use crate::lease::FileLease;
use crate::swap::is_busy;
use std::{fs, io, time::Duration};

use crate::*;

/// How long a process that was just started may keep what it inherited.
const EXECVE_MS_MAX: u32 = 2_000;

/// Takes part in the calls: may fail them, and hears of their effects.
pub trait Fate: fmt::Debug + Send + Sync {
    /// Before each call: it may fail, or end everything.
    fn call(&self, name: &'static str) -> io::Result<()>;
    /// One of so many, at random.
    fn below(&self, most: usize) -> usize;
    fn now_ms(&self) -> u64;
    /// The name holds these bytes now.
    fn shown(&self, bytes: &[u8]);
    /// The bytes under the name are durable now.
    fn kept(&self);
    /// A person put a file there.
    fn saved(&self);
}

#[derive(Debug, Default)]
struct Content {
    live: Vec<u8>,
    /// Bytes written since it was opened.
    written: usize,
    synced: Option<Vec<u8>>,
    changed_ms: u64,
}

impl Content {
    fn write(&mut self, bytes: &[u8]) {
        let end = self.written + bytes.len();
        let over = self.written..end.min(self.live.len());
        self.live.splice(over, bytes.iter().copied());
        self.written = end;
    }
}

/// Names that change together, each with its new file.
type Change = Vec<(PathBuf, Option<u64>)>;

#[derive(Debug, Default)]
struct Drive {
    files: BTreeMap<u64, Content>,
    live: BTreeMap<PathBuf, u64>,
    synced: BTreeMap<PathBuf, u64>,
    unsynced: Vec<Change>,
    /// Numbers of files by the system's inode.
    inodes: BTreeMap<u64, u64>,
    made: u64,
}

/// Shared by all that is open on it.
#[derive(Debug, Clone)]
pub struct Lossy {
    drive: Arc<Mutex<Drive>>,
    real: Arc<RealDisk>,
    state: PathBuf,
    fate: Arc<dyn Fate>,
    /// Whether calls ask fate: a person's calls do not.
    is_fated: bool,
}

impl Lossy {
    pub fn new(place: &StatePlace, fate: Arc<dyn Fate>) -> Self {
        Self {
            drive: Arc::default(),
            real: Arc::new(RealDisk::in_dir(place.parent())),
            state: place.state.clone(),
            fate,
            is_fated: true,
        }
    }

    pub fn store(&self, place: StatePlace) -> Store {
        Store::new(place, Box::new(self.clone()))
    }

    /// The same disk, on which every call succeeds.
    pub fn calm(&self) -> Self {
        Self { is_fated: false, ..self.clone() }
    }

    /// A person's editor: writes beside it and renames, or writes into it. Its bytes are synced, its name is not.
    pub fn save(&self, bytes: &[u8], in_place: bool) {
        let now_ms = self.fate.now_ms();
        // An editor would wait for the lease; this one renames instead.
        let opened = in_place.then(|| opened(&self.state)).and_then(Result::ok);
        let in_place = opened.is_some();
        let id = if let Some(mut file) = opened {
            file.write_all(bytes).unwrap();
            self.drive().live[&self.state]
        } else {
            let beside = self.state.with_extension("json~");
            fs::write(&beside, bytes).unwrap();
            let inode = fs::metadata(&beside).unwrap().ino();
            fs::set_permissions(&beside, fs::Permissions::from_mode(0o600)).unwrap();
            fs::rename(&beside, &self.state).unwrap();
            self.drive().hold(inode)
        };
        // Saves differ by their times, which come from a sleep between them; there is none here.
        let at = std::time::UNIX_EPOCH + Duration::from_nanos(self.drive().tick());
        let file = fs::File::options().write(true).open(&self.state).unwrap();
        file.set_modified(at).unwrap();
        let mut drive = self.drive();
        let content = drive.files.get_mut(&id).unwrap();
        content.live = bytes.to_vec();
        content.synced = Some(bytes.to_vec());
        content.changed_ms = now_ms;
        if !in_place {
            drive.change(vec![(self.state.clone(), Some(id))]);
        }
        drop(drive);
        self.fate.saved();
    }

    /// The power is cut, and comes back.
    pub fn cut(&self) {
        let mut drive = self.drive();
        let drive = &mut *drive;
        let mut names = std::mem::take(&mut drive.synced);
        for change in std::mem::take(&mut drive.unsynced) {
            if self.fate.below(2) == 0 {
                apply(&mut names, change);
            }
        }
        let gone: BTreeSet<PathBuf> = drive.live.keys().cloned().collect();
        gone.iter().for_each(|path| drop(fs::remove_file(path)));
        drive.inodes.clear();
        for (path, id) in &names {
            let content = drive.files.get_mut(id).unwrap();
            content.live = self.left_of(content);
            content.synced = Some(content.live.clone());
            // Two names of one file become two files: nothing here makes such.
            fs::write(path, &content.live).unwrap();
            fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
            drive.inodes.insert(fs::metadata(path).unwrap().ino(), *id);
        }
        drive.live.clone_from(&names);
        drive.synced = names;
    }

    /// Unsynced bytes are there in part.
    fn left_of(&self, content: &Content) -> Vec<u8> {
        match &content.synced {
            Some(synced) if *synced == content.live => synced.clone(),
            synced => match self.fate.below(3) {
                0 => content.live.clone(),
                1 => synced.clone().unwrap_or_default(),
                _ => {
                    let reached = self.fate.below(content.live.len() + 1);
                    let mut left = content.live[..reached].to_vec();
                    let before = synced.as_deref().and_then(|synced| synced.get(reached..));
                    // A file that was written over may be new in its first part alone.
                    left.extend(before.filter(|_| self.fate.below(2) == 0).unwrap_or_default());
                    left
                }
            },
        }
    }

    fn drive(&self) -> MutexGuard<'_, Drive> {
        self.drive.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn call(&self, name: &'static str) -> io::Result<()> {
        if self.is_fated { self.fate.call(name) } else { Ok(()) }
    }

    /// Nobody here keeps a file open for writing. A process that another test starts does so until its `execve`, and a
    /// story would depend on it.
    fn undisturbed_lease<'f>(&self, opened: &'f OpenFile) -> io::Result<FileLease<'f>> {
        let mut lease = self.real.lease(opened);
        for _ in 0..EXECVE_MS_MAX {
            if !lease.as_ref().is_err_and(is_busy) {
                break;
            }
            std::thread::sleep(Duration::from_millis(1));
            lease = self.real.lease(opened);
        }
        lease
    }

    fn changed(&self, change: Change) {
        let is_state = change.iter().any(|(path, _)| *path == self.state);
        let mut drive = self.drive();
        let now_ms = self.fate.now_ms();
        for id in change.iter().filter_map(|(_, id)| *id) {
            if let Some(content) = drive.files.get_mut(&id) {
                content.changed_ms = now_ms;
            }
        }
        drive.change(change);
        let bytes = drive.bytes_at(&self.state);
        drop(drive);
        if let (true, Some(bytes)) = (is_state, bytes) {
            self.fate.shown(&bytes);
        }
    }
}

fn opened(path: &Path) -> io::Result<fs::File> {
    let flags = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap();
    let mut options = fs::File::options();
    options.write(true).truncate(true).custom_flags(flags).open(path)
}

fn apply(names: &mut BTreeMap<PathBuf, u64>, change: Change) {
    for (path, id) in change {
        match id {
            Some(id) => names.insert(path, id),
            None => names.remove(&path),
        };
    }
}

impl Drive {
    fn hold(&mut self, inode: u64) -> u64 {
        self.made += 1;
        self.files.insert(self.made, Content::default());
        self.inodes.insert(inode, self.made);
        self.made
    }

    fn tick(&mut self) -> u64 {
        self.made += 1;
        self.made
    }

    fn change(&mut self, change: Change) {
        apply(&mut self.live, change.clone());
        self.unsynced.push(change);
    }

    fn of(&mut self, file: &fs::File) -> &mut Content {
        let inode = file.metadata().unwrap().ino();
        let id = self.inodes[&inode];
        self.files.get_mut(&id).unwrap()
    }

    fn id(&self, path: &Path) -> io::Result<u64> {
        self.live.get(path).copied().ok_or(io::ErrorKind::NotFound.into())
    }

    fn bytes_at(&self, path: &Path) -> Option<Vec<u8>> {
        Some(self.files[self.live.get(path)?].live.clone())
    }

    fn sync(&mut self, dir: &Path) {
        let (here, elsewhere) = std::mem::take(&mut self.unsynced)
            .into_iter()
            .partition(|change: &Change| change.iter().any(|(path, _)| path.parent() == Some(dir)));
        self.unsynced = elsewhere;
        for change in here {
            apply(&mut self.synced, change);
        }
        let named: BTreeSet<u64> =
            self.live.values().chain(self.synced.values()).copied().collect();
        let is_open = self.unsynced.is_empty();
        self.files.retain(|id, _| !is_open || named.contains(id));
    }
}

impl Disk for Lossy {
    fn check_directory(&self) -> io::Result<DirectoryCheck> {
        self.call("ground")?;
        self.real.check_directory()
    }

    fn open(&self, path: &Path) -> io::Result<OpenFile> {
        self.call("open")?;
        self.real.open(path)
    }

    fn read(&self, opened: &OpenFile, bytes_max: u64) -> io::Result<Vec<u8>> {
        self.call("read")?;
        self.real.read(opened, bytes_max)
    }

    fn holds(&self, opened: &OpenFile, bytes: &[u8]) -> io::Result<bool> {
        self.call("read")?;
        self.real.holds(opened, bytes)
    }

    fn digest(&self, opened: &OpenFile) -> io::Result<u64> {
        self.call("read")?;
        self.real.digest(opened)
    }

    fn lease<'f>(&self, opened: &'f OpenFile) -> io::Result<FileLease<'f>> {
        self.call("lease")?;
        self.undisturbed_lease(opened)
    }

    fn identify(&self, path: &Path) -> io::Result<FileId> {
        self.call("identify")?;
        self.real.identify(path)
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.call("link")?;
        let id = self.drive().id(from)?;
        self.real.link(from, to)?;
        self.changed(vec![(to.to_owned(), Some(id))]);
        Ok(())
    }

    fn create(&self, path: &Path, mode: u32) -> io::Result<fs::File> {
        self.call("create")?;
        let file = self.real.create(path, mode)?;
        let id = self.drive().hold(file.metadata()?.ino());
        self.changed(vec![(path.to_owned(), Some(id))]);
        Ok(file)
    }

    /// Half of it is written before the failure.
    fn write(&self, file: &fs::File, bytes: &[u8]) -> io::Result<()> {
        let called = self.call("write");
        let part = if called.is_ok() { bytes } else { &bytes[..bytes.len() / 2] };
        self.real.write(file, part)?;
        self.drive().of(file).write(part);
        called
    }

    fn fsync(&self, file: &fs::File) -> io::Result<()> {
        self.call("fsync")?;
        let mut drive = self.drive();
        let content = drive.of(file);
        content.synced = Some(content.live.clone());
        Ok(())
    }

    fn fsync_dir(&self, dir: &Path) -> io::Result<()> {
        self.call("fsync_dir")?;
        self.drive().sync(dir);
        if self.state.parent() == Some(dir) {
            self.fate.kept();
        }
        self.call("after fsync_dir")
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.call("rename")?;
        let id = self.drive().id(from)?;
        self.real.rename(from, to)?;
        self.changed(vec![(from.to_owned(), None), (to.to_owned(), Some(id))]);
        Ok(())
    }

    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.call("rename_new")?;
        let id = self.drive().id(from)?;
        self.real.rename_new(from, to)?;
        self.changed(vec![(from.to_owned(), None), (to.to_owned(), Some(id))]);
        Ok(())
    }

    fn exchange(&self, one: &Path, other: &Path) -> io::Result<()> {
        self.call("exchange")?;
        let drive = self.drive();
        let (first, second) = (drive.id(one)?, drive.id(other)?);
        drop(drive);
        self.real.exchange(one, other)?;
        self.changed(vec![(one.to_owned(), Some(second)), (other.to_owned(), Some(first))]);
        Ok(())
    }

    fn unlink(&self, path: &Path) -> io::Result<()> {
        self.call("unlink")?;
        self.real.unlink(path)?;
        self.changed(vec![(path.to_owned(), None)]);
        Ok(())
    }

    /// Lists in one fixed order.
    fn list(&self, dir: &Path, prefix: &str) -> io::Result<Vec<PathBuf>> {
        self.call("list")?;
        let mut found = self.real.list(dir, prefix)?;
        found.sort();
        Ok(found)
    }

    fn changed_ms(&self, path: &Path) -> io::Result<u64> {
        self.call("changed_ms")?;
        let drive = self.drive();
        Ok(drive.files[&drive.id(path)?].changed_ms)
    }
}
