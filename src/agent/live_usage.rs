//! The usage of an attempt while it goes on, for whoever looks on.
//!
//! Invariant: it is read and never written here. Not here: how often it is looked at (`driver`), limits (the core).

use std::{path::Path, sync::Arc, sync::OnceLock};

use descent_core::state::Usage;

use super::{heard::Heard, report};
use crate::config::price::Price;

/// The usage of one attempt. Clones show the same.
#[derive(Debug, Clone, Default)]
pub struct LiveUsage(Arc<OnceLock<TalkingUsage>>);

/// The usage of an agent that is talked with.
#[derive(Debug)]
struct TalkingUsage {
    heard: Heard,
    price: Option<Price>,
}

impl LiveUsage {
    /// The usage is what this agent tells from now on.
    pub(super) fn follow(&self, heard: &Heard, price: Option<Price>) {
        let heard = heard.clone();
        let _ = self.0.set(TalkingUsage { heard, price });
    }

    /// All usage so far; `None` if nothing is known. A command tells it in the result file of its directory.
    pub fn so_far(&self, dir: &Path) -> Option<Usage> {
        match self.0.get() {
            Some(TalkingUsage { heard, price }) => {
                Some(priced(*price, heard.with(|heard| heard.usage())))
            }
            None => report::usage_so_far(dir),
        }
    }
}

/// The cost of tokens, where the agent reports no money and its price is configured.
pub(super) fn priced(price: Option<Price>, mut usage: Usage) -> Usage {
    let Some(price) = price.filter(|_| usage.cost.is_none()) else {
        return usage;
    };
    let tokens = &usage.tokens;
    usage.cost = Some(price.cost(tokens.input, tokens.output, tokens.cached, 0));
    usage.is_estimated = true;
    usage
}
