//! The activity of a loop, for the operations that meet one, and the reasons why they cannot wait for it.

use descent_core::{
    state::RunStatus,
    view::liveness::{self, Activity, HeartbeatView, Liveness, WaitsFor},
};

use crate::heartbeat;
use descent_store::Store;
use descent_system::{
    failure::{Failure, exit},
    phrase,
};

/// The way to end a loop instead, if it reads no request.
pub const OR_END: &str = "; or end the loop: descent stop --now";

/// The loop of this state, as it is now.
#[derive(Debug)]
pub struct LoopObservation {
    pub liveness: Liveness,
    /// The description that the holder of the lease left.
    pub holder: Option<String>,
    /// Its process, by that.
    pub pid: Option<u32>,
    is_stopped: bool,
}

pub fn observe(store: &Store, status: RunStatus) -> LoopObservation {
    let holder = store.holder();
    let is_held = holder.is_some() || store.is_live();
    let seen = heartbeat::read_at(store.place(), holder.as_deref(), is_held);
    let activity = liveness::activity(&seen.signals, status);
    let waits_for = (activity == Activity::Idle)
        .then(|| seen.signals.heartbeat.and_then(|heartbeat| heartbeat.waits_for))
        .flatten();
    let is_stopped = seen.signals.is_stopped;
    let pid = holder.as_deref().and_then(heartbeat::pid_in);
    let mend = pid.filter(|_| activity == Activity::Hung).map(|pid| match is_stopped {
        true => format!("kill -CONT {pid}"),
        false => "descent stop --now && descent run".to_owned(),
    });
    LoopObservation {
        liveness: Liveness {
            activity,
            waits_for: waits_for.filter(|_| is_held),
            heartbeat: seen.view,
            mend,
        },
        holder,
        pid,
        is_stopped,
    }
}

impl LoopObservation {
    pub fn heartbeat(&self) -> Option<&HeartbeatView> {
        self.liveness.heartbeat.as_ref()
    }

    pub(crate) fn is_hung(&self) -> bool {
        self.liveness.activity == Activity::Hung
    }

    /// Whether it reads the requests that are committed.
    pub(crate) fn reads_requests(&self) -> bool {
        let waits_for = self.liveness.waits_for;
        !self.is_hung() && !matches!(waits_for, Some(WaitsFor::File | WaitsFor::Disk))
    }

    /// `the loop hangs for 2 m: its process was stopped (pid 12, run)`.
    pub fn hung(&self) -> String {
        let age_ms = self.heartbeat().and_then(|heartbeat| heartbeat.age_ms);
        let since = age_ms.map(|age_ms| format!(" for {}", phrase::age(age_ms)));
        let why = if self.is_stopped {
            "its process was stopped by a signal"
        } else {
            "it gives no sign of life"
        };
        format!(
            "the loop hangs{}: {why} ({})",
            since.unwrap_or_default(),
            self.holder.as_deref().unwrap_or("unknown")
        )
    }

    /// An error if the loop hangs, or waits for room: then a command waits in vain.
    pub fn goes_on(&self, so_far: &str) -> Result<(), Failure> {
        self.lives(so_far)?;
        let Some(what @ WaitsFor::Disk) = self.liveness.waits_for else {
            return Ok(());
        };
        let message = format!("{so_far}{}", self.waits(what));
        let hint = format!("make room, and it goes on{OR_END}");
        Err(Failure::new("E-MACHINE", exit::IO, message, hint))
    }

    fn waits(&self, what: WaitsFor) -> String {
        let who = self.holder.as_deref().unwrap_or("unknown");
        format!("the loop waits {} ({who})", waits_for(what))
    }

    /// An error if the loop hangs.
    pub fn lives(&self, so_far: &str) -> Result<(), Failure> {
        if self.is_hung() { Err(self.failure("E-LOOP-HUNG", so_far)) } else { Ok(()) }
    }

    /// The error if the loop has read a saved file and refuses it.
    pub(crate) fn refuses_the_file(&self) -> Option<Failure> {
        let what = self.liveness.waits_for.filter(|what| *what == WaitsFor::File)?;
        let message = format!("nothing is written yet: {}", self.waits(what));
        let hint = format!("mend what `run` says of it{OR_END}");
        Some(Failure::new("E-STATE-INVALID", exit::INVALID, message, hint))
    }

    /// The failure of a command that a hung loop blocks; `but` names what was done all the same.
    pub fn failure(&self, code: &'static str, but: &str) -> Failure {
        let mend = self.liveness.mend.clone();
        let hint = mend.unwrap_or_else(|| "descent status".to_owned());
        Failure::new(code, exit::LEASE, format!("{but}{}", self.hung()), hint)
    }
}

pub fn waits_for(what: WaitsFor) -> &'static str {
    match what {
        WaitsFor::File => "for the state file to be mended",
        WaitsFor::Disk => "for room on the disk, or the right to write there",
        WaitsFor::Repository => "for the repository, which is not there",
        WaitsFor::Backoff => "to try something again",
        WaitsFor::Redirect => "for the change of a redirect",
    }
}
