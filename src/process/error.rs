//! Why a job was not started, and what a person can do about it.
//!
//! Not here: how a job that was started ended.

use std::io;
use std::path::{Path, PathBuf};

use rustix::io::Errno;

use super::SHELL;
use crate::failure::{Lack, lack_at_start, lack_of};

/// Why nothing was started.
#[derive(Debug, thiserror::Error)]
pub enum SpawnError {
    #[error("the working directory {} is not there", .0.display())]
    NoDirectory(PathBuf),
    #[error("there is no shell at {SHELL}")]
    NoShell,
    #[error("the command and its environment are too long for the system: {0}")]
    TooLong(#[source] io::Error),
    #[error("the system has no room for another process: {0}")]
    NoRoom(#[source] io::Error),
    #[error("the command or its environment contains a NUL byte")]
    Nul(#[source] io::Error),
    #[error("the log {} cannot be written: {source}", path.display())]
    Log { path: PathBuf, source: io::Error },
    #[error("the command cannot be started: {0}")]
    Other(#[source] io::Error),
}

impl SpawnError {
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            SpawnError::NoDirectory(_) => "it was removed while it was in use: run again",
            SpawnError::NoShell => "commands are run by a POSIX shell: install one there",
            SpawnError::TooLong(_) => "put the command into a script and name that",
            SpawnError::NoRoom(_) => {
                "lower the parallelism, or raise the limits on processes (`ulimit -u`), \
                 open files (`ulimit -n`) or memory"
            }
            SpawnError::Nul(_) => "remove the NUL byte",
            SpawnError::Log { .. } => "check the directory's permissions and the free space",
            SpawnError::Other(_) => "fix what the system names, then run it again",
        }
    }

    /// The resource that was lacking for the start, if it can become available again.
    #[must_use]
    pub fn lack(&self) -> Option<Lack> {
        match self {
            SpawnError::NoRoom(source) | SpawnError::Other(source) => lack_at_start(source),
            SpawnError::Log { source, .. } => lack_of(source),
            SpawnError::NoDirectory(_)
            | SpawnError::NoShell
            | SpawnError::TooLong(_)
            | SpawnError::Nul(_) => None,
        }
    }

    pub(super) fn from_spawn(error: io::Error, cwd: &Path) -> SpawnError {
        match error.raw_os_error().map(Errno::from_raw_os_error) {
            Some(Errno::TOOBIG) => SpawnError::TooLong(error),
            Some(Errno::AGAIN | Errno::NOMEM | Errno::MFILE | Errno::NFILE) => {
                SpawnError::NoRoom(error)
            }
            _ if !cwd.is_dir() => SpawnError::NoDirectory(cwd.to_owned()),
            _ if !Path::new(SHELL).exists() => SpawnError::NoShell,
            _ if error.kind() == io::ErrorKind::InvalidInput => SpawnError::Nul(error),
            _ => SpawnError::Other(error),
        }
    }
}
