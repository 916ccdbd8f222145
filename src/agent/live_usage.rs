//! The usage of an attempt while it goes on, for whoever looks on, and the cost of tokens by a price.
//!
//! Invariant: it is read and never written here. Not here: how often it is looked at (`driver`), limits (the core).

use std::{
    path::Path,
    sync::{Arc, OnceLock},
};

use descent_core::state::{Micros, Usage};

use super::{heard::Heard, inputs::RESULT, report};
use crate::{config::price::Price, files::ContentStamp};

/// The usage of one attempt. Clones show the same.
#[derive(Debug, Clone, Default)]
pub struct LiveUsage {
    price: Option<Price>,
    /// The usage before a kill of the loop, of an attempt that goes on.
    before: Usage,
    /// The talk of an agent; none for a command.
    heard: Arc<OnceLock<Heard>>,
}

impl LiveUsage {
    pub fn new(price: Option<Price>, before: Usage) -> Self {
        Self { price, before, heard: Arc::default() }
    }

    /// The usage is what this agent tells from now on.
    pub(super) fn follow(&self, heard: &Heard) {
        let _ = self.heard.set(heard.clone());
    }

    /// The usage before a kill of the loop. An estimate by the price is made anew, with what follows.
    pub(super) fn before(&self) -> Usage {
        let mut before = self.before.clone();
        if self.price.is_some() && before.is_estimated {
            (before.cost, before.is_estimated) = (None, false);
        }
        before
    }

    /// All usage so far; `None` if nothing new is known. A command tells it in the result file of its directory, which
    /// is read again only if it is not as it was `seen`.
    pub fn so_far(&self, dir: &Path, seen: &mut Option<ContentStamp>) -> Option<Usage> {
        let usage = match self.heard.get() {
            Some(heard) => heard.with(|heard| heard.usage()),
            None => {
                let now = ContentStamp::at(&dir.join(RESULT))?;
                if seen.replace(now) == Some(now) {
                    return None;
                }
                report::usage_so_far(dir)?
            }
        };
        Some(self.priced(usage))
    }

    /// Adds the cost of the tokens, where none was told and there is a price.
    pub(super) fn priced(&self, mut usage: Usage) -> Usage {
        let tokens = &usage.tokens;
        let is_told = usage.cost.is_some_and(|cost| cost != Micros::default());
        if let (Some(price), false, 1..) = (self.price, is_told, tokens.total()) {
            usage.cost = Some(price.cost(tokens.input, tokens.output, tokens.cached, 0));
            usage.is_estimated = true;
        }
        usage
    }
}
