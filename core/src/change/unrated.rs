//! A state of another hand, without the ratings that it brought: they decide nothing.
//!
//! Not here: whose hand made a state (`trust`, and the shell).

use alloc::string::ToString;

use super::{Adoption, draft::Draft, ratings};
use crate::{
    id::UnixMillis,
    state::{State, record::CorrectionType},
};

/// The state without its ratings and its question to a judge; `None` if it has none.
pub fn unrated(before: &State, by: &str, now: UnixMillis) -> Option<Adoption> {
    if !ratings::are_in(before) {
        return None;
    }
    let mut draft = Draft::new(before.clone(), by, now);
    let told = ratings::drop_from(&mut draft.state);
    let told = told.unwrap_or_else(|| "a question to a judge is dropped".to_string());
    draft.correct(CorrectionType::Resolution, told.as_str());
    draft.count_pass(0);
    Some(draft.close(Some(before), told))
}
