//! Ratings that this machine's program did not take from a judge itself: they are dropped, and asked for again.

use alloc::{
    format,
    string::{String, ToString},
    sync::Arc,
};

use crate::state::State;

/// Whether a state has ratings, or a question to a judge in flight.
pub(super) fn are_in(state: &State) -> bool {
    !state.run.ratings.is_empty() || state.run.consult.is_some()
}

/// Drops them with that question; the words for it, if there were ratings.
pub(super) fn drop_from(state: &mut State) -> Option<String> {
    if !are_in(state) {
        return None;
    }
    match Arc::make_mut(&mut state.run).drop_ratings() {
        0 => None,
        1 => Some("1 rating is dropped: it is asked for again".to_string()),
        n => Some(format!("{n} ratings are dropped: they are asked for again")),
    }
}
