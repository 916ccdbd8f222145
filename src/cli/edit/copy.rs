//! The copy that a person edits: beside the state file, and never removed while it holds text that is nowhere else.

use std::{
    io::{self, Write},
    path::{Path, PathBuf},
};

use crate::files;

/// Copies that earlier edits may have left for one serial.
const SAME_NAME_MAX: u32 = 100;
/// The reader's limit (`doc::Limits`).
const BYTES_MAX: u64 = 16 << 20;

#[derive(Debug)]
pub(super) struct Copy {
    pub(super) path: PathBuf,
}

impl Copy {
    /// Creates it for its owner alone, like the state.
    pub(super) fn create(dir: &Path, serial: u64, bytes: &[u8]) -> io::Result<Self> {
        for n in 1..=SAME_NAME_MAX {
            let more = if n == 1 { String::new() } else { format!("-{n}") };
            let path = dir.join(format!("edit-{serial}{more}.json"));
            match files::make_new(&path) {
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

    /// Reads it by name, since editors replace files.
    pub(super) fn read(&self) -> io::Result<Vec<u8>> {
        files::read_some(&self.path, BYTES_MAX + 1)
    }

    /// Removes the copy: its text is in the state.
    pub(super) fn remove(self) {
        // A leftover copy harms nobody.
        let _ = files::remove_file(&self.path);
    }
}
