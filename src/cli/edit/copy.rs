//! The copy that a person edits: beside the state file, and never taken away with text in it that is nowhere else.
#![allow(clippy::disallowed_methods)] // door: writes and removes the copy

use std::{
    fs::{self, OpenOptions},
    io::{self, Read, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

/// Copies that earlier edits may have left of one serial.
const SAME_NAME_MAX: u32 = 100;
/// As much as the reader takes (`doc::Limits`).
const BYTES_MAX: u64 = 16 << 20;

#[derive(Debug)]
pub(super) struct Copy {
    pub(super) path: PathBuf,
}

impl Copy {
    /// For its owner alone, as the state is.
    pub(super) fn create(dir: &Path, serial: u64, bytes: &[u8]) -> io::Result<Self> {
        for n in 1..=SAME_NAME_MAX {
            let more = if n == 1 {
                String::new()
            } else {
                format!("-{n}")
            };
            let path = dir.join(format!("edit-{serial}{more}.json"));
            let file = OpenOptions::new()
                .write(true)
                .create_new(true)
                .mode(0o600)
                .open(&path);
            match file {
                Ok(mut file) => {
                    file.write_all(bytes)?;
                    return Ok(Self { path });
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    /// By its name: editors replace files.
    pub(super) fn read(&self) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let file = fs::File::open(&self.path)?;
        file.take(BYTES_MAX + 1).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// What stands in it stands in the state.
    pub(super) fn remove(self) {
        // A copy too many harms nobody.
        let _ = fs::remove_file(self.path);
    }
}
