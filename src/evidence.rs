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
    state::{SideFile, State, named_files, side},
};
use serde_json::{Map, Value};

use rustix::fs::{Timespec, Timestamps, UTIME_NOW};

use crate::{files, space, store::StatePlace};

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
    known: Mutex<EvidenceUsage>,
}

/// A store, and the state whose evidence goes last if something must go.
#[derive(Debug, Clone, Copy)]
pub struct EvidenceKeeper<'a> {
    pub store: &'a EvidenceStore,
    pub state: &'a State,
}

impl EvidenceKeeper<'_> {
    /// See [`EvidenceStore::keep`].
    #[must_use]
    pub fn keep(&self, bytes: &[u8]) -> Option<SideFile> {
        self.store.keep(bytes, || named_files::named_by(self.state))
    }
}

#[derive(Debug, Default)]
struct EvidenceUsage {
    /// The size of the content, once it was measured.
    held: Option<SizeLimit>,
    has_told: bool,
}

struct StoredFile {
    path: PathBuf,
    is_named: bool,
    changed: SystemTime,
    bytes: u64,
}

impl fmt::Debug for EvidenceStore {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.debug_struct("Shelf").field("dir", &self.dir).finish_non_exhaustive()
    }
}

impl EvidenceStore {
    #[must_use]
    pub fn of(place: &StatePlace, tell: Warn) -> Self {
        Self {
            dir: place.evidence(),
            tell,
            most: MOST,
            spare_bytes: SPARE_BYTES,
            known: Mutex::default(),
        }
    }

    /// Keeps these bytes; `None` if that is not possible, which is reported once. `named` is called
    /// if something has to go.
    pub fn keep(&self, bytes: &[u8], named: impl FnOnce() -> BTreeSet<Digest>) -> Option<SideFile> {
        let one = SideFile::of(bytes);
        let mut known = self.lock();
        match self.put(&one, bytes) {
            Ok(is_new) => {
                let more = SizeLimit {
                    bytes: if is_new { one.bytes } else { 0 },
                    files: usize::from(is_new),
                };
                self.grow(&mut known, more, named, &one.digest);
                Some(one)
            }
            Err(error) => {
                if !std::mem::replace(&mut known.has_told, true) {
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
        let mut known = self.lock();
        remove_halves(&self.dir);
        known.held = Some(self.make_room(named));
    }

    fn lock(&self) -> MutexGuard<'_, EvidenceUsage> {
        // Every change is one assignment, so a panic leaves nothing half done.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns whether it is new.
    fn put(&self, one: &SideFile, bytes: &[u8]) -> io::Result<bool> {
        // This does not make the directory of the state: if that is gone, a new one would keep the
        // old one from being put back.
        files::make_dir(&self.dir)?;
        let path = path_in(&self.dir, &one.digest).ok_or(io::ErrorKind::InvalidInput)?;
        if is_whole(&path, one) {
            // It counts as new from now on, since the oldest go first.
            let found = files::plain_file(&path).and_then(|()| files::open(&path));
            let _ = found.map(|file| rustix::fs::futimens(&file, &TOUCHED));
            return Ok(false);
        }
        let free = space::free_space(&self.dir).map_or(u64::MAX, |space| space.free_bytes);
        if free.saturating_sub(one.bytes) < self.spare_bytes {
            return Err(io::ErrorKind::StorageFull.into());
        }
        files::write_whole(&path, bytes)?;
        Ok(true)
    }

    fn grow(
        &self,
        known: &mut EvidenceUsage,
        more: SizeLimit,
        named: impl FnOnce() -> BTreeSet<Digest>,
        newest: &Digest,
    ) {
        let held = known.held.map(|held| SizeLimit {
            bytes: held.bytes + more.bytes,
            files: held.files + more.files,
        });
        // The first time the whole directory is measured.
        let held = held.unwrap_or_else(|| measure(&lying(&self.dir, &BTreeSet::new())));
        known.held = Some(if is_within(held, self.most) {
            held
        } else {
            let mut named = named();
            named.insert(newest.clone());
            self.make_room(&named)
        });
    }

    /// If there is too much, a quarter more than necessary goes, so that this is rare.
    fn make_room(&self, named: &BTreeSet<Digest>) -> SizeLimit {
        let mut all = lying(&self.dir, named);
        let mut held = measure(&all);
        if is_within(held, self.most) {
            return held;
        }
        let wanted = SizeLimit { bytes: self.most.bytes * 3 / 4, files: self.most.files * 3 / 4 };
        all.sort_by(|a, b| (a.is_named, a.changed, &a.path).cmp(&(b.is_named, b.changed, &b.path)));
        for one in all {
            if is_within(held, wanted) {
                break;
            }
            // The next call tries again what cannot be removed now.
            if files::remove_file(&one.path).is_ok() {
                held.bytes -= one.bytes;
                held.files -= 1;
            }
        }
        held
    }
}

/// The path of a side file of that state, if it is there and complete.
#[must_use]
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
fn lying(dir: &Path, named: &BTreeSet<Digest>) -> Vec<StoredFile> {
    let lying = files::entries(dir).into_iter().filter_map(|path| {
        let digest = format!("sha256:{}", path.file_name()?.to_str()?);
        side::hex_of(&digest)?;
        let meta = path.symlink_metadata().ok().filter(fs::Metadata::is_file)?;
        Some(StoredFile {
            path,
            is_named: named.contains(&Digest::new(digest)),
            changed: meta.modified().ok()?,
            bytes: meta.len(),
        })
    });
    lying.collect()
}

fn measure(all: &[StoredFile]) -> SizeLimit {
    SizeLimit { bytes: all.iter().map(|one| one.bytes).sum(), files: all.len() }
}

fn is_within(held: SizeLimit, most: SizeLimit) -> bool {
    held.bytes <= most.bytes && held.files <= most.files
}

fn remove_halves(dir: &Path) {
    let is_half = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default();
        name.to_string_lossy().starts_with(files::HALF)
    };
    for half in files::entries(dir).into_iter().filter(is_half) {
        let _ = files::remove_file(&half);
    }
}
