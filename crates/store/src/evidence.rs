//! The evidence store: the whole output of failed attempts and checks, in side files named by their
//! digest.
//!
//! Invariant: nothing depends on a side file. It gets its name only when it is complete, and before
//! a state names it. It is not synced, because only evidence would be lost. The store takes 64 MiB
//! at most: files that the present state does not name go first, then the oldest. Not here: what is
//! kept (`verify`, `agent`), what names it (the core).

#[cfg(test)]
mod tests;

use std::{
    collections::BTreeSet,
    fmt,
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
    time::SystemTime,
};

use descent_core::{
    id::Digest,
    state::{SideFile, State, side},
};
use serde_json::{Map, Value};

use rustix::fs::{Timespec, Timestamps, UTIME_NOW};

use crate::StatePlace;
use descent_system::{files, space};

/// Warns a person, from any thread.
pub type Warn = Box<dyn Fn(&str) + Send + Sync>;

/// How much the store may hold.
#[derive(Debug, Clone, Copy)]
struct SizeLimit {
    bytes: u64,
    files: usize,
}

const MOST: SizeLimit = SizeLimit { bytes: 64 * 1024 * 1024, files: 4_096 };
/// The space that the disk must have left: the last of it is reserved for the state.
const SPARE_BYTES: u64 = 16 * 1024 * 1024;
const NOW: Timespec = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
/// Times by the clock of the file system.
const TOUCHED: Timestamps = Timestamps { last_access: NOW, last_modification: NOW };

/// The evidence store of one state, for the loop that holds its lease: nobody else writes here.
pub struct EvidenceStore {
    dir: PathBuf,
    tell: Warn,
    most: SizeLimit,
    spare_bytes: u64,
    /// Whether it was told that nothing can be kept; held by whoever writes.
    has_told: Mutex<bool>,
}

/// A store, and the state whose evidence goes last if something must go.
#[derive(Debug, Clone, Copy)]
pub struct EvidenceKeeper<'a> {
    pub store: &'a EvidenceStore,
    pub state: &'a State,
}

impl EvidenceKeeper<'_> {
    /// See [`EvidenceStore::keep`].
    pub fn keep(&self, bytes: &[u8]) -> Option<SideFile> {
        self.store.keep(bytes, || self.state.side_files())
    }
}

struct StoredFile {
    path: PathBuf,
    digest: Digest,
    changed: SystemTime,
    bytes: u64,
}

impl fmt::Debug for EvidenceStore {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.debug_struct("Shelf").field("dir", &self.dir).finish_non_exhaustive()
    }
}

impl EvidenceStore {
    pub fn of(place: &StatePlace, tell: Warn) -> Self {
        Self {
            dir: place.evidence(),
            tell,
            most: MOST,
            spare_bytes: SPARE_BYTES,
            has_told: Mutex::default(),
        }
    }

    /// Keeps these bytes; `None` if that is not possible, which is reported once. `named` is called
    /// if something has to go.
    pub fn keep(&self, bytes: &[u8], named: impl FnOnce() -> BTreeSet<Digest>) -> Option<SideFile> {
        let one = SideFile::of(bytes);
        let mut has_told = self.lock();
        match self.put(&one, bytes) {
            Ok(()) => {
                self.make_room(|| named().into_iter().chain([one.digest.clone()]).collect());
                Some(one)
            }
            Err(error) => {
                if !std::mem::replace(&mut *has_told, true) {
                    (self.tell)(&format!(
                        "long outputs cannot be kept in {} ({error}): going on with their excerpts alone",
                        self.dir.display()
                    ));
                }
                None
            }
        }
    }

