//! The last bytes of a state file that vanished while a loop ran on it.
//!
//! Invariant: an earlier saved file is never overwritten.
#![allow(clippy::disallowed_methods)] // door: one file in the cache

use std::{
    io::Write,
    path::{Path, PathBuf},
};

use super::{Result, WorkspaceError, places};

pub(super) fn save(cache: &Path, bytes: &[u8]) -> Result<PathBuf> {
    places::make_private(cache)?;
    let unwritable = |source| WorkspaceError::CacheUnwritable {
        path: cache.to_owned(),
        source,
    };
    let made = tempfile::Builder::new()
        .prefix("state-")
        .suffix(".json")
        .tempfile_in(cache);
    let mut file = made.map_err(unwritable)?;
    file.write_all(bytes).map_err(unwritable)?;
    file.as_file().sync_all().map_err(unwritable)?;
    let (_, path) = file.keep().map_err(|error| unwritable(error.error))?;
    Ok(path)
}
