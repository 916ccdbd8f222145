//! Shows the check that is measured outside of a loop.

use std::cell::OnceCell;

use super::{context::Context, live::LiveArea};
use crate::ops::evaluate::CheckStart;

/// Draws from the first check on, until it is dropped.
pub(super) fn drawn(context: &Context) -> impl Fn(CheckStart<'_>) + '_ {
    let live = OnceCell::new();
    move |check| {
        let live = live.get_or_init(|| LiveArea::start(context));
        live.checking(check.title, check.nth, check.all);
    }
}
