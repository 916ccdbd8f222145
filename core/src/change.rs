//! A person's changes as data, and the engine that applies them: changes and a state give the next state, with its
//! consequences.
//!
//! A change by command is a list of `Change`. An edit of the file is merged first (`merge`); then the difference of the
//! committed and the merged state is a list of `Change` too (`between`). Both have the same consequences (`draft`).
//!
//! Not here: the inputs of a loop (`step`).

mod answer;
mod between;
mod consequence;
mod corrections;
mod doubts;
mod draft;
mod edit;
mod fork;
mod kinds;
mod merge;
mod ratings;
mod redirect;
mod reopen;
mod resolution;
mod results;
mod said;
mod set;
mod start;
mod steer;
mod told;
mod unblock;
mod undo;
mod unrated;

use alloc::{string::String, sync::Arc, vec::Vec};

use crate::{
    event::Event,
    id::UnixMillis,
    state::{Request, State, encode::ChangeSet},
    step::{self, Refusal},
    wording,
    world::World,
};

pub use between::changes;
pub use consequence::Consequence;
pub use corrections::{corrected, news};
pub use edit::adopt;
pub use fork::fork;
pub use kinds::{
    Adoption, Answer, Change, ChangeRefusal, ConstraintChange, EarlierState, Resolution,
};
pub use merge::{LOST_MAX, MergeOutcome, is_out_of_reach, lost_lines, merge};
pub use redirect::{
    CHANGES_MAX, GroupChoice, PersonsResult, Redirect, abort_redirect, is_redirect_open, keep_plan,
    redirect,
};
pub use set::constraints_with;
pub use steer::{Steering, steer};
pub use unblock::NOT_BLOCKED;
pub use unrated::unrated;

use draft::Draft;

/// The state with all changes, as one commit.
///
/// Answers, resolutions and an undo come first, in their order. The others are made together: what follows from them is
/// drawn once.
pub fn apply(
    before: &State,
    changes: &[Change<'_>],
    by: &str,
    now: UnixMillis,
) -> Result<Adoption, ChangeRefusal> {
    let mut draft = Draft::new(before.clone(), by, now);
    make(&mut draft, changes, |_| Ok(()))?;
    let what = draft.description();
    Ok(draft.close(Some(before), what))
}

/// Makes the changes. Those that are made together are looked at by `check` before anything follows from them.
fn make(
    draft: &mut Draft<'_>,
    changes: &[Change<'_>],
    check: impl FnOnce(&State) -> Result<(), ChangeRefusal>,
) -> Result<(), ChangeRefusal> {
    for change in changes {
        match change {
            Change::Answer(answer) => answer.make(draft)?,
            Change::Resolution(attempt, resolution) => {
                resolution.make(draft, attempt)?;
            }
            Change::Undo(earlier) => earlier.make(draft)?,
            Change::Removal(id) => drop(draft.removed.insert(id.clone())),
            Change::Objective(_)
            | Change::Constraint(_)
            | Change::Atom(..)
            | Change::Choice(..)
            | Change::Binding(..)
            | Change::Status(..)
            | Change::Guidance(..)
            | Change::Plan(_)
            | Change::Start(_)
            | Change::Retry(_)
            | Change::Unblock(_) => {}
        }
    }
    let unset = draft.state.clone();
    let is_set = set::set(&mut draft.state, changes)? > 0;
    if is_set {
        check(&draft.state)?;
        draft.follow(&unset);
        draft.other_keys_changed(&unset, changes);
    }
    draft.retry(changes, !is_set);
    draft.unblock(changes);
    if draft.is_unchanged() {
        return Err(ChangeRefusal::NoDifference);
    }
    Ok(())
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
    Ok(Adoption {
        touched: ChangeSet::between(state, &next),
        state: next,
        at,
        effects: Vec::new(),
        events: Vec::from([requested]),
    })
}
