//! The abilities of a state's file system, and so the fate of a save in the very instant of a commit.
//!
//! Invariant: abilities are found by trying them in the very directory, never from a name. Trial files are cleared
//! away. Not here: how a commit reacts (`swap`, which meets the same refusals call by call).

use std::io;
use std::path::Path;

use super::StoreError;
use super::disk::{Disk, is_unsupported};
use super::lease::Against;
use super::names::Names;

/// How well a commit and a save at the same instant get along here, the best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    Full,
    NoLease,
    NoExchange,
    RenameOnly,
}

impl Mode {
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::NoLease => "no-lease",
            Self::NoExchange => "no-exchange",
            Self::RenameOnly => "rename-only",
        }
    }

    #[must_use]
    pub fn is_degraded(self) -> bool {
        self != Self::Full
    }

    /// The consequence for whoever edits the state file by hand.
    #[must_use]
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Full => "no save is lost, whenever and however an editor makes it",
            Self::NoLease => {
                "no read leases: a save in place that takes longer than 2 s, begun before a commit, can be lost"
            }
            Self::NoExchange => {
                "no exchange of names: a save by rename within microseconds of a commit can be lost"
            }
            Self::RenameOnly => {
                "neither exchange of names nor hard links: a save within milliseconds of a commit can be lost"
            }
        }
    }
}

/// The commit lock is held: what carries an unfinished name is nobody else's.
pub(super) fn probe(disk: &dyn Disk, names: &Names) -> Result<Mode, StoreError> {
    let (one, other) = (names.fresh(), names.fresh());
    let probed = try_in(disk, &one, &other);
    let _ = disk.unlink(&one);
    let _ = disk.unlink(&other);
    probed.map_err(|error| StoreError::io("try", names.dir(), error))
}

/// With files of these names, which the caller clears away.
pub(super) fn try_in(disk: &dyn Disk, one: &Path, other: &Path) -> io::Result<Mode> {
    drop(disk.create(one, 0o600)?);
    let has_links = disk.link(one, other).is_ok();
    if has_links {
        disk.unlink(other)?;
    }
    drop(disk.create(other, 0o600)?);
    let has_exchange = is_there(disk.exchange(one, other))?;
    let opened = disk.open(one)?;
    let has_leases = disk.lease(&opened, Against::Writers).is_ok();
    Ok(match (has_exchange, has_links, has_leases) {
        (true, _, true) => Mode::Full,
        (true, _, false) => Mode::NoLease,
        (false, true, _) => Mode::NoExchange,
        (false, false, _) => Mode::RenameOnly,
    })
}

fn is_there(tried: io::Result<()>) -> io::Result<bool> {
    match tried {
        Ok(()) => Ok(true),
        Err(error) if is_unsupported(&error) => Ok(false),
        Err(error) => Err(error),
    }
}
