//! Power cuts: the real store over a disk that remembers which data is durable.
//!
//! Before every call, and at the end, each image that a power cut could leave is made in a directory of its own and
//! read by a new store. Any subset of the unsynced name changes is tried, with unsynced bytes there, torn or not at
//! all. The image in which all survived is that of a kill. In each image a reader finds a whole state, and nothing that
//! was reported is missing. Every save of a person is taken in by the next commits.

mod scenes;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::io::{Seek, Write};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard};

use super::super::disk::{DirectoryCheck, Disk, FileId, OpenFile, RealDisk};
use super::super::lease::FileLease;
use super::lines::{merged, notes, with_line};
use super::*;
use crate::testing::faulty::Faulty;

type File = u64;
type Names = BTreeMap<PathBuf, File>;
/// The content of the directory after a cut: the bytes under each name.
type Image = BTreeMap<PathBuf, Vec<u8>>;
type Person = Box<dyn Fn(&Power, &'static str, usize) + Send + Sync>;

#[derive(Debug, Clone)]
enum Change {
    Name(PathBuf, File),
    Move(PathBuf, PathBuf, File),
    Exchange((PathBuf, File), (PathBuf, File)),
    Remove(PathBuf),
}

#[derive(Debug, Default, Clone)]
struct Bytes {
    durable: Vec<u8>,
    live: Vec<u8>,
}

#[derive(Debug, Default)]
struct Model {
    /// The inode of the real file under each number; numbers are not reused.
    numbers: HashMap<u64, File>,
    files: BTreeMap<File, Bytes>,
    live: Names,
    durable: Names,
    /// Changes not synced yet; `true` if a person's editor synced the change.
    pending: Vec<(Change, bool)>,
    calls: Vec<&'static str>,
    seen: HashSet<Image>,
    images: usize,
    /// All bytes that were ever meant for the name.
    written: Vec<Vec<u8>>,
    /// Lines that a person saved.
    saved: BTreeSet<String>,
    /// As reported to the caller.
    serial: u64,
    iteration: u64,
    /// Bytes that must be somewhere.
    kept: Vec<Vec<u8>>,
}

struct Power {
    real: RealDisk,
    model: Mutex<Model>,
    state: PathBuf,
    person: Option<Person>,
    lacks: &'static [&'static str],
}

impl std::fmt::Debug for Power {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Power").finish_non_exhaustive()
    }
}

fn change(names: &mut Names, change: &Change) {
    match change {
        Change::Name(name, file) => drop(names.insert(name.clone(), *file)),
        Change::Move(from, to, file) => {
            names.remove(from);
            names.insert(to.clone(), *file);
        }
        Change::Exchange((one, of_one), (other, of_other)) => {
            names.insert(one.clone(), *of_one);
            names.insert(other.clone(), *of_other);
        }
        Change::Remove(name) => drop(names.remove(name)),
    }
}

