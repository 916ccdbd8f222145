//! What holds a running job: dropping it kills the job and all that descends from it.
#![allow(clippy::disallowed_methods)] // door: how long an ended process may take to be gone

use std::io;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use super::cgroup::Leaf;
use super::ending::Method;
use super::guard_report::GuardReport;
use super::leader::Leader;
use super::orphans::{self, JobProcesses};
use super::registry::RegistryEntry;
use super::{JobEnd, JobRecord, table};

/// How long a killed leader is waited for; one that hangs in the kernel is given up.
pub(super) const REAP_MAX: Duration = Duration::from_secs(2);

pub(super) struct JobHandle {
    pub(super) kin: JobProcesses,
    pub(super) method: Method,
    pub(super) leaf: Option<Leaf>,
    /// Of a job that has a guard: closing it ends the job.
    pub(super) control: Option<UnixStream>,
    /// Nothing once the leader has been reaped.
    pub(super) registered: Option<RegistryEntry>,
}

impl JobHandle {
    pub(super) fn started(&self, mark: &str) -> JobRecord {
        JobRecord {
            pid: self.kin.leader,
            start_ticks: self.kin.start_ticks,
            boot_id: table::boot_id(),
            mark: mark.to_owned(),
            method: Some(self.method),
            brand: Some(self.kin.brand),
            cgroup: self.leaf.as_ref().map(|leaf| leaf.path().to_owned()),
        }
    }

    /// What the ended leader was: the command itself, or its guard, which says how the command ended.
    pub(super) fn how(&self, status: io::Result<ExitStatus>) -> Result<JobEnd, io::Error> {
        let Some(control) = &self.control else {
            return Ok(how(status));
        };
        // It is dead: what it said is there, and nobody says more.
        control.set_nonblocking(true)?;
        match GuardReport::read(control) {
            Some(GuardReport::Ended(raw)) => Ok(how(Ok(ExitStatus::from_raw(raw)))),
            Some(GuardReport::Failed(errno)) => Err(io::Error::from_raw_os_error(errno)),
            None => Ok(JobEnd::Signal(9)),
        }
    }

    /// Ends the job for good, whether the leader has ended by itself or is to be cut off.
    pub(super) async fn release(&mut self, child: &mut Leader, is_cut: bool) {
        if is_cut {
            self.fell();
            if tokio::time::timeout(REAP_MAX, child.wait()).await.is_err() {
                return;
            }
        }
        // The leader was reaped in this very poll. Its id can be somebody else's only if its group
        // is empty and the kernel has gone once around all ids since.
        orphans::kill_group(self.kin.leader);
        self.registered = None;
        let is_empty = self.leaf.as_ref().is_none_or(Leaf::remove);
        if !is_empty || !self.is_proven_gone(child) && !self.kin.is_gone() {
            let (kin, leaf) = (self.kin, self.leaf.clone());
            // It fails only if the runtime ends, and then its thread goes on by itself.
            let _ = tokio::task::spawn_blocking(move || end(&kin, leaf.as_ref())).await;
        }
    }

    /// A guard that came to its own end has ended its namespace, and the kernel with that all that was born in it; with
    /// the group gone too nobody needs to be looked for, which costs a look at every thread of ours. Not where the guard
    /// was killed.
    fn is_proven_gone(&self, guard: &mut Leader) -> bool {
        let is_done = matches!(guard.try_wait(), Ok(Some(status)) if status.success());
        is_done && self.method == Method::Namespace && self.leaf.is_some()
    }

    /// Quick: another job's may wait behind it.
    fn fell(&self) {
        let (leader, start_ticks) = (self.kin.leader, self.kin.start_ticks);
        match &self.leaf {
            // All but the guard is in it; what is not is found when the guard is gone.
            Some(leaf) => {
                leaf.kill();
                orphans::kill_leader(leader, start_ticks);
            }
            None => orphans::fell(leader, start_ticks),
        }
    }
}

impl Drop for JobHandle {
    fn drop(&mut self) {
        let Some(registered) = self.registered.take() else {
            return;
        };
        self.fell();
        let (kin, leaf) = (self.kin, self.leaf.clone());
        let finish = move || {
            wait_until_reaped(&kin);
            drop(registered);
            end(&kin, leaf.as_ref());
        };
        // Without a thread what is left is what escaped from the tree before this moment.
        let _ = std::thread::Builder::new()
            .name("orphans".to_owned())
            .spawn(finish);
    }
}

fn end(kin: &JobProcesses, leaf: Option<&Leaf>) {
    if let Some(leaf) = leaf {
        leaf.kill();
    }
    kin.end();
    if let Some(leaf) = leaf {
        leaf.end();
    }
}

fn how(status: io::Result<ExitStatus>) -> JobEnd {
    // Without a status (somebody else reaped our child) all that is known is that it ended badly.
    let Ok(status) = status else {
        return JobEnd::Signal(9);
    };
    match (status.code(), status.signal()) {
        (Some(code), _) => JobEnd::Exit(code),
        (None, signal) => JobEnd::Signal(signal.unwrap_or(9)),
    }
}

/// The runtime reaps the child that was dropped; until then its id has to stay on the list.
fn wait_until_reaped(kin: &JobProcesses) {
    let until = Instant::now() + REAP_MAX;
    let is_there =
        || table::entry(kin.leader).is_some_and(|now| now.start_ticks == kin.start_ticks);
    while is_there() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(2));
    }
}
