//! How the store learns what its file holds: read whole, read at rest, or presumed.
//!
//! Not here: what the bytes mean (`load`), replacing them (`swap`).

use std::io;
use std::sync::Arc;
use std::time::Duration;

use super::disk::{self, DirectoryCheck, FileBytes, OpenFile};
use super::lease::Against;
use super::swap::{self, Writer};
use super::{LoadedState, Store, StoreError};
use crate::files::ContentStamp;

/// An editor that renames or truncates leaves the name absent or empty for an instant.
const SETTLE_MS: u64 = 10;
const SETTLE_TIMES: u32 = 10;
/// How often to wait `SETTLE_MS` for a save in place; after that its bytes are adopted later.
const WRITER_TIMES: u32 = 20;

/// The state's file, open, with its content.
pub(super) struct StateFile {
    pub(super) opened: OpenFile,
    pub(super) now: Arc<LoadedState>,
    pub(super) writer: Writer,
}

impl Store {
    pub(super) fn read_bytes(&self) -> Result<FileBytes, StoreError> {
        let mut found = self.find();
        for _ in 0..SETTLE_TIMES {
            match &found {
                Ok(found) if !found.bytes.is_empty() => break,
                Err(StoreError::NoState { .. } | StoreError::Vanished { .. }) | Ok(_) => {
                    std::thread::sleep(Duration::from_millis(SETTLE_MS));
                }
                Err(_) => break,
            }
            found = self.find();
        }
        found
    }

    fn find(&self) -> Result<FileBytes, StoreError> {
        let opened = self.open_file()?;
        let bytes = self.disk.read(&opened, self.names.bytes_max);
        let bytes = bytes.map_err(|error| self.cannot_read(error))?;
        Ok(FileBytes { opened, bytes })
    }

    fn open_file(&self) -> Result<OpenFile, StoreError> {
        let ground = self.disk.check_directory().map_err(|error| self.cannot_read(error))?;
        match ground {
            DirectoryCheck::Same => self.disk.open(&self.place.state),
            DirectoryCheck::Gone => Err(io::ErrorKind::NotFound.into()),
            DirectoryCheck::Other => {
                let path = self.names.dir().to_owned();
                return Err(StoreError::Moved { path });
            }
        }
        .map_err(|error| self.cannot_read(error))
    }

    /// Reads the file when nobody is writing it. A writer that takes very long is not waited for.
    pub(super) fn see(&mut self) -> Result<StateFile, StoreError> {
        let (mut found, mut writer) = (self.read_bytes()?, Writer::GoOn);
        for _ in 0..WRITER_TIMES {
            if !self.is_written(&found.opened) {
                writer = Writer::GiveWay;
                break;
            }
            std::thread::sleep(Duration::from_millis(SETTLE_MS));
            found = self.read_bytes()?;
        }
        Ok(StateFile { now: self.take_in(&found.bytes)?, opened: found.opened, writer })
    }

    /// Whether another process holds the commit lock now.
    pub fn is_lock_taken(&self) -> bool {
        self.commit_lock.is_taken()
    }

    /// The failure if the commit lock does not become free.
    pub fn lock_timeout(&self) -> StoreError {
        self.commit_lock.timeout()
    }

    /// The stamp of the file as long as nobody saves over it or into it, if the last commit published one.
    pub fn published(&self) -> Option<ContentStamp> {
        self.published
    }

    /// The content if nobody saved since. The file is not read, because a commit compares it anyway
    /// before it publishes.
    pub(super) fn presumed(&self) -> Option<StateFile> {
        let now = Arc::clone(self.cached.as_ref()?);
        let opened = self.open_file().ok()?;
        let is_likely = opened.len == now.bytes().len() as u64 && !self.is_written(&opened);
        is_likely.then_some(StateFile { opened, now, writer: Writer::GiveWay })
    }

    fn is_written(&self, opened: &OpenFile) -> bool {
        let lease = self.disk.lease(opened, Against::Writers).map(drop);
        lease.is_err_and(|error| swap::is_busy(&error))
    }

    pub(super) fn cannot_read(&self, source: io::Error) -> StoreError {
        let path = self.place.state.clone();
        match source.kind() {
            io::ErrorKind::NotFound if self.cached.is_some() => StoreError::Vanished { path },
            io::ErrorKind::NotFound => StoreError::NoState {
                looked_from: path,
                has_journal: self.place.journal().is_dir(),
            },
            io::ErrorKind::IsADirectory => StoreError::IsDirectory { path },
            // A link that was there at the start was followed then, if it led anywhere.
            _ if disk::is_link(&source) && self.cached.is_some() => StoreError::Link { path },
            _ if disk::is_link(&source) => match disk::dangling(&path) {
                Some(to) => StoreError::LinkToNothing { path, to },
                None => StoreError::Unreadable { path, source },
            },
            _ => StoreError::Unreadable { path, source },
        }
    }
}
