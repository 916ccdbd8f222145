//! Moves everything beside a state that nobody here made into one directory, where nothing reads
//! it.
//!
//! Invariant: the state itself stays, and so does what belongs to another state in the same
//! directory. Nothing is removed. Not here: when that has to be (`cli::trust`).

use std::io;
use std::path::{Path, PathBuf};

use super::journal::Journal;
use super::merge_base::RecentStates;
use super::{Store, StoreError};
use descent_system::files;

/// Maximum of directories made in one second.
const SAME_NAME_MAX: u32 = 100;

/// The moved files, and the directory that they are in now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Aside {
    pub dir: PathBuf,
    pub names: Vec<String>,
}

impl Store {
    /// Every sidecar of the state: what this program makes beside it, and whatever else lies there.
    pub fn sidecars(&self) -> Vec<PathBuf> {
        self.place.sidecars()
    }

    /// Moves these sidecars aside, and forgets what was read of them. `None` if there is nothing to
    /// move. `at` makes the name of the directory.
    pub fn set_aside(
        &mut self,
        sidecars: &[PathBuf],
        at: &str,
    ) -> Result<Option<Aside>, StoreError> {
        if sidecars.is_empty() {
            return Ok(None);
        }
        if self.is_live() {
            let holder = self.holder().unwrap_or_else(|| "unknown".to_owned());
            return Err(StoreError::LeaseHeld { holder });
        }
        let dir = make_new_dir(&self.place.dir, at)?;
        let mut names = Vec::new();
        for path in sidecars {
            let Some(name) = path.file_name() else {
                continue;
            };
            match files::move_to(path, &dir.join(name)) {
                Ok(()) => names.push(name.to_string_lossy().into_owned()),
                // It went away by itself.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(StoreError::io("move", path, error)),
            }
        }
        names.sort();
        self.forget();
        Ok(Some(Aside { dir, names }))
    }

    /// Resets the store to the condition before the first read.
    fn forget(&mut self) {
        self.cached = None;
        self.rendered = None;
        self.committed = None;
        self.known = RecentStates::default();
        self.journal = Journal::with_author_of(&self.journal, self.place.journal());
    }
}

fn make_new_dir(parent: &Path, at: &str) -> Result<PathBuf, StoreError> {
    let failed = |error| StoreError::io("make", parent, error);
    files::make_dir(parent).map_err(failed)?;
    for n in 1..=SAME_NAME_MAX {
        let more = if n == 1 { String::new() } else { format!("-{n}") };
        let dir = parent.join(format!("{}{at}{more}", super::place::ASIDE));
        match files::make_dir(&dir) {
            Ok(true) => return Ok(dir),
            Ok(false) => {}
            Err(error) if files::Odd::of(&error).is_some() => {}
            Err(error) => return Err(failed(error)),
        }
    }
    Err(failed(io::ErrorKind::AlreadyExists.into()))
}
