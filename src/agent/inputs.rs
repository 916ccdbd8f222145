//! The files that an attempt finds, each made anew for one attempt alone.
//!
//! Invariant: nothing is written through a link that an earlier attempt left, and nobody else than
//! the person may read what is written.
#![allow(clippy::disallowed_methods)] // door: files of an attempt

use std::{
    fs::{self, DirBuilder, OpenOptions},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use crate::process::Started;

use super::{AgentError, Attempt};

#[derive(Debug)]
pub(super) struct Inputs {
    /// Absolute: the attempt runs elsewhere.
    dir: PathBuf,
}

/// An attempt's own directory, and the one that holds them all; not the one beside the state: where that is gone, the
/// state is too, and another one in its place would keep it from being put back.
pub(super) fn make(dir: &Path) -> io::Result<()> {
    let make = |dir: &Path| match DirBuilder::new().mode(0o700).create(dir) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && dir.is_dir() => Ok(()),
        made => made,
    };
    dir.parent().map_or(Ok(()), make)?;
    make(dir)
}

impl Inputs {
    pub(super) fn write(attempt: &Attempt<'_>) -> Result<Self, AgentError> {
        let dir = &attempt.dir;
        let unwritable = |source| AgentError::Unwritable {
            path: dir.clone(),
            source,
        };
        make(dir).map_err(unwritable)?;
        let inputs = Self {
            dir: std::path::absolute(dir).map_err(unwritable)?,
        };
        inputs.write_all(attempt).map_err(unwritable)?;
        Ok(inputs)
    }

    fn write_all(&self, attempt: &Attempt<'_>) -> io::Result<()> {
        write_anew(&self.prompt(), attempt.prompt.as_bytes())?;
        write_anew(&self.bindings(), attempt.bindings.as_bytes())?;
        remove(&self.result())?;
        remove(&self.dir.join(super::outcome::NAME))?;
        remove(&self.started())
    }

    pub(super) fn prompt(&self) -> PathBuf {
        self.dir.join("prompt.md")
    }

    pub(super) fn bindings(&self) -> PathBuf {
        self.dir.join("bindings.json")
    }

    pub(super) fn result(&self) -> PathBuf {
        self.dir.join("result.json")
    }

    fn started(&self) -> PathBuf {
        self.dir.join("started.json")
    }

    pub(super) fn note_started(&self, started: &Started) -> io::Result<()> {
        write_anew(&self.started(), &serde_json::to_vec(started)?)
    }
}

pub(super) fn write_anew(path: &Path, bytes: &[u8]) -> io::Result<()> {
    remove(path)?;
    let file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path);
    file?.write_all(bytes)
}

/// Whatever is there; follows no link.
pub(super) fn remove(path: &Path) -> io::Result<()> {
    let removed = match path.symlink_metadata() {
        Ok(meta) if meta.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
