//! Handles the files that commits leave beside the state: ours are removed, the others are a
//! person's late saves.
//!
//! An editor that opened the file before a commit and writes to it afterwards writes to the file
//! that lost the name. So that file stays until it had time to come to rest, and is examined then.
//! Invariant: the commit lock is held, and a sealed state has the name. Only bytes that a commit
//! held are removed, and no file that somebody still has open for writing.

use std::path::{Path, PathBuf};

use descent_core::id::{Lineage, Serial, UnixMillis};
use descent_core::state::State;

use super::disk::{Disk, FileId, is_unsupported};
use super::lease::FileLease;
use super::load::LoadedState;
use super::names::{Names, Taker};
use super::{History, Store, StoreError, journal, load, locks, swap};
use descent_system::files;

/// Longer than an editor takes to save.
pub(super) const GRACE_MS: u64 = 2_000;
/// Beyond this number the oldest are examined early, if it can be known that nobody writes to them.
pub(super) const WAITING_MAX: usize = 64;
/// Beyond this number the oldest are examined in any case.
const KEPT_MAX: usize = 1_024;

/// The result for one file.
#[derive(Debug, Clone, PartialEq, Eq)]
enum SweepOutcome {
    Settled,
    /// Kept under a name that the person sees.
    Rescued(PathBuf),
    /// To be examined again later.
    Waits,
    /// The name holds a person's edit now: nothing else is touched before that is adopted.
    GivenBack,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Age {
    Rested,
    Young,
}

impl Store {
    /// Sweeps what earlier commits swapped out, and adopts a save that came late; for idle times. Returns whether
    /// nothing is left that must be looked at again.
    pub fn tend(&mut self, now: UnixMillis) -> Result<bool, StoreError> {
        let _held = self.lock()?;
        // The file that a person's edit replaced may be newer than the edit's base: it stays until
        // the edit is adopted.
        Ok(!self.read()?.is_foreign && self.sweep(now.0, WAITING_MAX))
    }

    fn sweep(&mut self, now_ms: u64, waiting_max: usize) -> bool {
        let journal = self.place.journal();
        let (disk, names) = (&*self.disk, &self.names);
        let swept = sweep(Sweeping { disk, names, journal: &journal, waiting_max, now_ms });
        self.newly_rescued.extend(swept.rescued);
        swept.is_done
    }

    /// Saves of a person that were rescued since the last call, to be reported.
    pub fn newly_rescued(&mut self) -> Vec<PathBuf> {
        std::mem::take(&mut self.newly_rescued)
    }

    /// Saves of a person that could not be adopted, kept beside the state file.
    pub fn rescued(&self) -> Vec<PathBuf> {
        let prefix = format!("{}.rescued-", self.place.file_name());
        self.disk.list(self.names.dir(), &prefix).unwrap_or_default()
    }

    /// The new file's own time tells the age of the others: no clock is asked.
    pub(super) fn sweep_if_due(&mut self) {
        if let Ok(now_ms) = self.disk.changed_ms(&self.place.state) {
            self.sweep(now_ms, WAITING_MAX);
        }
    }

    /// Moves what commits left beside the state among its sidecars. The next command does it after a kill.
    pub(super) fn put_away(&self) {
        let (disk, names) = (&*self.disk, &self.names);
        // It can wait for another command.
        let Ok(_held) = locks::lock_within(&self.place.commit_lock(), 0) else {
            return;
        };
        if files::no_link(names.away()).is_err() {
            return;
        }
        if self.place.schema().symlink_metadata().is_err() {
            self.write_schema();
        }
        for path in disk.list(names.dir(), &names.prefix()).unwrap_or_default() {
            let moved = path.file_name().filter(|_| !names.is_fresh(&path));
            let _ = match moved {
                Some(name) => disk.rename(&path, &names.away().join(name)),
                None => disk.unlink(&path),
            };
        }
    }

