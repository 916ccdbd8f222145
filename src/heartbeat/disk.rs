//! The file of the heartbeat: written over in place, read with suspicion.
//!
//! Invariant: it has one size, so that a beat needs no new room on a full disk. Whatever lies at its name, reading it
//! ends, and what is no beat is none. No error here is anybody's concern.
#![allow(clippy::disallowed_methods)] // door: writes and removes the heartbeat

use std::{
    fs::{self, OpenOptions},
    io::{self, Read},
    os::unix::fs::{FileExt, OpenOptionsExt},
    path::Path,
    time::Duration,
};

use rustix::fs::OFlags;

use super::Written;

/// A block of most file systems.
const BYTES: usize = 4_096;
/// A reader may come upon a beat that is half written.
const READ_TIMES: u32 = 3;
const READ_AGAIN_MS: u64 = 2;

pub(super) fn write(path: &Path, beat: &Written) {
    let Some(block) = block(beat) else { return };
    if let Err(error) = write_block(path, &block) {
        tracing::debug!(%error, "no heartbeat");
    }
}

/// Padded with blanks, which JSON ignores.
fn block(beat: &Written) -> Option<Vec<u8>> {
    let mut text = serde_json::to_vec(beat).ok()?;
    if text.len() >= BYTES {
        return None;
    }
    text.resize(BYTES - 1, b' ');
    text.push(b'\n');
    Some(text)
}

fn write_block(path: &Path, block: &[u8]) -> io::Result<()> {
    let file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .custom_flags(flags())
        .open(path)?;
    let meta = file.metadata()?;
    if meta.is_file() && meta.len() > BYTES as u64 {
        file.set_len(0)?;
    }
    file.write_all_at(block, 0)
}

/// Neither waits for the other end of a pipe, nor writes where a link points.
fn flags() -> i32 {
    i32::try_from((OFlags::NONBLOCK | OFlags::NOFOLLOW).bits()).unwrap_or(0)
}

pub(super) fn read(path: &Path) -> Option<Written> {
    for n in 0..READ_TIMES {
        if n > 0 {
            std::thread::sleep(Duration::from_millis(READ_AGAIN_MS));
        }
        let bytes = read_block(path).ok()?;
        if let Ok(beat) = serde_json::from_slice(&bytes) {
            return Some(beat);
        }
    }
    None
}

fn read_block(path: &Path) -> io::Result<Vec<u8>> {
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(flags())
        .open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut bytes = Vec::with_capacity(BYTES);
    file.take(BYTES as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Only a file: what else lies there is not ours.
pub(super) fn remove(path: &Path) {
    if path.is_file() {
        let _ = fs::remove_file(path);
    }
}
