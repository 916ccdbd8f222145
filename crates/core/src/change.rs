//! A person's changes as data, and the engine that applies them: changes and a state give the next state, with its
//! consequences.
//!
//! A change by command is a list of `Change`. An edit of the file is merged first (`merge`); then the difference of the
//! committed and the merged state is a list of `Change` too (`between`). Both have the same consequences (`draft`).
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

use alloc::{string::String, sync::Arc, vec::Vec};

use crate::{
    event::Event,
    id::UnixMillis,
    state::{Request, State},
    step::{self, Refusal},
    wording,
    world::World,
};

pub use between::changes;
pub use corrections::{corrected, news};
pub use edit::adopt;
pub use fork::{fork, unrated};
pub use kinds::{
    Adoption, Answer, Change, ChangeRefusal, ConstraintChange, EarlierState, Resolution,
    constraints_with,
};
pub use merge::{LOST_MAX, MergeOutcome, is_out_of_reach, lost_lines, merge};
pub use redirect::{CHANGES_MAX, Redirect, abort_redirect, is_redirect_open, keep_plan, redirect};
pub use steer::{Steering, steer};
pub use unblock::NOT_BLOCKED;

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
        if let Change::Answer(answer) = change {
            answer.make(draft)?;
        } else if let Change::Resolution(attempt, resolution) = change {
            resolution.make(draft, attempt)?;
        } else if let Change::Undo(earlier) = change {
            earlier.make(draft)?;
        } else if let Change::Removal(id) = change {
            draft.removed.insert(id.clone());
        }
    }
    let unset = draft.state.clone();
    let is_set = kinds::set(&mut draft.state, changes)? > 0;
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
    Ok(Adoption::of(state, next, at, Vec::from([requested])))
}
