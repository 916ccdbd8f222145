//! A person's records on this machine, outside of repository and cache: read only if nobody else can have written them,
//! written whole or not at all.
//!
//! Invariant: a record has mode 0600, in a directory in which nobody else can write, and gets its name when it is durable.
//! A directory that is there keeps its mode. Not here: what a record says (`trust`, `runs`, `ops::memory`).

use std::{
    ffi::OsString,
    fs,
    io::{self, Read},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use descent_core::trust::{Hand, Me, is_another_hand};

use super::Odd;
use crate::files;

/// The permissions of everybody else: on a record, and on a directory of records.
const OTHERS: u32 = 0o077;
const OTHERS_WRITE: u32 = 0o022;

/// The directory of this program's records, by the XDG rules: a relative path in the variable is ignored.
pub fn state_home(var: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    home_of(var, "XDG_STATE_HOME", ".local/state")
}

/// The directory of a person's own configuration, by the same rules.
pub fn config_home(var: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    home_of(var, "XDG_CONFIG_HOME", ".config")
}

/// The directory of what a person keeps, by the same rules.
pub fn data_home(var: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    home_of(var, "XDG_DATA_HOME", ".local/share")
}

fn home_of(
    var: impl Fn(&str) -> Option<OsString>,
    name: &str,
    below_home: &str,
) -> Option<PathBuf> {
    let absolute = |name| var(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let dir = absolute(name).or_else(|| Some(absolute("HOME")?.join(below_home)));
    Some(dir?.join("descent"))
}

/// A variable of this process. Without HOME, the account's own entry tells.
pub fn variable(name: &str) -> Option<OsString> {
    match name {
        "HOME" => std::env::home_dir().map(PathBuf::into_os_string),
        _ => std::env::var_os(name),
    }
}

/// Says of a file of another account whose it is.
pub fn another(hand: Hand) -> Option<String> {
    let is_another = is_another_hand(hand, me());
    is_another.then(|| format!("belongs to another account ({})", hand.uid))
}

/// The user whose files count as our own.
pub fn me() -> Me {
    let sudo_uid = std::env::var("SUDO_UID").ok();
    Me {
        uid: rustix::process::geteuid().as_raw(),
        sudo_uid: sudo_uid.and_then(|uid| uid.parse().ok()),
    }
}

/// The bytes of a record, `None` if there is none, or the reason why it is not believed.
pub fn read_private(dir: &Path, path: &Path, bytes_max: u64) -> Result<Option<Vec<u8>>, String> {
    let above = match fs::metadata(dir) {
        Ok(above) if above.is_dir() => above,
        Ok(_) => return Err("its directory is none".to_owned()),
        Err(_) if dir.is_symlink() => return Err("its directory is a link to nothing".to_owned()),
        Err(error) if is_absent(&error) => return Ok(None),
        Err(error) => return Err(error.to_string()),
    };
    judge(&above, "its directory", OTHERS_WRITE)?;
    let file = match files::open(path) {
        Ok(file) => file,
        Err(error) if is_absent(&error) => return Ok(None),
        Err(error) => {
            let odd = Odd::of(&error).map(|odd| format!("it {}", odd.what));
            return Err(odd.unwrap_or_else(|| error.to_string()));
        }
    };
    let meta = file.metadata().map_err(|error| error.to_string())?;
    judge(&meta, "it", OTHERS)?;
    let mut bytes = Vec::new();
    file.take(bytes_max).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    Ok(Some(bytes))
}

/// Whether nothing is there, nor could be.
pub(crate) fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

fn judge(meta: &fs::Metadata, what: &str, refused: u32) -> Result<(), String> {
    let (uid, mode) = (meta.uid(), meta.mode());
    if let Some(why) = another(Hand { uid, mode }) {
        return Err(format!("{what} {why}"));
    }
    if mode & refused != 0 {
        let mode = mode & 0o7777;
        return Err(format!("{what} has the mode {mode:04o}: others can reach it"));
    }
    Ok(())
}

pub fn write_private(dir: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
    make_private(dir)?;
    files::write_durably(&dir.join(name), bytes)
}

/// The same for a record that nothing depends on: nobody waits for the disk.
pub(crate) fn write_loosely(dir: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
    make_private(dir)?;
    files::write_whole(&dir.join(name), bytes)
}

/// Makes a directory that nobody else can look into. One that is there stays as it is: it may be a link to what others
/// need.
pub fn make_private(dir: &Path) -> io::Result<()> {
    files::make_dirs(dir)?;
    let mode = fs::metadata(dir)?.mode() & 0o7777;
    match mode & OTHERS_WRITE {
        0 => Ok(()),
        _ => Err(io::Error::other(format!(
            "others can write there, by its mode {mode:04o}: chmod 700 it"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_is_that_of_the_state_and_never_relative() {
        let place = |pairs: &[(&str, &str)]| {
            state_home(|name| {
                let found = pairs.iter().find(|(key, _)| *key == name);
                found.map(|(_, value)| value.into())
            })
        };
        let is = |pairs: &[(&str, &str)], path: &str| assert_eq!(place(pairs), Some(path.into()));
        is(&[("XDG_STATE_HOME", "/s"), ("HOME", "/h")], "/s/descent");
        is(&[("HOME", "/h")], "/h/.local/state/descent");
        is(&[("XDG_STATE_HOME", "s"), ("HOME", "/h")], "/h/.local/state/descent");
        assert_eq!(place(&[]), None);
        assert_eq!(place(&[("HOME", "h")]), None);
    }
}
