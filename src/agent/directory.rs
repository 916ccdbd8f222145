//! The directory of an attempt's own files, beside the state.

use std::{io, path::Path};

use crate::files;

/// Makes an attempt's own directory and its parent; returns whether it is new, and so empty. It
/// does not make the directory beside the state. If that is gone, so is the state, and a new
/// directory would keep it from being put back.
pub(super) fn make(dir: &Path) -> io::Result<bool> {
    // An attempt can write there, and may have put a link in its place.
    dir.parent().map_or(Ok(()), files::no_link)?;
    match files::make_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            dir.parent().map_or(Ok(false), files::make_dir)?;
            files::make_dir(dir)
        }
        made => made,
    }
}
