//! The file of a project's lessons, outside of the repository: `$XDG_DATA_HOME/descent/memory/KEY.json`.
//!
//! Invariant: it is read only where it is a plain file of our own, and written whole under a lock. A file that cannot be
//! used is set aside, and told. Not here: the lessons (`memory` of the core), and when they are read and written (`ops::memory`).

use std::{
    fmt, io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use descent_core::{
    id::Digest,
    memory::{self, BookFault},
    state::LessonBook,
    trust::{Hand, Me, is_another_hand},
};

use crate::{
    failure::{Failure, exit},
    files::{self, Odd, private},
    store,
};

/// Bytes of a file of lessons at most: many times what [`memory::LESSONS_MAX`] lessons need.
const BYTES_MAX: u64 = 4 << 20;
/// Files that are set aside at most; then the oldest name is used again.
const ASIDE_MAX: usize = 5;

#[derive(Debug, thiserror::Error)]
pub enum MemoryError {
    #[error("lessons cannot be remembered: neither XDG_DATA_HOME nor HOME names a place")]
    NoHome,
    #[error("lessons cannot be remembered in {}: {why}", path.display())]
    Unwritable { path: PathBuf, why: String },
    #[error("{} is not used: {why}", path.display())]
    Foreign { path: PathBuf, why: String },
    #[error("{} was changed meanwhile", path.display())]
    Changed { path: PathBuf },
    #[error("{} cannot be used: {why}", path.display())]
    Unusable { path: PathBuf, why: BookFault },
}

impl MemoryError {
    pub fn hint(&self) -> &'static str {
        match self {
            Self::NoHome | Self::Unwritable { .. } => {
                "set XDG_DATA_HOME to a directory of your own that can be written"
            }
            Self::Foreign { .. } => "remove it, or make it your own (mode 0600)",
            Self::Changed { .. } => {
                "the text is kept, and descent memory edit goes on with it; or remove it, to begin anew"
            }
            Self::Unusable { .. } => "descent memory edit goes on with that text",
        }
    }
}

impl From<MemoryError> for Failure {
    fn from(error: MemoryError) -> Self {
        Failure::new("E-MEMORY", exit::IO, &error, error.hint())
    }
}

/// The lessons that were found at the name of the file.
#[derive(Debug)]
pub struct FoundBook {
    /// Empty where nothing could be used.
    pub book: LessonBook,
    pub bytes: Vec<u8>,
    /// Why there was something that could not be used, in a line.
    pub note: Option<String>,
}

impl FoundBook {
    fn none(note: Option<String>) -> Self {
        Self { book: memory::new(), bytes: Vec::new(), note }
    }
}

/// The file of one project.
#[derive(Debug, Clone)]
pub struct LessonFile {
    dir: PathBuf,
    name: String,
    me: Me,
}

impl LessonFile {
    /// The file of the project with this key.
    pub fn find(key: &Digest) -> Result<Self, MemoryError> {
        let home = private::data_home(private::variable).ok_or(MemoryError::NoHome)?;
        Ok(Self {
            dir: home.join("memory"),
            name: key.as_str().trim_start_matches("sha256:").to_owned(),
            me: private::me(),
        })
    }

    pub fn path(&self) -> PathBuf {
        self.dir.join(format!("{}.json", self.name))
    }

    /// The lessons. A file that cannot be used is set aside, if it is ours.
    ///
    /// # Errors
    /// [`MemoryError::Foreign`] where it is another's, and stays as it is.
    pub fn read(&self) -> Result<FoundBook, MemoryError> {
        let why = match self.bytes()? {
            LessonBytes::None => return Ok(FoundBook::none(None)),
            LessonBytes::TooMany => format!("it holds more than {BYTES_MAX} bytes"),
            LessonBytes::Whole(bytes) => match memory::read(&bytes) {
                Ok(book) => {
                    let note = None;
                    return Ok(FoundBook { book, bytes, note });
                }
                Err(why) => why.to_string(),
            },
        };
        let path = self.path();
        let aside = self.set_aside()?;
        Ok(FoundBook::none(Some(format!(
            "{}: {why}; it is kept as {}, and nothing is remembered from it",
            path.display(),
            aside.display()
        ))))
    }

    /// Changes the lessons under a lock; written only where `change` says so. Gives what it found, and whether it wrote.
    pub fn change(
        &self,
        change: impl FnOnce(&mut LessonBook) -> bool,
    ) -> Result<(FoundBook, bool), MemoryError> {
        self.make_dir()?;
        let _held = self.lock()?;
        let mut found = self.read()?;
        let is_changed = change(&mut found.book);
        if is_changed {
            self.write(memory::write(&found.book).as_bytes())?;
        }
        Ok((found, is_changed))
    }

