//! The loop's own brand: what its tools leave behind (a server that a filter of git started) is known by it, ended
//! with the loop, and found by the next one if the loop was killed.
//!
//! Not here: the jobs' brands, which their guards put on.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::brand::{Brand, Worn};
use super::ending::{self, Method};
use super::orphans::Kin;
use super::table;

static WORN: Mutex<Option<Worn>> = Mutex::new(None);

fn worn() -> MutexGuard<'static, Option<Worn>> {
    // Every change is one assignment: a panic leaves nothing half done.
    WORN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// From here on, whatever this process starts bears a brand of that mark. A loop that runs inside of another's job bears
/// that job's, and keeps it; and where jobs have no guard, they would take ours for theirs.
pub fn begin(mark: &str) {
    if ending::taken().method == Method::Group || Brand::read(std::process::id()).is_some() {
        return;
    }
    let mut worn = worn();
    if worn.is_none() {
        *worn = Brand::of_job(mark).wear();
    }
}

/// Ends what tools left behind, and takes the brand off: from here on a next loop may look for what bears it.
pub fn end() {
    let ours = std::process::id();
    let (Some(entry), Some(brand)) = (table::entry(ours), Brand::read(ours)) else {
        return;
    };
    let left = Kin {
        leader: ours,
        start_ticks: entry.start_ticks,
        brand,
    };
    if !left.is_gone() {
        for pid in left.end() {
            tracing::info!(pid, "ended what a tool had left running");
        }
    }
    drop(worn().take());
}