    /// Removes the remains of interrupted writes, and whatever exceeds the limit.
    pub fn tidy(&self, named: &BTreeSet<Digest>) {
        let _held = self.lock();
        let is_half = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default();
            name.to_string_lossy().starts_with(files::HALF)
        };
        for half in files::entries(&self.dir).into_iter().filter(is_half) {
            let _ = files::remove_file(&half);
        }
        self.make_room(|| named.clone());
    }

    fn lock(&self) -> MutexGuard<'_, bool> {
        self.has_told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, one: &SideFile, bytes: &[u8]) -> io::Result<()> {
        // This does not make the directory of the state: if that is gone, a new one would keep the
        // old one from being put back.
        files::make_dir(&self.dir)?;
        let path = path_in(&self.dir, &one.digest).ok_or(io::ErrorKind::InvalidInput)?;
        if is_whole(&path, one) {
            // It counts as new from now on, since the oldest go first.
            let found = files::plain_file(&path).and_then(|()| files::open(&path));
            let _ = found.map(|file| rustix::fs::futimens(&file, &TOUCHED));
            return Ok(());
        }
        let free = space::free_space(&self.dir).map_or(u64::MAX, |space| space.free_bytes);
        if free.saturating_sub(one.bytes) < self.spare_bytes {
            return Err(io::ErrorKind::StorageFull.into());
        }
        files::write_whole(&path, bytes)
    }

    fn make_room(&self, named: impl FnOnce() -> BTreeSet<Digest>) {
        let mut all = lying(&self.dir);
        let mut held = SizeLimit { bytes: all.iter().map(|one| one.bytes).sum(), files: all.len() };
        let is_within =
            |held: SizeLimit| held.bytes <= self.most.bytes && held.files <= self.most.files;
        if is_within(held) {
            return;
        }
        let named = named();
        all.sort_by_cached_key(|one| (named.contains(&one.digest), one.changed, one.path.clone()));
        for one in all {
            if is_within(held) {
                return;
            }
            // The next call tries again what cannot be removed now.
            if files::remove_file(&one.path).is_ok() {
                held.bytes -= one.bytes;
                held.files -= 1;
            }
        }
    }
}

/// The path of a side file of that state, if it is there and complete.
pub fn find(place: &StatePlace, one: &SideFile) -> Option<PathBuf> {
    let path = path_in(&place.evidence(), &one.digest)?;
    is_whole(&path, one).then_some(path)
}

/// Adds to every reference in a JSON value where its file is, or that it is gone.
pub fn locate(place: &StatePlace, value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| locate(place, item)),
        Value::Object(members) => {
            if let Some(Value::Object(whole)) = members.get_mut(side::KEY)
                && let Some(one) = reference(whole)
            {
                let path = find(place, &one).map(|path| path.display().to_string());
                whole.insert("path".to_owned(), path.into());
            }
            members.values_mut().for_each(|member| locate(place, member));
        }
        _ => {}
    }
}

fn reference(whole: &Map<String, Value>) -> Option<SideFile> {
    let digest = whole.get("digest")?.as_str()?;
    side::hex_of(digest)?;
    Some(SideFile { digest: Digest::new(digest), bytes: whole.get("bytes")?.as_u64()? })
}

fn path_in(dir: &Path, digest: &Digest) -> Option<PathBuf> {
    side::hex_of(digest.as_str()).map(|hex| dir.join(hex))
}

/// Whether the file has exactly these bytes.
fn is_whole(path: &Path, one: &SideFile) -> bool {
    let has_its_size = |file: &File| file.metadata().is_ok_and(|meta| meta.len() == one.bytes);
    files::open(path).is_ok_and(|file| has_its_size(&file))
        && files::read(path, one.bytes).is_ok_and(|bytes| Digest::sha256(&bytes) == one.digest)
}

/// Our own files; anything else here is a person's.
fn lying(dir: &Path) -> Vec<StoredFile> {
    let lying = files::entries(dir).into_iter().filter_map(|path| {
        let digest = format!("sha256:{}", path.file_name()?.to_str()?);
        side::hex_of(&digest)?;
        let meta = path.symlink_metadata().ok().filter(fs::Metadata::is_file)?;
        let (changed, bytes) = (meta.modified().ok()?, meta.len());
        Some(StoredFile { path, digest: Digest::new(digest), changed, bytes })
    });
    lying.collect()
}
