//! The file of the heartbeat: overwritten in place, read as untrusted.
//!
//! Invariant: it has one size, so that a heartbeat needs no new space on a full disk. Reading ends
//! whatever is at its name, and an invalid heartbeat counts as missing. Errors here are ignored.

use std::{
    fs::{File, Metadata},
    io,
    os::unix::fs::{FileExt, MetadataExt},
    path::Path,
    time::Duration,
};

use super::HeartbeatRecord;
use crate::files;

/// A block of most file systems.
const BYTES: usize = 4_096;
/// A reader may meet a heartbeat that is half written.
const READ_TIMES: u32 = 3;
const READ_AGAIN_MS: u64 = 2;

/// The file as it was opened for the last heartbeat.
#[derive(Debug, Default)]
pub(super) struct HeartbeatFile {
    open: Option<File>,
}

impl HeartbeatFile {
    pub(super) fn write(&mut self, path: &Path, heartbeat: &HeartbeatRecord) {
        let Some(block) = block(heartbeat) else {
            return;
        };
        if let Err(error) = self.write_block(path, &block) {
            self.open = None;
            tracing::debug!(%error, "no heartbeat");
        }
    }

    fn write_block(&mut self, path: &Path, block: &[u8]) -> io::Result<()> {
        let there = path.symlink_metadata().map(|meta| meta.ino()).ok();
        // A write into a file with a second name would change another's file.
        let is_ours = |meta: Metadata| Some(meta.ino()) == there && meta.nlink() == 1;
        let is_there = |file: &File| file.metadata().is_ok_and(is_ours);
        let open = self.open.take().filter(is_there);
        let file = match open {
            Some(file) => file,
            None => files::open_or_make(path)?,
        };
        if file.metadata()?.len() > BYTES as u64 {
            file.set_len(0)?;
        }
        file.write_all_at(block, 0)?;
        self.open = Some(file);
        Ok(())
    }
}

/// Padded with blanks, which JSON ignores.
fn block(heartbeat: &HeartbeatRecord) -> Option<Vec<u8>> {
    let mut text = serde_json::to_vec(heartbeat).ok()?;
    if text.len() >= BYTES {
        return None;
    }
    text.resize(BYTES - 1, b' ');
    text.push(b'\n');
    Some(text)
}

pub(super) fn read(path: &Path) -> Option<HeartbeatRecord> {
    for n in 0..READ_TIMES {
        if n > 0 {
            std::thread::sleep(Duration::from_millis(READ_AGAIN_MS));
        }
        let bytes = files::read_some(path, BYTES as u64).ok()?;
        if let Ok(heartbeat) = serde_json::from_slice(&bytes) {
            return Some(heartbeat);
        }
    }
    None
}

/// Removes only a file: anything else is not ours.
pub(super) fn remove(path: &Path) {
    let _ = files::remove_file(path);
}
