//! The activity of a loop, in a line for a person.

use descent_core::view::liveness::{Activity, WaitsFor};

use crate::{
    clock,
    failure::Failure,
    heartbeat,
    ops::liveness::{LoopObservation, OR_END, waits_for},
    render::{self, Meaning, StatusNote},
};

/// One line on the activity of a loop, if there is any.
pub(super) fn note(observed: &LoopObservation) -> Option<StatusNote> {
    let (meaning, text) = match (observed.liveness.activity, observed.holder.as_deref()) {
        (Activity::Running, who) => {
            let who = who?;
            (Meaning::Running, format!("a loop is at work: {who}"))
        }
        (Activity::Idle, who) => {
            let what = waits_for(observed.liveness.waits_for?);
            (Meaning::Unknown, format!("a loop waits {what}: {}", who?))
        }
        (Activity::Hung, _) => (Meaning::Fail, observed.hung()),
        (Activity::Asleep, who) => {
            let slept_ms = observed.heartbeat().and_then(|heartbeat| heartbeat.slept_ms);
            let slept = render::age(slept_ms.unwrap_or(0));
            let text = format!("the machine slept for {slept}; the loop goes on: {}", who?);
            (Meaning::Running, text)
        }
        (Activity::Dead, _) => {
            let heartbeat = observed.heartbeat()?;
            let seen =
                render::since_moment(heartbeat::last_sign(heartbeat, clock::now()), clock::now());
            let (doing, pid) = (heartbeat.phase.describe(), heartbeat.pid);
            let text = format!("its last sign of life: {seen}, {doing} (pid {pid})");
            (Meaning::Dim, text)
        }
    };
    Some(StatusNote { meaning, text })
}

/// Adds the state of a loop to a failure: one that waits for the file can still be ended.
pub(super) fn with_note(observed: &LoopObservation, mut failure: Failure) -> Failure {
    let is_waiting = observed.liveness.waits_for == Some(WaitsFor::File);
    if let Some(note) = note(observed).filter(|_| is_waiting) {
        failure.details.push(note.text);
        failure.hint.push_str(OR_END);
    }
    failure
}
