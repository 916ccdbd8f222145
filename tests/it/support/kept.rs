//! The files of a directory, kept in memory, to be put there or elsewhere again.
//!
//! Not here: when that stands for making them anew.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
    time::SystemTime,
};

/// Everything below a directory, with modes and times. Owners and second names of a file are not kept.
#[derive(Debug)]
pub struct Kept(Vec<(PathBuf, Entry)>);

#[derive(Debug)]
enum Entry {
    Dir(u32),
    Link(PathBuf),
    File(u32, SystemTime, Vec<u8>),
}

impl Kept {
    pub fn of(dir: &Path) -> Self {
        let mut kept = Vec::new();
        let mut todo = vec![dir.to_owned()];
        while let Some(below) = todo.pop() {
            for entry in fs::read_dir(&below).expect("a directory").flatten() {
                let path = entry.path();
                let about = entry.metadata().expect("its metadata");
                let mode = about.permissions().mode();
                let is = if about.is_dir() {
                    todo.push(path.clone());
                    Entry::Dir(mode)
                } else if about.is_symlink() {
                    Entry::Link(fs::read_link(&path).expect("a link"))
                } else if about.is_file() {
                    let bytes = fs::read(&path).expect("a file");
                    Entry::File(mode, about.modified().expect("its time"), bytes)
                } else {
                    // A socket or a pipe belongs to a process, and ends with it.
                    continue;
                };
                kept.push((path.strip_prefix(dir).expect("below").to_owned(), is));
            }
        }
        Self(kept)
    }

    /// Makes the directory hold these files, and no others.
    pub fn put(&self, dir: &Path) {
        for entry in fs::read_dir(dir).expect("a directory").flatten() {
            let path = entry.path();
            let is_dir = entry.file_type().is_ok_and(|kind| kind.is_dir());
            let removed = if is_dir { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
            removed.expect("it is taken away");
        }
        for (path, entry) in &self.0 {
            entry.put(&dir.join(path));
        }
    }
}

impl Entry {
    fn put(&self, path: &Path) {
        match self {
            Self::Dir(mode) => {
                fs::create_dir(path).expect("a directory");
                set_mode(path, *mode);
            }
            Self::Link(to) => symlink(to, path).expect("a link"),
            Self::File(mode, time, bytes) => {
                fs::write(path, bytes).expect("a file");
                let file = fs::File::options().write(true).open(path).expect("a file");
                file.set_modified(*time).expect("its time");
                set_mode(path, *mode);
            }
        }
    }
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("its mode");
}

/// Every file below, with its bytes.
pub fn listing(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut todo = vec![dir.to_owned()];
    while let Some(dir) = todo.pop() {
        for entry in fs::read_dir(&dir).into_iter().flatten().flatten() {
            let path = entry.path();
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                todo.push(path.clone());
            }
            found.insert(path.clone(), fs::read(&path).unwrap_or_default());
        }
    }
    found
}