impl Power {
    fn model(&self) -> MutexGuard<'_, Model> {
        self.model.lock().unwrap()
    }

    fn begin(&self, call: &'static str) -> io::Result<()> {
        let same = {
            let mut model = self.model();
            model.calls.push(call);
            model.calls.iter().filter(|other| **other == call).count() - 1
        };
        if let Some(person) = &self.person {
            person(self, call, same);
        }
        self.cut();
        if self.lacks.contains(&call) { Err(io::ErrorKind::Unsupported.into()) } else { Ok(()) }
    }

    fn number(&self, ino: u64) -> File {
        self.model().numbers[&ino]
    }

    fn of(&self, file: &fs::File) -> File {
        use std::os::unix::fs::MetadataExt;
        self.number(file.metadata().unwrap().ino())
    }

    /// Adds a file under a name, with its content.
    fn add(&self, path: &Path, bytes: Bytes, synced: bool) {
        use std::os::unix::fs::MetadataExt;
        let ino = fs::symlink_metadata(path).unwrap().ino();
        let mut model = self.model();
        let file = model.files.len() as File;
        model.numbers.insert(ino, file);
        model.files.insert(file, bytes);
        drop(model);
        self.note(Change::Name(path.to_owned(), file), synced);
    }

    fn note(&self, done: Change, synced: bool) {
        let mut model = self.model();
        change(&mut model.live, &done);
        model.pending.push((done, synced));
    }

    fn at(&self, path: &Path) -> File {
        self.model().live[path]
    }

    /// Tries every image that a cut at this instant could leave.
    fn cut(&self) {
        let model = self.model();
        let free = model.pending.iter().filter(|(_, synced)| !synced).count();
        assert!(free <= 12, "too many unsynced changes: {:?}", model.pending);
        let mut images = Vec::new();
        for subset in 0_u32..1 << free {
            let (mut names, mut bit) = (model.durable.clone(), 0);
            for (done, synced) in &model.pending {
                let survives = *synced || subset >> bit & 1 == 1;
                bit += u32::from(!synced);
                if survives {
                    change(&mut names, done);
                }
            }
            images.extend(contents(&names, &model.files));
        }
        drop(model);
        for image in images {
            if self.model().seen.insert(image.clone()) {
                self.model().images += 1;
                self.judge(&image);
            }
        }
    }

    fn judge(&self, image: &Image) {
        let model = self.model();
        let at = model.calls.last().copied().unwrap_or("end");
        let story = || {
            let names: Vec<String> = image
                .iter()
                .map(|(name, bytes)| format!("{} ({} bytes)", name.display(), bytes.len()))
                .collect();
            format!("before `{at}` of {:?}: {names:?}", model.calls)
        };
        for kept in &model.kept {
            assert!(image.values().any(|bytes| bytes == kept), "{}", story());
        }
        let Some(bytes) = image.get(&self.state) else {
            assert_eq!(model.serial, 0, "no state {}", story());
            return;
        };
        assert!(model.written.contains(bytes), "not whole {}", story());
        let world = World::empty();
        let place = StatePlace::find(world.path(), None).unwrap();
        let dir = self.state.parent().unwrap();
        for (name, bytes) in image {
            let path = place.parent().join(name.strip_prefix(dir).unwrap());
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        }
        let recovered = recover(&world);
        assert!(
            recovered.iteration >= model.iteration,
            "iteration {} of {} {}",
            recovered.iteration,
            model.iteration,
            story()
        );
        let serials = model.serial..=model.serial + 1;
        assert!(
            model.serial == 0 || recovered.sealed.is_none_or(|serial| serials.contains(&serial)),
            "{:?} {}",
            recovered.sealed,
            story()
        );
        let lost: Vec<&String> = model.saved.difference(&recovered.lines).collect();
        assert!(lost.is_empty(), "{lost:?} lost {}", story());
    }
}

/// The bytes under the names, for each way in which unsynced data can have reached the disk.
fn contents(names: &Names, files: &BTreeMap<File, Bytes>) -> Vec<Image> {
    let mut images = vec![Image::new()];
    for (name, file) in names {
        let Bytes { durable, live } = &files[file];
        let mut ways = vec![live.clone()];
        if durable != live {
            let mut zeros = live.clone();
            let half = live.len() / 2;
            zeros[half..].fill(0);
            ways.extend([durable.clone(), live[..half].to_vec(), zeros]);
        }
        let with = |image: &Image, way: &Vec<u8>| {
            let mut image = image.clone();
            image.insert(name.clone(), way.clone());
            image
        };
        let all = images.iter().flat_map(|image| ways.iter().map(move |way| with(image, way)));
        images = all.collect();
    }
    images
}

struct Recovered {
    /// The serial of the state under the name, if a commit wrote it.
    sealed: Option<u64>,
    iteration: u64,
    lines: BTreeSet<String>,
}

/// A recovery by the next program: it reads, takes in edits, and looks at the files beside.
fn recover(world: &World) -> Recovered {
    let mut store = world.store_on(Faulty::default());
    let first = store.read().unwrap();
    let newest = store.newest();
    let newest = newest.as_ref().map_or(0, |state| state.run.iteration);
    let iteration = if first.is_foreign { newest } else { 0 };
    let mut recovered = Recovered {
        sealed: (!first.is_foreign).then_some(first.state.serial.0),
        iteration: iteration.max(first.state.run.iteration),
        lines: notes(&first.state),
    };
    for _ in 0..3 {
        let done = store.commit(|now| {
            let (mut next, all) = merged(&recovered.lines, now);
            recovered.lines = all;
            next.state.serial = Serial(now.state.serial.0 + 100);
            Ok::<_, Infallible>(Some(next))
        });
        done.unwrap();
        store.tend(later()).unwrap();
    }
    for path in store.rescued() {
        let state = load(&path, fs::read(&path).unwrap());
        recovered.lines.extend(state.map(|loaded| notes(&loaded.state)).unwrap_or_default());
    }
    recovered
}

