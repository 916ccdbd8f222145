//! The activity of a loop, seen from outside: at work, waiting, hung, dead, or on a machine that
//! slept.
//!
//! Invariant: the holder of the lease is alive. A heartbeat only tells its activity, and a missing
//! one proves nothing. Not here: reading clocks, locks and the heartbeat.

use crate::doc::prelude::*;
use serde::{Deserialize, Serialize};

use crate::{
    desired::{DesiredWork, Work},
    event::Scope,
    state::RunStatus,
};

/// Maximum time between two heartbeats.
pub const BEAT_EVERY_MS: u64 = 2_000;
/// Without a heartbeat for this long a loop is hung: a busy machine or a slow disk may delay some.
pub const HUNG_MS: u64 = 10_000;
/// A shorter sleep is the rounding of two clocks.
const SLEEP_MS_MIN: u64 = 1_000;

/// The present activity of a loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum LoopPhase {
    Starting,
    Attempts,
    Merging,
    Checks,
    BaseCase,
    Judging,
    Rebuilding,
    /// Nothing can be done now.
    Waiting,
    Ending,
}

impl LoopPhase {
    pub fn describe(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Attempts => "making attempts",
            Self::Merging => "merging",
            Self::Checks => "measuring checks",
            Self::BaseCase => "measuring the base case",
            Self::Judging => "asking a judge",
            Self::Rebuilding => "rebuilding the result",
            Self::Waiting => "waiting",
            Self::Ending => "ending",
        }
    }

    /// Whether the loop takes a turn every second in this phase; in others a turn takes as long as
    /// git takes.
    pub fn turns(self) -> bool {
        !matches!(self, Self::Starting | Self::Ending)
    }
}

/// Why no new work begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum WaitsFor {
    /// The state file has to be corrected.
    File,
    /// Disk space, or the right to write, is lacking.
    Disk,
    /// The person's repository has been moved away.
    Repository,
    /// The time of the next retry has not come.
    Backoff,
    /// A person redirects the run, and has not said yet how.
    Redirect,
}

/// The phase of the loop, by the desired work.
pub fn phase(desired: &DesiredWork) -> LoopPhase {
    if desired.is_over {
        return LoopPhase::Ending;
    }
    let phases = desired.effects.iter().map(|(_, effect)| match effect {
        Work::Attempt(_) => LoopPhase::Attempts,
        Work::Judge { scope: Scope::Atom(_), .. } => LoopPhase::Checks,
        Work::Judge { scope: Scope::BaseCase, .. } => LoopPhase::BaseCase,
        Work::Merge { .. } => LoopPhase::Merging,
        Work::Rebuild { .. } | Work::Stage { .. } => LoopPhase::Rebuilding,
        Work::Consult(_) => LoopPhase::Judging,
        Work::Learn(_) => LoopPhase::Waiting,
    });
    phases.min_by_key(|phase| *phase as u8).unwrap_or(LoopPhase::Waiting)
}

/// The observed signals of a loop.
#[derive(Debug, Clone, Copy, Default)]
pub struct LoopSignals {
    pub is_lease_held: bool,
    /// The holder's process was stopped by a signal.
    pub is_stopped: bool,
    /// The newest heartbeat, if it is of the holder and of this boot of this machine.
    pub heartbeat: Option<LastBeat>,
    /// Whether heartbeats can be written in the directory of the state.
    pub can_beat: bool,
}

#[derive(Debug, Clone, Copy)]
pub struct LastBeat {
    /// Without the time that the machine slept since.
    pub age_ms: u64,
    /// How long the machine slept since.
    pub slept_ms: u64,
    pub waits_for: Option<WaitsFor>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Activity {
    /// A loop is at work.
    Running,
    /// A loop lives and makes no progress: its process was stopped, or it is stuck.
    Hung,
    /// By the state it runs, but no process does.
    Dead,
    /// The machine slept, and the loop has not taken a turn since.
    Asleep,
    /// Nothing runs; or the loop waits, and `waits_for` gives the reason.
    Idle,
}

/// The activity that the signals imply.
pub fn activity(signals: &LoopSignals, status: RunStatus) -> Activity {
    if !signals.is_lease_held {
        return if status.is_active() { Activity::Dead } else { Activity::Idle };
    }
    if signals.is_stopped {
        return Activity::Hung;
    }
    // There is no heartbeat yet, or it was deleted. The loop holds the lease, so it lives.
    let Some(heartbeat) = signals.heartbeat else {
        return Activity::Running;
    };
    if heartbeat.age_ms > HUNG_MS {
        return if signals.can_beat { Activity::Hung } else { Activity::Running };
    }
    if heartbeat.slept_ms >= SLEEP_MS_MIN {
        return Activity::Asleep;
    }
    match heartbeat.waits_for {
        Some(_) => Activity::Idle,
        None => Activity::Running,
    }
}

/// The loop as `status` shows it.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Liveness {
    pub activity: Activity,
    pub waits_for: Option<WaitsFor>,
    /// The content of the heartbeat, if there is one; it may be of a dead loop.
    pub heartbeat: Option<HeartbeatView>,
    /// The command that gets a hung loop going again.
    #[serde(skip)]
    pub mend: Option<String>,
}

