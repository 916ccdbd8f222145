//! A disk that fails at chosen calls, counts them, and lets a person act between two of them.

use std::path::{Path, PathBuf};
use std::sync::Mutex;

use crate::disk::{DirectoryCheck, Disk, FileId, OpenFile, RealDisk};
use crate::lease::FileLease;
use std::{fs, io, sync::Arc};

use crate::*;

/// Called before each call, with its name, and the number of earlier calls of that name.
type Person = Box<dyn Fn(&'static str, usize) + Send + Sync>;

#[derive(Default)]
pub struct Faulty {
    calls: Arc<Mutex<Vec<&'static str>>>,
    /// The first call that fails, from 0; whether all later ones do; and the error.
    plan: Option<(usize, bool, i32)>,
    person: Option<Person>,
    /// Calls that this file system does not have.
    lacks: &'static [&'static str],
    /// The name of the only call that fails, and the error.
    refuses: Option<(&'static str, i32)>,
    real: Option<RealDisk>,
}

impl std::fmt::Debug for Faulty {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Faulty").field("plan", &self.plan).finish_non_exhaustive()
    }
}

impl Faulty {
    /// Fails from call `at` on, or only at it.
    pub fn failing(at: usize, for_good: bool, errno: i32) -> Self {
        let plan = Some((at, for_good, errno));
        Self { plan, ..Self::default() }
    }

    /// A store on this disk.
    pub fn store(mut self, place: StatePlace) -> Store {
        self.real = Some(RealDisk::in_dir(place.parent()));
        Store::new(place, Box::new(self))
    }

    pub(crate) fn with(person: impl Fn(&'static str, usize) + Send + Sync + 'static) -> Self {
        let person: Option<Person> = Some(Box::new(person));
        Self { person, ..Self::default() }
    }

    pub(crate) fn refusing(name: &'static str, errno: i32) -> Self {
        let refuses = Some((name, errno));
        Self { refuses, ..Self::default() }
    }

    pub(crate) fn lacking(self, lacks: &'static [&'static str]) -> Self {
        Self { lacks, ..self }
    }

    /// The names of all calls so far.
    pub fn calls(&self) -> Arc<Mutex<Vec<&'static str>>> {
        Arc::clone(&self.calls)
    }

    fn real(&self) -> &RealDisk {
        self.real.as_ref().unwrap()
    }

    fn call(&self, name: &'static str) -> io::Result<()> {
        let mut calls = self.calls.lock().unwrap();
        let (n, same) = (calls.len(), calls.iter().filter(|call| **call == name).count());
        calls.push(name);
        drop(calls);
        if let Some(person) = &self.person {
            person(name, same);
        }
        if self.lacks.contains(&name) {
            return Err(io::ErrorKind::Unsupported.into());
        }
        if let Some((refused, errno)) = self.refuses
            && refused == name
        {
            return Err(io::Error::from_raw_os_error(errno));
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
    fn check_directory(&self) -> io::Result<DirectoryCheck> {
        self.call("ground")?;
        self.real().check_directory()
    }

    fn open(&self, path: &Path) -> io::Result<OpenFile> {
        self.call("open")?;
        self.real().open(path)
    }

    fn read(&self, opened: &OpenFile, bytes_max: u64) -> io::Result<Vec<u8>> {
        self.call("read")?;
        self.real().read(opened, bytes_max)
    }

    fn holds(&self, opened: &OpenFile, bytes: &[u8]) -> io::Result<bool> {
        self.call("read")?;
        self.real().holds(opened, bytes)
    }

    fn digest(&self, opened: &OpenFile) -> io::Result<u64> {
        self.call("read")?;
        self.real().digest(opened)
    }

    fn lease<'f>(&self, opened: &'f OpenFile) -> io::Result<FileLease<'f>> {
        self.call("lease")?;
        self.real().lease(opened)
    }

    fn identify(&self, path: &Path) -> io::Result<FileId> {
        self.call("identify")?;
        self.real().identify(path)
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.call("link")?;
        self.real().link(from, to)
    }

    fn create(&self, path: &Path, mode: u32) -> io::Result<fs::File> {
        self.call("create")?;
        self.real().create(path, mode)
    }

    /// Half of it is written before the failure.
    fn write(&self, file: &fs::File, bytes: &[u8]) -> io::Result<()> {
        if let Err(error) = self.call("write") {
            self.real().write(file, &bytes[..bytes.len() / 2])?;
            return Err(error);
        }
        self.real().write(file, bytes)
    }

    /// Losses at a power cut are tried in `power`.
    fn fsync(&self, _: &fs::File) -> io::Result<()> {
        self.call("fsync")
    }

    fn fsync_dir(&self, _: &Path) -> io::Result<()> {
        self.call("fsync_dir")
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.call("rename")?;
        self.real().rename(from, to)
    }

    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.call("rename_new")?;
        self.real().rename_new(from, to)
    }

    fn exchange(&self, one: &Path, other: &Path) -> io::Result<()> {
        self.call("exchange")?;
        self.real().exchange(one, other)
    }

    fn unlink(&self, path: &Path) -> io::Result<()> {
        self.call("unlink")?;
        self.real().unlink(path)
    }

    fn list(&self, dir: &Path, prefix: &str) -> io::Result<Vec<PathBuf>> {
        self.call("list")?;
        self.real().list(dir, prefix)
    }

    fn changed_ms(&self, path: &Path) -> io::Result<u64> {
        self.call("changed_ms")?;
        self.real().changed_ms(path)
    }
}
