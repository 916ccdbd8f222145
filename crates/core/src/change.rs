//! A person's changes as data, and the engine that applies them: changes and a state give the next state, with its
//! consequences.
//!
//! A change by command is the state as it is wanted (`Change`). An edit of the file is merged first (`merge`). The
//! difference of either from the committed state counts (`between`), and has the same consequences (`draft`).
//!
//! Not here: the inputs of a loop (`step`).

mod between;
mod corrections;
mod draft;
mod edit;
mod fork;
mod kinds;
mod merge;
mod redirect;
mod reopen;
mod resolution;
mod results;
mod steer;
mod unblock;
mod undo;

use crate::doc::prelude::*;
use crate::{
    event::Event,
    id::{AttemptId, UnixMillis},
    state::{Request, State},
    step::{self, Refusal},
    wording,
    world::World,
};

pub use corrections::{corrected, news};
pub use edit::adopt;
pub use fork::{fork, unrated};
pub use kinds::{
    Adoption, Answer, Change, ChangeRefusal, ConstraintChange, EarlierState, Resolution,
    constraints_with,
};
pub use merge::{LOST_MAX, MergeOutcome, is_out_of_reach, lost_lines, merge};
pub use redirect::{
    CHANGES_MAX, Redirect, abort_redirect, ended_by, faults_of, is_redirect_open, keep_plan,
    redirect,
};
pub use steer::{Steering, steer};
pub use unblock::NOT_BLOCKED;

use draft::Draft;

/// The state with a change, as one commit.
pub fn apply(
    before: &State,
    change: Change,
    by: &str,
    now: UnixMillis,
) -> Result<Adoption, ChangeRefusal> {
    drawn(Draft::new(before.clone(), by, now), before, |draft| draft.make(change, |_| Ok(())))
}

/// The state with a person's answer to an assertion.
pub fn answer(
    before: &State,
    answer: &Answer<'_>,
    by: &str,
    now: UnixMillis,
) -> Result<Adoption, ChangeRefusal> {
    drawn(Draft::new(before.clone(), by, now), before, |draft| answer.make(draft))
}

/// The state with a person's answer about an effect in doubt.
pub fn resolve(
    before: &State,
    attempt: &AttemptId,
    resolution: Resolution<'_>,
    by: &str,
    now: UnixMillis,
) -> Result<Adoption, ChangeRefusal> {
    drawn(Draft::new(before.clone(), by, now), before, |draft| resolution.make(draft, attempt))
}

/// Back to an earlier state.
pub fn undo(
    before: &State,
    earlier: &EarlierState<'_>,
    by: &str,
    now: UnixMillis,
) -> Result<Adoption, ChangeRefusal> {
    drawn(Draft::new(before.clone(), by, now), before, |draft| earlier.make(draft))
}

/// The commit of what was made on a draft.
fn drawn<'d>(
    mut draft: Draft<'d>,
    before: &State,
    make: impl FnOnce(&mut Draft<'d>) -> Result<(), ChangeRefusal>,
) -> Result<Adoption, ChangeRefusal> {
    make(&mut draft)?;
    if draft.is_unchanged() {
        return Err(ChangeRefusal::NoDifference);
    }
    let what = draft.description();
    Ok(draft.close(Some(before), what))
}

/// The state with a request to the running loop. It is no correction, since only the request changes.
pub fn request(
    state: &State,
    request: Request,
    reason: Option<String>,
    now: UnixMillis,
) -> Result<Adoption, Refusal> {
    if wording::asked(state).is_some() {
        // The run has ended: its loop only waits for words.
        return Ok(step::withdraw_wording(&World::new(state.clone()), now)?.into());
    }
    let mut next = state.clone();
    next.serial = state.serial.next();
    let at = request.at.clone();
    let requested = Event::Requested { request: request.kind, reason: reason.clone() };
    next.control = Arc::new(step::control_with(state, request, reason)?);
    Ok(Adoption::of(state, next, at, Vec::from([requested])))
}
