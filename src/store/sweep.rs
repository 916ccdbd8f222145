//! What commits leave beside the state file: removed when it is ours, else a person's late save.
//!
//! An editor that opened the file before a commit and writes into it afterwards writes into the file
//! that lost the name. So that file stays until it had time to come to rest, and is looked at then.
//! Invariant: under the commit lock; only bytes that a commit held are removed.

use std::path::{Path, PathBuf};

use super::disk::{self, Disk};
use super::names::Names;
use super::{journal, load};

/// Longer than an editor takes to save.
pub(super) const GRACE_MS: u64 = 2_000;
/// Beyond these the oldest are looked at early: as many as hundreds of commits a second leave in the time above.
const WAITING_MAX: usize = 1_024;

/// `now_ms` by the clock of the file system.
pub(super) fn sweep(disk: &dyn Disk, names: &Names, journal: &Path, now_ms: u64) {
    // The commit lock is held: whoever was writing one of these is dead.
    for path in disk
        .list(names.dir(), &names.fresh_prefix())
        .unwrap_or_default()
    {
        let _ = disk.unlink(&path);
    }
    for path in at_rest(disk, names, now_ms) {
        judge(disk, names, journal, &path);
    }
}

/// The swapped-out files that nobody will write to any more, oldest first.
fn at_rest(disk: &dyn Disk, names: &Names, now_ms: u64) -> Vec<PathBuf> {
    let all = disk
        .list(names.dir(), &names.swapped_prefix())
        .unwrap_or_default();
    let aged = |path: PathBuf| Some((disk.changed_ms(&path).ok()?, path));
    let mut waiting: Vec<(u64, PathBuf)> = all.into_iter().filter_map(aged).collect();
    waiting.sort();
    let too_many = waiting.len().saturating_sub(WAITING_MAX);
    let is_due = |(n, (changed_ms, _)): &(usize, (u64, PathBuf))| {
        *n < too_many || now_ms.saturating_sub(*changed_ms) >= GRACE_MS
    };
    let due = waiting.into_iter().enumerate().filter(is_due);
    due.map(|(_, (_, path))| path).collect()
}

fn judge(disk: &dyn Disk, names: &Names, journal: &Path, path: &Path) {
    // What cannot be read now can be at another time.
    let Ok(found) = disk.read(path, names.bytes_max) else {
        return;
    };
    if names.is_unchanged(path, &found.bytes) {
        let _ = disk.unlink(path);
        return;
    }
    match load::read(path, found.bytes) {
        // Sealed: a state whose commit died before it was published.
        Ok((loaded, _)) if !loaded.is_foreign => drop(disk.unlink(path)),
        Ok(_) if take_up(disk, names, journal, path).is_some() => {}
        _ => drop(disk::rescue(disk, names, path)),
    }
}

/// A valid late save gets the name, as if it were saved now; the present state is kept for merging.
fn take_up(disk: &dyn Disk, names: &Names, journal: &Path, late: &Path) -> Option<()> {
    let present = disk.read(&names.state, names.bytes_max).ok()?;
    let (loaded, _) = load::read(&names.state, present.bytes.clone()).ok()?;
    // Two edits at once: the one that has the name goes first.
    if loaded.is_foreign {
        return None;
    }
    journal::keep(journal, loaded.state.serial.0, &present.bytes).ok()?;
    disk::give_back(disk, names, late, &present).ok()
}