#[derive(Debug)]
struct Seam(Arc<Power>);

impl Disk for Seam {
    fn check_directory(&self) -> io::Result<DirectoryCheck> {
        self.0.real.check_directory()
    }

    fn open(&self, path: &Path) -> io::Result<OpenFile> {
        self.0.begin("open")?;
        self.0.real.open(path)
    }

    fn read(&self, opened: &OpenFile, bytes_max: u64) -> io::Result<Vec<u8>> {
        self.0.real.read(opened, bytes_max)
    }

    fn holds(&self, opened: &OpenFile, bytes: &[u8]) -> io::Result<bool> {
        self.0.real.holds(opened, bytes)
    }

    fn digest(&self, opened: &OpenFile) -> io::Result<u64> {
        self.0.real.digest(opened)
    }

    fn lease<'f>(&self, opened: &'f OpenFile) -> io::Result<FileLease<'f>> {
        self.0.begin("lease")?;
        self.0.real.lease(opened)
    }

    fn identify(&self, path: &Path) -> io::Result<FileId> {
        self.0.real.identify(path)
    }

    fn create(&self, path: &Path, mode: u32) -> io::Result<fs::File> {
        self.0.begin("create")?;
        let file = self.0.real.create(path, mode)?;
        self.0.add(path, Bytes::default(), false);
        Ok(file)
    }

    fn write(&self, file: &fs::File, bytes: &[u8]) -> io::Result<()> {
        self.0.begin("write")?;
        self.0.real.write(file, bytes)?;
        let number = self.0.of(file);
        let mut model = self.0.model();
        let live = &mut model.files.get_mut(&number).unwrap().live;
        let over = bytes.len().min(live.len());
        live.splice(..over, bytes.iter().copied());
        model.written.push(bytes.to_vec());
        Ok(())
    }

    fn fsync(&self, file: &fs::File) -> io::Result<()> {
        self.0.begin("fsync")?;
        let number = self.0.of(file);
        let mut model = self.0.model();
        let bytes = model.files.get_mut(&number).unwrap();
        bytes.durable = bytes.live.clone();
        Ok(())
    }

    fn fsync_dir(&self, dir: &Path) -> io::Result<()> {
        self.0.begin("fsync_dir")?;
        let mut model = self.0.model();
        let (of_dir, others): (Vec<_>, Vec<_>) = std::mem::take(&mut model.pending)
            .into_iter()
            .partition(|(done, _)| directory_of(done) == dir);
        of_dir.iter().for_each(|(done, _)| change(&mut model.durable, done));
        model.pending = others;
        Ok(())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.0.begin("rename")?;
        self.0.real.rename(from, to)?;
        let file = self.0.at(from);
        self.0.note(Change::Move(from.to_owned(), to.to_owned(), file), false);
        Ok(())
    }

    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.0.begin("rename_new")?;
        self.0.real.rename_new(from, to)?;
        let file = self.0.at(from);
        self.0.note(Change::Move(from.to_owned(), to.to_owned(), file), false);
        Ok(())
    }

    fn exchange(&self, one: &Path, other: &Path) -> io::Result<()> {
        self.0.begin("exchange")?;
        self.0.real.exchange(one, other)?;
        let (of_one, of_other) = (self.0.at(one), self.0.at(other));
        let swapped = Change::Exchange((one.to_owned(), of_other), (other.to_owned(), of_one));
        self.0.note(swapped, false);
        Ok(())
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.0.begin("link")?;
        self.0.real.link(from, to)?;
        self.0.note(Change::Name(to.to_owned(), self.0.at(from)), false);
        Ok(())
    }

    fn unlink(&self, path: &Path) -> io::Result<()> {
        self.0.begin("unlink")?;
        self.0.real.unlink(path)?;
        self.0.note(Change::Remove(path.to_owned()), false);
        Ok(())
    }

    fn list(&self, dir: &Path, prefix: &str) -> io::Result<Vec<PathBuf>> {
        self.0.begin("list")?;
        self.0.real.list(dir, prefix)
    }

    fn changed_ms(&self, path: &Path) -> io::Result<u64> {
        self.0.real.changed_ms(path)
    }
}

fn directory_of(done: &Change) -> &Path {
    let (Change::Name(name, _)
    | Change::Move(name, ..)
    | Change::Exchange((name, _), _)
    | Change::Remove(name)) = done;
    name.parent().unwrap()
}
