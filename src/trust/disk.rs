//! Records on disk: read only if nobody else can have written them, written whole or not at all.
//!
//! Invariant: a record has mode 0600 in a directory of mode 0700, and gets its name when it is
//! durable.
#![allow(clippy::disallowed_methods)] // door: the mode of the records' directory

use std::{
    fs::{self, Permissions},
    io::{self, Read},
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::Path,
};

use descent_core::trust::{Hand, Me, is_another_hand};

use crate::files::{self, Odd};

/// The permissions of everybody else.
const OTHERS: u32 = 0o077;

/// The bytes of a record, `None` if there is none, or the reason why it is not believed.
pub(super) fn read_private(
    dir: &Path,
    path: &Path,
    me: Me,
    bytes_max: u64,
) -> Result<Option<Vec<u8>>, String> {
    let file = match files::open(path) {
        Ok(file) => file,
        Err(error) if is_absent(&error) => return Ok(None),
        Err(error) => {
            let odd = Odd::of(&error).map(|odd| format!("it {}", odd.what));
            return Err(odd.unwrap_or_else(|| error.to_string()));
        }
    };
    let meta = file.metadata().map_err(|error| error.to_string())?;
    judge(&meta, me, "it", "0600")?;
    let above = fs::metadata(dir).map_err(|error| error.to_string())?;
    judge(&above, me, "its directory", "0700")?;
    let mut bytes = Vec::new();
    file.take(bytes_max)
        .read_to_end(&mut bytes)
        .map_err(|error| error.to_string())?;
    Ok(Some(bytes))
}

fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

fn judge(meta: &fs::Metadata, me: Me, what: &str, wanted: &str) -> Result<(), String> {
    let (uid, mode) = (meta.uid(), meta.mode());
    if is_another_hand(Hand { uid, mode }, me) {
        return Err(format!("{what} belongs to another account ({uid})"));
    }
    if mode & OTHERS != 0 {
        let mode = mode & 0o7777;
        return Err(format!("{what} has the mode {mode:04o} and not {wanted}"));
    }
    Ok(())
}

pub(super) fn write_private(dir: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
    files::make_dirs(dir)?;
    if fs::metadata(dir)?.mode() & OTHERS != 0 {
        fs::set_permissions(dir, Permissions::from_mode(0o700))?;
    }
    files::write_durably(&dir.join(name), bytes)
}
