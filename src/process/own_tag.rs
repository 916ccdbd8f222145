//! The loop's own tag. It marks what the loop's tools leave behind, such as a server that a filter
//! of git started. Tagged processes end with the loop; if the loop was killed, the next one finds
//! and ends them.
//!
//! Here too: the fork server's life, which is as long. Not here: the jobs' tags, which their guards
//! set.

use super::ending::{self, Method};
#[cfg(target_os = "linux")]
use super::guard;
use super::orphans::JobProcesses;
use super::table;
use super::tag::{Tag, TagGuard};

/// While this lives, every process that this process starts has the tag. Dropping it ends the
/// processes that still have it.
#[derive(Debug)]
pub struct OwnTag {
    /// `None` if another tag was set before.
    _guard: Option<TagGuard>,
}

impl OwnTag {
    /// Sets the tag, once per process. A loop inside another's job keeps that job's tag. Without
    /// guards no tag is set, because the jobs would inherit it.
    #[must_use]
    pub fn begin(mark: &str) -> OwnTag {
        let has_guards = ending::chosen().method != Method::Group;
        let is_bare = Tag::read(std::process::id()).is_none();
        let worn = (has_guards && is_bare).then(|| Tag::new(mark).set());
        OwnTag { _guard: worn.flatten() }
    }
}

/// From here on the fork server makes the guards; it ends with [`OwnTag`]. An earlier loop's
/// processes must have been ended before: they have our tag, and the server would be taken for one
/// of them.
pub fn open_fork_server() {
    #[cfg(target_os = "linux")]
    if ending::chosen().method != Method::Group {
        guard::fork_server::open();
    }
}

impl Drop for OwnTag {
    /// From here on a next loop may search for the tag: this process has it no longer.
    fn drop(&mut self) {
        #[cfg(target_os = "linux")]
        guard::fork_server::close();
        let ours = std::process::id();
        let (Some(entry), Some(tag)) = (table::entry(ours), Tag::read(ours)) else {
            return;
        };
        let left = JobProcesses { leader: ours, start_ticks: entry.start_ticks, tag };
        if left.is_gone() {
            return;
        }
        for pid in left.end() {
            tracing::info!(pid, "ended what a tool had left running");
        }
    }
}
