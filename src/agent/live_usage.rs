//! The usage of an attempt while it goes on: for whoever looks on, and on disk for other processes and for the next run
//! after a kill of the loop. The cost of tokens by a price.
//!
//! Invariant: a record counts as missing unless it is whole, and of this very attempt. Not here: how often it is looked
//! at and written (`driver`), limits (the core).

use std::{
    io,
    path::Path,
    sync::{Arc, OnceLock},
};

use descent_core::{
    doc::Node,
    id::AttemptId,
    state::{Intent, Micros, Usage},
    validation,
};

use super::{directory, heard::Heard, inputs::RESULT, report, usage};
use crate::{
    config::price::Price,
    files::{self, ContentStamp},
};

const USAGE_FILE: &str = "usage.json";
const BYTES_MAX: u64 = 4096;

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

/// Keeps the usage of an attempt, in its directory. A power loss may take it.
pub fn keep_usage(dir: &Path, intent: &Intent, used: &Usage) -> io::Result<()> {
    let tokens = &used.tokens;
    let record = serde_json::json!({
        "attempt": intent.id,
        "identity": intent.identity(),
        "usage": {
            "calls": used.calls,
            "input_tokens": tokens.input,
            "output_tokens": tokens.output,
            "cached_tokens": tokens.cached,
            "cost_usd": used.cost.map(Micros::text),
            "estimated": used.is_estimated,
        },
    });
    files::plain_dir(dir)?;
    files::write_whole_alone(&dir.join(USAGE_FILE), record.to_string().as_bytes())
}

/// The usage that an attempt had told when it was kept last.
pub fn kept_usage(attempts: &Path, intent: &Intent) -> Option<Usage> {
    let bytes = directory::read(attempts, intent, USAGE_FILE, BYTES_MAX)?;
    let record = validation::read_text(str::from_utf8(&bytes).ok()?).ok()?;
    let is = |key: &str, own: &str| record.get(key).and_then(Node::as_str) == Some(own);
    let is_its_own =
        is("attempt", intent.id.as_str()) && is("identity", intent.identity().as_str());
    usage::of(&record).ok().filter(|_| is_its_own)
}

/// The usage that attempts in flight have told.
pub fn told_so_far(attempts: &Path, in_flight: &[Intent]) -> Vec<(AttemptId, Usage)> {
    let used = in_flight.iter().filter_map(|intent| {
        let usage = kept_usage(attempts, intent)?;
        Some((intent.id.clone(), usage))
    });
    used.collect()
}