impl Liveness {
    /// For a state of the past, which has no loop.
    pub fn none() -> Self {
        Self { activity: Activity::Idle, waits_for: None, heartbeat: None, mend: None }
    }
}

#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HeartbeatView {
    pub run: String,
    pub pid: u32,
    pub host: String,
    pub phase: LoopPhase,
    pub iteration: u64,
    pub in_flight: Vec<String>,
    /// By the time of day then.
    pub at: String,
    /// Absent for another boot or machine.
    pub age_ms: Option<u64>,
    /// How long the machine slept since.
    pub slept_ms: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRESH: LastBeat = LastBeat { age_ms: 900, slept_ms: 0, waits_for: None };
    const HELD: LoopSignals = LoopSignals {
        is_lease_held: true,
        is_stopped: false,
        heartbeat: Some(FRESH),
        can_beat: true,
    };

    #[track_caller]
    fn check(signals: LoopSignals, status: RunStatus, expected: Activity) {
        assert_eq!(activity(&signals, status), expected, "{signals:?}");
    }

    fn beating(heartbeat: LastBeat) -> LoopSignals {
        LoopSignals { heartbeat: Some(heartbeat), ..HELD }
    }

    #[test]
    fn who_holds_the_lease_and_beats_is_at_work() {
        check(HELD, RunStatus::Running, Activity::Running);
        check(HELD, RunStatus::Aligned, Activity::Running);
    }

    #[test]
    fn without_a_lease_a_run_is_dead_and_anything_else_is_idle_whatever_the_beat() {
        let free = LoopSignals { is_lease_held: false, ..HELD };
        check(free, RunStatus::Running, Activity::Dead);
        check(free, RunStatus::Redirecting, Activity::Dead);
        check(free, RunStatus::Stopped, Activity::Idle);
        check(free, RunStatus::Completed, Activity::Idle);
    }

    #[test]
    fn an_old_beat_or_a_stopped_process_is_a_hung_loop_and_no_dead_one() {
        let old = LastBeat { age_ms: HUNG_MS + 1, ..FRESH };
        check(beating(old), RunStatus::Running, Activity::Hung);
        let edge = LastBeat { age_ms: HUNG_MS, ..FRESH };
        check(beating(edge), RunStatus::Running, Activity::Running);
        let stopped = LoopSignals { is_stopped: true, ..HELD };
        check(stopped, RunStatus::Running, Activity::Hung);
    }

    #[test]
    fn a_beat_that_is_not_there_or_cannot_be_written_proves_nothing() {
        let silent = LoopSignals { heartbeat: None, ..HELD };
        check(silent, RunStatus::Running, Activity::Running);
        let old = LastBeat { age_ms: HUNG_MS * 100, ..FRESH };
        let unwritable = LoopSignals { can_beat: false, ..beating(old) };
        check(unwritable, RunStatus::Running, Activity::Running);
    }

    #[test]
    fn a_night_of_sleep_is_no_hang() {
        let slept = LastBeat { slept_ms: 8 * 3_600_000, ..FRESH };
        check(beating(slept), RunStatus::Running, Activity::Asleep);
        let rounding = LastBeat { slept_ms: SLEEP_MS_MIN - 1, ..FRESH };
        check(beating(rounding), RunStatus::Running, Activity::Running);
    }

    #[test]
    fn a_loop_that_waits_is_idle() {
        for waits_for in [
            WaitsFor::File,
            WaitsFor::Disk,
            WaitsFor::Repository,
            WaitsFor::Backoff,
            WaitsFor::Redirect,
        ] {
            let waiting = LastBeat { waits_for: Some(waits_for), ..FRESH };
            check(beating(waiting), RunStatus::Running, Activity::Idle);
        }
    }
}