    /// Puts a person's text in the place of the bytes that it was made from.
    pub fn replace(
        &self,
        before: &[u8],
        text: &[u8],
        named: &Path,
    ) -> Result<LessonBook, MemoryError> {
        let book = memory::read(text)
            .map_err(|why| MemoryError::Unusable { path: named.to_owned(), why })?;
        self.make_dir()?;
        let _held = self.lock()?;
        if self.read()?.bytes != before {
            return Err(MemoryError::Changed { path: self.path() });
        }
        self.write(memory::write(&book).as_bytes())?;
        Ok(book)
    }

    /// A copy for an editor, beside the file. One that could not be used stays as it is: it is a person's text.
    pub fn copy(&self, bytes: &[u8]) -> Result<PathBuf, MemoryError> {
        let name = format!("{}.edit.json", self.name);
        let path = self.dir.join(&name);
        if files::read(&path, BYTES_MAX).is_ok_and(|kept| !kept.is_empty()) {
            return Ok(path);
        }
        let copied = private::write_private(&self.dir, &name, bytes);
        copied.map_err(|error| unwritable(&path, &error))?;
        Ok(path)
    }

    pub fn read_copy(&self, path: &Path) -> Result<Vec<u8>, MemoryError> {
        files::read(path, BYTES_MAX).map_err(|error| unwritable(path, &error))
    }

    /// Removes a copy that is of no more use; one that stays harms nothing.
    pub fn remove_copy(&self, path: &Path) {
        let _ = files::remove_file(path);
    }

    fn bytes(&self) -> Result<LessonBytes, MemoryError> {
        let path = self.path();
        let foreign = |why: String| MemoryError::Foreign { path: path.clone(), why };
        let file = match files::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(LessonBytes::None),
            Err(error) => {
                let odd = Odd::of(&error).map(|odd| format!("it {}", odd.what));
                return Err(foreign(odd.unwrap_or_else(|| error.to_string())));
            }
        };
        let meta = file.metadata().map_err(|error| foreign(error.to_string()))?;
        let (uid, mode) = (meta.uid(), meta.mode());
        if is_another_hand(Hand { uid, mode }, self.me) {
            return Err(foreign(format!("it belongs to another account ({uid})")));
        }
        if mode & 0o022 != 0 {
            return Err(foreign(format!("others may write it (mode {:04o})", mode & 0o7777)));
        }
        if meta.len() > BYTES_MAX {
            return Ok(LessonBytes::TooMany);
        }
        match files::read(&path, BYTES_MAX) {
            Ok(bytes) => Ok(LessonBytes::Whole(bytes)),
            Err(error) => Err(foreign(error.to_string())),
        }
    }

    /// Moves what lies there to a free name.
    fn set_aside(&self) -> Result<PathBuf, MemoryError> {
        let from = self.path();
        let names = (1..=ASIDE_MAX).map(|n| self.dir.join(format!("{}.aside-{n}", self.name)));
        let names: Vec<PathBuf> = names.collect();
        let free = names.iter().find(|name| name.symlink_metadata().is_err());
        let to = match free.or(names.last()) {
            Some(to) => to.clone(),
            None => return Err(MemoryError::NoHome),
        };
        let moved = files::remove(&to).and_then(|()| files::move_to(&from, &to));
        moved.map_err(|error| unwritable(&from, &error))?;
        Ok(to)
    }

    fn make_dir(&self) -> Result<(), MemoryError> {
        private::make_private(&self.dir).map_err(|error| unwritable(&self.dir, &error))
    }

    fn lock(&self) -> Result<store::FileLock, MemoryError> {
        let path = self.dir.join(format!("{}.lock", self.name));
        store::exclusive(&path).map_err(|error| unwritable(&path, &error))
    }

    fn write(&self, bytes: &[u8]) -> Result<(), MemoryError> {
        let path = self.path();
        let written = private::write_private(&self.dir, &format!("{}.json", self.name), bytes);
        written.map_err(|error| unwritable(&path, &error))
    }
}

enum LessonBytes {
    None,
    TooMany,
    Whole(Vec<u8>),
}

fn unwritable(path: &Path, why: &dyn fmt::Display) -> MemoryError {
    MemoryError::Unwritable { path: path.to_owned(), why: why.to_string() }
}