    /// Removes what earlier commits left beside a sealed state, for a disk without room: all that nobody has open.
    /// Returns whether anything went.
    pub(super) fn make_room(&mut self) -> bool {
        let count = |store: &Self| all_left(&*store.disk, &store.names).len();
        let before = count(self);
        match self.disk.changed_ms(&self.place.state) {
            Ok(now_ms) => self.sweep(now_ms, 0),
            Err(_) => return false,
        };
        count(self) < before
    }
}

/// The result for all files.
struct Swept {
    rescued: Vec<PathBuf>,
    /// No file is left that must be looked at again.
    is_done: bool,
}

/// Everything that decides about the files beside a state.
#[derive(Clone, Copy)]
struct Sweeping<'s> {
    disk: &'s dyn Disk,
    names: &'s Names,
    journal: &'s Path,
    waiting_max: usize,
    /// By the clock of the file system.
    now_ms: u64,
}

fn sweep(s: Sweeping<'_>) -> Swept {
    let mut rescued = Vec::new();
    let FilesBeside { fresh, mut swapped, late } = leftovers(s.disk, s.names);
    swapped.extend(unadopted(s, &swapped, late));
    let mut left = swapped.len();
    // The commit lock is held: the process that wrote one of these is dead.
    for path in &fresh {
        let _ = s.disk.unlink(path);
    }
    for (age, path) in due(s, swapped) {
        match judge(s, &path, age) {
            SweepOutcome::GivenBack => break,
            SweepOutcome::Rescued(kept) => {
                rescued.push(kept);
                left -= 1;
            }
            SweepOutcome::Settled => left -= 1,
            SweepOutcome::Waits => {}
        }
    }
    let is_done = left == 0;
    Swept { rescued, is_done }
}

/// The newest sealed state of these among the files beside: it may be newer than an edit's base.
pub(super) fn newest_sealed(
    disk: &dyn Disk,
    names: &Names,
    is_wanted: impl Fn(&State) -> bool,
) -> Option<State> {
    let swapped = leftovers(disk, names).swapped;
    let mut swapped: Vec<(Serial, PathBuf)> =
        swapped.into_iter().map(|path| (written_serial(disk, names, &path), path)).collect();
    swapped.sort();
    let mut newest: Option<State> = None;
    // There may be many, and large ones: no more are read than must be.
    while let Some((serial, path)) = swapped.pop() {
        if newest.as_ref().is_some_and(|newest| newest.serial >= serial) {
            break;
        }
        let found = swapped_out_state(disk, names, &path).filter(|found| !found.is_foreign);
        let found = found.map(|found| found.state).filter(&is_wanted);
        let both = [newest, found].into_iter().flatten();
        newest = both.max_by_key(|state| state.serial);
    }
    newest
}

/// The serial of a state by its text alone; if it is not there, the largest one.
fn written_serial(disk: &dyn Disk, names: &Names, path: &Path) -> Serial {
    const PART: &str = "\n\"internal\": {";
    const KEY: &str = "\"serial\":";
    let read = disk.open_and_read(path, names.bytes_max);
    let text = read.map(|read| String::from_utf8_lossy(&read.bytes).into_owned());
    let serial = text.ok().and_then(|text| {
        let (_, part) = text.rsplit_once(PART)?;
        let (_, rest) = part.split_once(KEY)?;
        let (digits, _) = rest.trim_start().split_once(',')?;
        digits.trim_end().parse().ok()
    });
    Serial(serial.unwrap_or(u64::MAX))
}

fn swapped_out_state(disk: &dyn Disk, names: &Names, path: &Path) -> Option<LoadedState> {
    let bytes = disk.open_and_read(path, names.bytes_max).ok()?.bytes;
    load::read(path, bytes).ok().map(|(loaded, _)| loaded)
}

/// All readable states among the files beside.
fn swapped_out_states(disk: &dyn Disk, names: &Names) -> Vec<(PathBuf, LoadedState)> {
    let swapped = leftovers(disk, names).swapped;
    let read = |path: PathBuf| {
        let loaded = swapped_out_state(disk, names, &path)?;
        Some((path, loaded))
    };
    swapped.into_iter().filter_map(read).collect()
}

