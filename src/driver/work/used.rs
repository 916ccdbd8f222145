//! The usage of an attempt while it goes on: handed on to the loop, and kept for other processes and the next run.

use std::convert::Infallible;

use descent_core::state::Usage;

use super::Attempting;
use crate::{
    agent::{self, LiveUsage, Maker},
    clock::to_next_poll,
};

/// The usage of an attempt that begins, or that goes on after a kill of the loop.
pub(super) fn live_usage(a: &Attempting, maker: &Maker) -> LiveUsage {
    let before = agent::kept_usage(&a.place.attempts(), &a.intent);
    LiveUsage::new(maker.price(), before.unwrap_or_default())
}

/// Hands on the usage of an attempt under way: a limit may be set at any time.
pub(super) async fn follow(a: &Attempting, usage: &LiveUsage) -> Infallible {
    let (mut last, mut seen) = (Usage::default(), None);
    loop {
        a.clock.sleep(to_next_poll(&*a.clock)).await;
        let so_far = usage.so_far(&a.dir, &mut seen);
        let Some(usage) = so_far.filter(|usage| !usage.is_none() && *usage != last) else {
            continue;
        };
        a.usage.report(&a.intent, usage.clone());
        if let Err(error) = agent::keep_usage(&a.dir, &a.intent, &usage) {
            tracing::debug!(%error, "the usage of an attempt is not kept");
        }
        last = usage;
    }
}
