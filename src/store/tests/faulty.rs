//! A disk that fails at chosen calls, counts them, and lets a person act between two of them.

use std::path::{Path, PathBuf};
use std::sync::Mutex;

use super::super::disk::{Disk, Found, RealDisk};
use super::*;

/// Sees each call before it happens: its name, and how many of that name came before.
type Person = Box<dyn Fn(&'static str, usize) + Send + Sync>;

#[derive(Default)]
pub struct Faulty {
    calls: Arc<Mutex<Vec<&'static str>>>,
    /// The first call that fails, from 0; whether all later ones do; with which error.
    plan: Option<(usize, bool, i32)>,
    person: Option<Person>,
}

impl std::fmt::Debug for Faulty {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Faulty")
            .field("plan", &self.plan)
            .finish_non_exhaustive()
    }
}

impl Faulty {
    /// From call `at` on, or at it alone.
    pub fn failing(at: usize, for_good: bool, errno: i32) -> Self {
        let plan = Some((at, for_good, errno));
        Self {
            plan,
            ..Self::default()
        }
    }

    /// A store on this disk.
    pub fn store(self, place: Place) -> Store {
        Store::on(place, Box::new(self))
    }

    pub(super) fn with(person: impl Fn(&'static str, usize) + Send + Sync + 'static) -> Self {
        let person: Option<Person> = Some(Box::new(person));
        Self {
            person,
            ..Self::default()
        }
    }

    /// The names of all calls so far.
    pub fn calls(&self) -> Arc<Mutex<Vec<&'static str>>> {
        Arc::clone(&self.calls)
    }

    fn call(&self, name: &'static str) -> io::Result<()> {
        let mut calls = self.calls.lock().unwrap();
        let (n, same) = (
            calls.len(),
            calls.iter().filter(|call| **call == name).count(),
        );
        calls.push(name);
        drop(calls);
        if let Some(person) = &self.person {
            person(name, same);
        }
        match self.plan {
            Some((at, for_good, errno)) if n == at || (for_good && n > at) => {
                Err(io::Error::from_raw_os_error(errno))
            }
            _ => Ok(()),
        }
    }
}

impl Disk for Faulty {
    fn read(&self, path: &Path, bytes_max: u64) -> io::Result<Found> {
        self.call("read")?;
        RealDisk.read(path, bytes_max)
    }

    fn create(&self, path: &Path, mode: u32) -> io::Result<fs::File> {
        self.call("create")?;
        RealDisk.create(path, mode)
    }

    /// Half of it is there when it fails.
    fn write(&self, file: &fs::File, bytes: &[u8]) -> io::Result<()> {
        if let Err(error) = self.call("write") {
            RealDisk.write(file, &bytes[..bytes.len() / 2])?;
            return Err(error);
        }
        RealDisk.write(file, bytes)
    }

    fn fsync(&self, file: &fs::File) -> io::Result<()> {
        self.call("fsync")?;
        RealDisk.fsync(file)
    }

    fn fsync_dir(&self, dir: &Path) -> io::Result<()> {
        self.call("fsync_dir")?;
        RealDisk.fsync_dir(dir)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.call("rename")?;
        RealDisk.rename(from, to)
    }

    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.call("rename_new")?;
        RealDisk.rename_new(from, to)
    }

    fn exchange(&self, one: &Path, other: &Path) -> io::Result<()> {
        self.call("exchange")?;
        RealDisk.exchange(one, other)
    }

    fn unlink(&self, path: &Path) -> io::Result<()> {
        self.call("unlink")?;
        RealDisk.unlink(path)
    }

    fn list(&self, dir: &Path, prefix: &str) -> io::Result<Vec<PathBuf>> {
        self.call("list")?;
        RealDisk.list(dir, prefix)
    }

    fn changed_ms(&self, path: &Path) -> io::Result<u64> {
        self.call("changed_ms")?;
        RealDisk.changed_ms(path)
    }
}

impl World {
    pub(super) fn store_on(&self, disk: Faulty) -> Store {
        disk.store(Place::find(self.path(), None).unwrap())
    }
}
