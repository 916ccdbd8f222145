//! The loop's own brand: what its tools leave behind (a server that a filter of git started) is known by it, ended
//! with the loop, and found by the next one if the loop was killed.
//!
//! Here too: how long the nursery of guards lives, which is as long. Not here: the jobs' brands, which their guards put on.

use super::ending::{self, Method};
#[cfg(target_os = "linux")]
use super::guard;
use super::orphans::JobProcesses;
use super::table;
use super::tag::{Tag, TagGuard};

/// While this lives, whatever this process starts bears the brand; dropping it ends what bears it still.
#[derive(Debug)]
pub struct OwnTag {
    /// Nothing where somebody else's was on before.
    _worn: Option<TagGuard>,
}

impl OwnTag {
    /// Once a process, and for all of it. A loop that runs inside of another's job bears that job's brand, and keeps
    /// it; and where jobs have no guard, they would bear ours.
    #[must_use]
    pub fn begin(mark: &str) -> OwnTag {
        let has_guards = ending::taken().method != Method::Group;
        let is_bare = Tag::read(std::process::id()).is_none();
        let worn = (has_guards && is_bare).then(|| Tag::of_job(mark).wear());
        OwnTag {
            _worn: worn.flatten(),
        }
    }
}

/// From here on guards are born in a nursery, which ends with [`Own`]. Not before what an earlier loop left was ended: it
/// bears our brand, and would be taken for that.
pub fn open_nursery() {
    #[cfg(target_os = "linux")]
    if ending::taken().method != Method::Group {
        guard::fork_server::open();
    }
}

impl Drop for OwnTag {
    /// From here on a next loop may look for what bears the brand: this process does so no longer.
    fn drop(&mut self) {
        #[cfg(target_os = "linux")]
        guard::fork_server::close();
        let ours = std::process::id();
        let (Some(entry), Some(brand)) = (table::entry(ours), Tag::read(ours)) else {
            return;
        };
        let left = JobProcesses {
            leader: ours,
            start_ticks: entry.start_ticks,
            brand,
        };
        if left.is_gone() {
            return;
        }
        for pid in left.end() {
            tracing::info!(pid, "ended what a tool had left running");
        }
    }
}
