//! Counts the processes that end with their jobs, from the moment when a person asks for the end.
//!
//! Invariant: nothing is kept until the count begins. A process is counted once, however often it is met.

use std::{
    collections::BTreeSet,
    sync::{Mutex, MutexGuard, PoisonError},
};

use super::table;

/// Process ids with their start times; `None` before the count.
static ENDED: Mutex<Option<BTreeSet<(u32, u64)>>> = Mutex::new(None);

/// Begins the count.
pub fn begin() {
    ended().get_or_insert_default();
}

/// The processes that were ended since the count began.
pub fn count() -> u64 {
    ended().as_ref().map_or(0, |ended| ended.len() as u64)
}

/// Notes processes that are about to be killed. Our own around a job are not counted: nobody asked for them.
pub(super) fn note(pids: impl IntoIterator<Item = u32>) {
    let mut ended = ended();
    let Some(ended) = ended.as_mut() else { return };
    for one in pids.into_iter().filter_map(table::entry) {
        let ours = [Ok(table::GUARD), table::FIRST.to_str()];
        let is_ours = ours.into_iter().flatten().any(|name| table::is_named(one.pid, name));
        if !one.is_zombie && !is_ours {
            ended.insert((one.pid, one.start_ticks));
        }
    }
}

fn ended() -> MutexGuard<'static, Option<BTreeSet<(u32, u64)>>> {
    ENDED.lock().unwrap_or_else(PoisonError::into_inner)
}
