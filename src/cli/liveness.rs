//! What a loop does, for the commands that meet one: `status`, `run`, `stop`.

use descent_core::{
    state::RunStatus,
    view::liveness::{self, Activity, HeartbeatView, Liveness, WaitsFor},
};

use crate::{
    clock,
    failure::{Failure, exit},
    heartbeat,
    render::{self, Meaning, StatusNote},
    store::Store,
};

/// The loop of this state, as it is now.
pub(super) struct LoopObservation {
    pub(super) liveness: Liveness,
    /// What the holder of the lease said of itself.
    holder: Option<String>,
    is_stopped: bool,
}

pub(super) fn look(store: &Store, status: RunStatus) -> LoopObservation {
    let holder = store.holder();
    let is_held = holder.is_some() || store.is_live();
    let seen = heartbeat::look(store.place(), holder.as_deref(), is_held);
    let activity = liveness::activity(&seen.pulse, status);
    let waits_for = (activity == Activity::Idle)
        .then(|| seen.pulse.beat.and_then(|beat| beat.waits_for))
        .flatten();
    let is_stopped = seen.pulse.is_stopped;
    let pid = holder.as_deref().and_then(heartbeat::pid_in);
    let mend = pid
        .filter(|_| activity == Activity::Hung)
        .map(|pid| mend(pid, is_stopped));
    LoopObservation {
        liveness: Liveness {
            activity,
            waits_for: waits_for.filter(|_| is_held),
            heartbeat: seen.view,
            mend,
        },
        holder,
        is_stopped,
    }
}

fn mend(pid: u32, is_stopped: bool) -> String {
    if is_stopped {
        format!("kill -CONT {pid}")
    } else {
        format!("kill -9 {pid} && descent run")
    }
}

impl LoopObservation {
    /// One line of what is going on, where something is.
    pub(super) fn note(&self) -> Option<StatusNote> {
        let who = self.holder.as_deref();
        let (meaning, text) = match (self.liveness.activity, who) {
            (Activity::Running, who) => {
                let who = who?;
                (Meaning::Running, format!("a loop is at work: {who}"))
            }
            (Activity::Idle, who) => {
                let what = waits_for(self.liveness.waits_for?);
                (Meaning::Unknown, format!("a loop waits {what}: {}", who?))
            }
            (Activity::Hung, _) => (Meaning::Fail, self.hung()),
            (Activity::Asleep, who) => {
                let slept_ms = self.beat().and_then(|beat| beat.slept_ms);
                let slept = render::age(slept_ms.unwrap_or(0));
                let text = format!("the machine slept for {slept}; the loop goes on: {}", who?);
                (Meaning::Running, text)
            }
            (Activity::Dead, _) => {
                let beat = self.beat()?;
                let seen =
                    render::since_moment(heartbeat::last_sign(beat, clock::now()), clock::now());
                let (doing, pid) = (beat.phase.words(), beat.pid);
                let text = format!("its last sign of life: {seen}, {doing} (pid {pid})");
                (Meaning::Dim, text)
            }
        };
        Some(StatusNote { meaning, text })
    }

    fn beat(&self) -> Option<&HeartbeatView> {
        self.liveness.heartbeat.as_ref()
    }

    pub(super) fn is_hung(&self) -> bool {
        self.liveness.activity == Activity::Hung
    }

    /// `the loop hangs for 2 m: its process was stopped (pid 12, run)`.
    fn hung(&self) -> String {
        let age_ms = self.beat().and_then(|beat| beat.age_ms);
        let since = age_ms.map(|age_ms| format!(" for {}", render::age(age_ms)));
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

    /// An error if the loop hangs, or waits for room: it does nothing that a command could wait for.
    pub(super) fn goes_on(&self, so_far: &str) -> Result<(), Failure> {
        self.lives(so_far)?;
        match self.liveness.waits_for {
            Some(what @ WaitsFor::Disk) => Err(self.without_room(so_far, what)),
            _ => Ok(()),
        }
    }

    /// An error if the loop hangs.
    pub(super) fn lives(&self, so_far: &str) -> Result<(), Failure> {
        match self.is_hung() {
            true => Err(self.failure("E-LOOP-HUNG", so_far)),
            false => Ok(()),
        }
    }

    /// The loop has read what was saved, and does not take it in.
    pub(super) fn refuses_the_file(&self) -> Option<Failure> {
        let what = self
            .liveness
            .waits_for
            .filter(|what| *what == WaitsFor::File)?;
        let who = self.holder.as_deref().unwrap_or("unknown");
        let message = format!(
            "nothing is written yet: the loop waits {} ({who})",
            waits_for(what)
        );
        let hint = format!("mend what `run` says of it{}", self.or_end());
        Some(Failure::new(
            "E-STATE-INVALID",
            exit::INVALID,
            message,
            hint,
        ))
    }

    /// The file cannot be read: a loop that waits for it is told beside that, for it too can be ended.
    pub(super) fn beside(&self, mut failure: Failure) -> Failure {
        let is_waiting = self.liveness.waits_for == Some(WaitsFor::File);
        if let Some(note) = self.note().filter(|_| is_waiting) {
            failure.details.push(note.text);
            failure.hint.push_str(&self.or_end());
        }
        failure
    }

    fn or_end(&self) -> String {
        let pid = self.holder.as_deref().and_then(heartbeat::pid_in);
        let or = pid.map(|pid| format!("; or end the loop: kill -INT {pid}"));
        or.unwrap_or_default()
    }

    fn without_room(&self, so_far: &str, what: WaitsFor) -> Failure {
        let who = self.holder.as_deref().unwrap_or("unknown");
        let message = format!("{so_far}the loop waits {} ({who})", waits_for(what));
        let hint = format!("make room, and it goes on{}", self.or_end());
        Failure::new("E-DISK-FULL", exit::IO, message, hint)
    }

    /// For a command that the hung loop keeps from its work; `but` is what was done all the same.
    pub(super) fn failure(&self, code: &'static str, but: &str) -> Failure {
        let mend = self.liveness.mend.clone();
        let hint = mend.unwrap_or_else(|| "descent status".to_owned());
        Failure::new(code, exit::LEASE, format!("{but}{}", self.hung()), hint)
    }
}

fn waits_for(what: WaitsFor) -> &'static str {
    match what {
        WaitsFor::File => "for the state file to be mended",
        WaitsFor::Disk => "for room on the disk, or the right to write there",
        WaitsFor::Backoff => "to try something again",
    }
}