/// The files beside a state, by what their names tell.
struct FilesBeside {
    fresh: Vec<PathBuf>,
    swapped: Vec<PathBuf>,
    /// Second names of late saves that got the name again.
    late: Vec<PathBuf>,
}

/// The files that commits left beside the state or commands moved from there.
fn all_left(disk: &dyn Disk, names: &Names) -> Vec<PathBuf> {
    let listed = [names.dir(), names.away()].map(|dir| disk.list(dir, &names.prefix()));
    listed.into_iter().flatten().flatten().collect()
}

fn leftovers(disk: &dyn Disk, names: &Names) -> FilesBeside {
    let all = all_left(disk, names);
    let (fresh, others): (Vec<_>, Vec<_>) = all.into_iter().partition(|path| names.is_fresh(path));
    let (late, others): (Vec<_>, Vec<_>) = others.into_iter().partition(|path| names.is_late(path));
    let swapped = others.into_iter().filter(|path| names.is_swapped(path));
    FilesBeside { fresh, swapped: swapped.collect(), late }
}

/// The late saves that lost the name to another save before a commit adopted them. A commit leaves
/// its file among the swapped-out ones: then the second name is removed.
fn unadopted(s: Sweeping<'_>, swapped: &[PathBuf], late: Vec<PathBuf>) -> Vec<PathBuf> {
    let is_adopted = |file: FileId| {
        let mut others = swapped.iter();
        others.any(|other| s.disk.identify(other).is_ok_and(|other| other == file))
    };
    let is_left = |path: &PathBuf| match s.disk.identify(path) {
        Ok(file) if is_adopted(file) => s.disk.unlink(path).is_err(),
        _ => true,
    };
    late.into_iter().filter(is_left).collect()
}

/// The files that may be examined now, oldest first.
fn due(s: Sweeping<'_>, swapped: Vec<PathBuf>) -> Vec<(Age, PathBuf)> {
    let aged = |path: PathBuf| Some((s.disk.changed_ms(&path).ok()?, path));
    let mut waiting: Vec<(u64, PathBuf)> = swapped.into_iter().filter_map(aged).collect();
    waiting.sort();
    let (young, any) =
        (waiting.len().saturating_sub(s.waiting_max), waiting.len().saturating_sub(KEPT_MAX));
    let all = waiting.into_iter().enumerate();
    let due = all.filter_map(|(n, (changed_ms, path))| {
        let has_rested = s.now_ms.saturating_sub(changed_ms) >= GRACE_MS;
        if has_rested || n < any {
            Some((Age::Rested, path))
        } else {
            (n < young).then_some((Age::Young, path))
        }
    });
    due.collect()
}

fn judge(s: Sweeping<'_>, path: &Path, age: Age) -> SweepOutcome {
    let Sweeping { disk, names, journal, .. } = s;
    // A file that cannot be read now may be readable later.
    let Ok(opened) = disk.open(path) else {
        return SweepOutcome::Waits;
    };
    let lease = disk.lease(&opened);
    match &lease {
        Err(error) if swap::is_busy(error) => return SweepOutcome::Waits,
        Err(_) if age == Age::Young => return SweepOutcome::Waits,
        _ => {}
    }
    let Ok(digest) = disk.digest(&opened) else {
        return SweepOutcome::Waits;
    };
    let is_unchanged = names.is_unchanged(path, digest);
    let taker = names.taker(path);
    if is_second_name(disk, names, opened.id) {
        return if names.is_late(path) {
            SweepOutcome::Waits
        } else {
            remove(disk, path, lease.ok())
        };
    }
    if is_unchanged && taker.is_none() {
        return remove(disk, path, lease.ok());
    }
    let Ok(bytes) = disk.read(&opened, names.bytes_max) else {
        return SweepOutcome::Waits;
    };
    if let Some(taker) = taker.filter(|_| is_unchanged) {
        return match stayed(disk, names, journal, path, &bytes, &taker) {
            None => SweepOutcome::Waits,
            Some(false) => rescue(disk, names, path),
            Some(true) => remove(disk, path, lease.ok()),
        };
    }
    if names.is_late(path) {
        // The save that replaced it may have changed the same things later: which words stay is
        // the person's to say.
        return rescue(disk, names, path);
    }
    match load::read(path, bytes) {
        // It is sealed: a state whose commit died before it was published, or gave way to an edit.
        Ok((loaded, _)) if !loaded.is_foreign => remove(disk, path, lease.ok()),
        Ok((late, _)) => take_up(disk, names, journal, path, &late.state.lineage),
        Err(_) => rescue(disk, names, path),
    }
}

