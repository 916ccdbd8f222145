//! How large a state may be: what a reader takes, and less by what is kept for the end of a run.
//!
//! Invariant: what is written can be read. Not here: what a run does that finds no room (`driver`).

use descent_core::{
    doc::Limits,
    state::{
        State,
        encode::{StateText, what_is_large},
    },
};

use super::{CommitContent, LoadedState, StoreError};

/// The reader's limit ([`Limits`]).
pub(super) const BYTES_MAX: usize = 16 << 20;
/// The part of the reader's limits that is kept for the end of a run and for a request to stop it.
const RESERVE_BYTES: usize = 1 << 20;
const RESERVE_VALUES: usize = 50_000;

/// Up to how many bytes a commit may use what is kept, too. One that makes the state no larger always may.
pub(super) fn whole_up_to(committed: usize, now: &State, next: &CommitContent) -> usize {
    let is_active = |state: &State| state.run.status.is_active();
    let ends = is_active(now) && !is_active(&next.state);
    // The lists grow without a word in the list of changes.
    let entries = |state: &State| (state.trail.len(), state.corrections.len());
    let asks = next.touched.is_request() && entries(now) == entries(&next.state);
    match ends || asks {
        true => usize::MAX,
        false => committed,
    }
}

/// The state as a reader will see it once it is written.
pub(super) fn written(
    mut state: State,
    rendered: &mut StateText,
    whole_up_to: usize,
) -> Result<LoadedState, StoreError> {
    let seal = rendered.seal(&state);
    let text = rendered.write(&state, &seal);
    state.seal = Some(seal);
    let is_whole = text.len() <= whole_up_to;
    let less = |whole: usize, reserve: usize| if is_whole { whole } else { whole - reserve };
    let sizes = [
        (text.len(), less(BYTES_MAX, RESERVE_BYTES), "bytes"),
        (
            rendered.values(&state),
            less(Limits::default().nodes, RESERVE_VALUES),
            "values",
        ),
    ];
    match sizes.into_iter().find(|(size, most, _)| size > most) {
        None => Ok(LoadedState::written(state, text)),
        Some((size, most, unit)) => Err(StoreError::TooLarge {
            size,
            most,
            unit,
            large: what_is_large(&state),
        }),
    }
}
