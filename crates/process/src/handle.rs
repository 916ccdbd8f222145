//! The handle of a running job: dropping it kills the job and all its descendants. The loop's own tag does the same for
//! what its tools left.
#![allow(clippy::disallowed_methods)] // door: how long an ended process may take to be gone

use std::{
    io,
    os::unix::{net::UnixStream, process::ExitStatusExt},
    process::ExitStatus,
    time::{Duration, Instant},
};

use rustix::process::Signal;
use tokio::process::Child;

use super::{
    JobEnd, JobRecord,
    cgroup::Leaf,
    guard_report::GuardReport,
    methods::{self, Method},
    orphans::{self, JobProcesses},
    process_table,
    registry::RegistryEntry,
    tag::{Tag, TagGuard},
    timeouts::REAP_MAX,
};

pub(super) struct JobHandle {
    pub(super) processes: JobProcesses,
    pub(super) method: Method,
    pub(super) leaf: Option<Leaf>,
    /// The control socket of a job that has a guard: closing it ends the job.
    pub(super) control: Option<UnixStream>,
    /// `None` once the leader has been reaped.
    pub(super) registered: Option<RegistryEntry>,
}

impl JobHandle {
    pub(super) fn record(&self, mark: &str) -> JobRecord {
        JobRecord {
            pid: self.processes.leader,
            start_ticks: self.processes.start_ticks,
            boot_id: process_table::boot_id(),
            mark: mark.to_owned(),
            method: self.method,
            tag: self.processes.tag,
            cgroup: self.leaf.as_ref().map(|leaf| leaf.path().to_owned()),
        }
    }

    /// How the job ended. The leader was the command itself, or its guard, which reports how the
    /// command ended.
    pub(super) fn job_end(&self, status: io::Result<ExitStatus>) -> Result<JobEnd, io::Error> {
        let Some(control) = &self.control else {
            return Ok(end_of_status(status));
        };
        // The guard is dead: its report is there already, or never comes.
        control.set_nonblocking(true)?;
        match GuardReport::read(control) {
            Some(GuardReport::Ended(raw)) => Ok(end_of_status(Ok(ExitStatus::from_raw(raw)))),
            Some(GuardReport::Failed(error)) => Err(error),
            None => Ok(JobEnd::Signal(9)),
        }
    }

    /// Ends the job for good, after the leader ended by itself or to cut it off.
    pub(super) async fn release(&mut self, child: &mut Child, is_cut: bool) {
        if is_cut {
            self.kill_tree();
            if tokio::time::timeout(REAP_MAX, child.wait()).await.is_err() {
                return;
            }
        }
        // The leader was reaped in this very poll. Another process can have its id only if its
        // group is empty and the kernel has used all other ids since.
        orphans::signal_group(self.processes.leader, Signal::KILL);
        self.registered = None;
        let is_empty = self.leaf.as_ref().is_none_or(Leaf::remove);
        if !is_empty || !self.is_proven_gone(child) && !self.processes.is_gone() {
            let (processes, leaf) = (self.processes, self.leaf.clone());
            // This fails only if the runtime ends; then its thread goes on by itself.
            let _ = tokio::task::spawn_blocking(move || end(&processes, leaf.as_ref())).await;
        }
    }

    /// A guard that ended by itself has ended its namespace, and with it everything born inside. If
    /// the control group is gone too, no search is needed; a search reads the children of all our
    /// threads. This does not hold for a killed guard.
    fn is_proven_gone(&self, guard: &mut Child) -> bool {
        let is_done = matches!(guard.try_wait(), Ok(Some(status)) if status.success());
        is_done && self.method == Method::Namespace && self.leaf.is_some()
    }

    /// Kills quickly, because the start of another job may wait for it.
    fn kill_tree(&self) {
        let (leader, start_ticks) = (self.processes.leader, self.processes.start_ticks);
        match &self.leaf {
            // Only the guard is outside the group. Everything else outside is found when the guard
            // is gone.
            Some(leaf) => {
                orphans::note_ended(leaf.processes());
                leaf.kill();
                orphans::kill_leader(leader, start_ticks);
            }
            None => orphans::kill_tree(leader, start_ticks),
        }
    }
}

impl Drop for JobHandle {
    fn drop(&mut self) {
        let Some(registered) = self.registered.take() else {
            return;
        };
        self.kill_tree();
        let (processes, leaf) = (self.processes, self.leaf.clone());
        let finish = move || {
            wait_until_reaped(&processes);
            drop(registered);
            end(&processes, leaf.as_ref());
        };
        // Without a thread, processes that escaped from the tree before this moment are left.
        let _ = std::thread::Builder::new().name("orphans".to_owned()).spawn(finish);
    }
}

fn end(processes: &JobProcesses, leaf: Option<&Leaf>) {
    leaf.into_iter().for_each(Leaf::kill);
    processes.end();
    leaf.into_iter().for_each(Leaf::end);
}

fn end_of_status(status: io::Result<ExitStatus>) -> JobEnd {
    // Without a status (another thread reaped our child) we only know that it ended badly.
    let Ok(status) = status else {
        return JobEnd::Signal(9);
    };
    match (status.code(), status.signal()) {
        (Some(code), _) => JobEnd::Exit(code),
        (None, signal) => JobEnd::Signal(signal.unwrap_or(9)),
    }
}

/// The runtime reaps the dropped child; until then its id has to stay on the list.
fn wait_until_reaped(processes: &JobProcesses) {
    let until = Instant::now() + REAP_MAX;
    let is_there = || {
        process_table::entry(processes.leader)
            .is_some_and(|now| now.start_ticks == processes.start_ticks)
    };
    while is_there() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(2));
    }
}

// The loop's own tag. It marks what the loop's tools leave behind, such as a server that a filter
// of git started. Tagged processes end with the loop; if the loop was killed, the next one finds
// and ends them.

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
        let has_guards = methods::chosen().method != Method::Group;
        let is_bare = Tag::read(std::process::id()).is_none();
        let worn = (has_guards && is_bare).then(|| Tag::new(mark).set());
        OwnTag { _guard: worn.flatten() }
    }
}

impl Drop for OwnTag {
    /// From here on a next loop may search for the tag: this process has it no longer.
    fn drop(&mut self) {
        let ours = std::process::id();
        let (Some(entry), Some(tag)) = (process_table::entry(ours), Tag::read(ours)) else {
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