/// Whether the content of `path` is in a commit, or in an edit based on one. If a commit failed
/// after the rename, an editor with an older buffer may have overwritten it. Then this file is the
/// only copy of the edit.
fn stayed(
    disk: &dyn Disk,
    names: &Names,
    journal: &Path,
    path: &Path,
    bytes: &[u8],
    taker: &Taker,
) -> Option<bool> {
    let found = disk.open_and_read(&names.state, names.bytes_max).ok()?;
    let (present, _) = load::read(&names.state, found.bytes).ok()?;
    // An edit names the commit that it is based on.
    let is_it = |state: &State| Taker::of(state) == *taker;
    let past = || History::of(journal.to_owned()).state(&present.state.lineage, taker.serial);
    // The same bytes may have been saved again, and be adopted durably.
    let is_same = |other: &Path, held: &[u8]| names.taker(other).is_none() && held == bytes;
    let mut others = swapped_out_states(disk, names).into_iter().filter(|(other, _)| other != path);
    Some(
        is_it(&present.state)
            || present.bytes() == bytes
            || past().is_some_and(|past| is_it(&past.state))
            || others.any(|(other, one)| is_it(&one.state) || is_same(&other, one.bytes())),
    )
}

fn is_second_name(disk: &dyn Disk, names: &Names, file: FileId) -> bool {
    disk.identify(&names.state).is_ok_and(|named| named == file)
}

fn remove(disk: &dyn Disk, path: &Path, lease: Option<FileLease<'_>>) -> SweepOutcome {
    // The lease is held until the name is gone: nobody opens the file for writing in between.
    let is_wanted = lease.as_ref().is_some_and(FileLease::is_wanted);
    let judged = if is_wanted || disk.unlink(path).is_err() {
        SweepOutcome::Waits
    } else {
        SweepOutcome::Settled
    };
    drop(lease);
    judged
}

fn rescue(disk: &dyn Disk, names: &Names, path: &Path) -> SweepOutcome {
    let rescued = swap::rescue(disk, names, path);
    rescued.map_or(SweepOutcome::Waits, SweepOutcome::Rescued)
}

/// Gives a valid late save the name, as if it were saved now; the present state is kept for
/// merging. A save of another lineage, which an agreement has replaced since, is kept for the
/// person instead.
fn take_up(
    disk: &dyn Disk,
    names: &Names,
    journal: &Path,
    late: &Path,
    lineage: &Lineage,
) -> SweepOutcome {
    let present = disk.open_and_read(&names.state, names.bytes_max).ok();
    let present = present.and_then(|found| load::read(&names.state, found.bytes).ok());
    // If there are two edits at once, the one that has the name goes first.
    let Some((present, _)) = present.filter(|(present, _)| !present.is_foreign) else {
        return SweepOutcome::Waits;
    };
    if present.state.lineage != *lineage {
        return rescue(disk, names, late);
    }
    // Without it another process merges the edit from the files beside.
    let _ = journal::keep(journal, present.state.serial.0, present.bytes());
    match swap::give_back(disk, names, late) {
        Ok(()) => SweepOutcome::GivenBack,
        Err(error) if is_unsupported(&error) => rescue(disk, names, late),
        Err(_) => SweepOutcome::Waits,
    }
}
