//! The records of the processes of attempts, and the end of those that an earlier loop left.

use std::path::{Path, PathBuf};

use descent_core::id::{AttemptId, RunId};

use crate::{files, process, store::StatePlace};

const SLOT: &str = "slot-";
/// Maximum size of a record of processes.
const NOTE_BYTES_MAX: u64 = 64 << 10;

/// The record of a slot's processes. Since only one attempt at a time has the slot, a file for each
/// attempt is not needed. No attempt has such an id.
pub(super) fn note_of(place: &StatePlace, slot: usize) -> PathBuf {
    place.attempts().join(format!("{SLOT}{slot}.json"))
}

/// The same for a question to a judging role.
pub(super) fn note_of_consult(place: &StatePlace) -> PathBuf {
    place.attempts().join(format!("{SLOT}consult.json"))
}

/// The slot in which an attempt is at work, by the record of its processes.
pub fn slot_of(place: &StatePlace, run: &RunId, attempt: &AttemptId) -> Option<usize> {
    let mark = mark_of(place, run, attempt);
    files::entries(&place.attempts()).into_iter().find_map(|path| {
        let name = path.file_name()?.to_str()?;
        let slot = name.strip_prefix(SLOT)?.strip_suffix(".json")?;
        let bytes = files::read(&path, NOTE_BYTES_MAX).ok()?;
        let record: process::JobRecord = serde_json::from_slice(&bytes).ok()?;
        slot.parse().ok().filter(|_| record.mark == mark)
    })
}

/// Whether the record of that slot names this attempt, and the machine was not started anew since: after a power cut the
/// tree may be torn.
pub(super) fn is_as_left(place: &StatePlace, slot: usize, attempt: &AttemptId) -> bool {
    let bytes = files::read(&note_of(place, slot), NOTE_BYTES_MAX).ok();
    let record = bytes.and_then(|bytes| serde_json::from_slice::<process::JobRecord>(&bytes).ok());
    record.is_some_and(|record| {
        let is_its_own = record.mark.rsplit('/').next() == Some(attempt.as_str());
        is_its_own && record.boot_id == process::boot_id()
    })
}

/// The mark of an attempt's processes.
pub(super) fn mark_of(place: &StatePlace, run: &RunId, attempt: &AttemptId) -> String {
    format!("{}/{run}/{attempt}", place.mark())
}

/// Ends what an earlier loop of this state left, and returns the ids. The caller holds the lease.
pub fn end_leftovers(place: &StatePlace) -> Vec<u32> {
    // The mark is of this state file and of no copy of it: an inode is not copied.
    process::sweep(&format!("{}/", place.mark()), &started(&place.attempts()))
}

/// The processes that an earlier loop recorded, one file a slot.
fn started(attempts: &Path) -> Vec<process::JobRecord> {
    let is_note = |path: &PathBuf| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(SLOT))
    };
    let notes = files::entries(attempts).into_iter().filter(is_note);
    notes
        .filter_map(|path| files::read(&path, NOTE_BYTES_MAX).ok())
        .filter_map(|bytes| serde_json::from_slice(&bytes).ok())
        .collect()
}
