//! The usage that an attempt has told so far, on disk while it goes on: for other processes, and for the next run after a
//! kill of the loop.
//!
//! Invariant: a record counts as missing unless it is whole, and of this very attempt. Not here: how often it is
//! written (`driver`).

use std::{io, path::Path};

use descent_core::{
    id::AttemptId,
    state::{Intent, Micros, Tokens, Usage},
};
use serde::{Deserialize, Serialize};

use super::directory;
use crate::files;

const NAME: &str = "usage.json";
const BYTES_MAX: u64 = 4096;

#[derive(Debug, Serialize, Deserialize)]
struct UsageRecord {
    attempt: String,
    /// The identity of its intent.
    identity: String,
    calls: u64,
    input_tokens: u64,
    output_tokens: u64,
    cached_tokens: u64,
    cost_micro_usd: Option<u64>,
    estimated: bool,
}

/// Keeps the usage of an attempt, in its directory. A power loss may take it.
pub fn keep_usage(dir: &Path, intent: &Intent, usage: &Usage) -> io::Result<()> {
    let record = UsageRecord {
        attempt: intent.id.to_string(),
        identity: intent.identity().to_string(),
        calls: usage.calls,
        input_tokens: usage.tokens.input,
        output_tokens: usage.tokens.output,
        cached_tokens: usage.tokens.cached,
        cost_micro_usd: usage.cost.map(|cost| cost.0),
        estimated: usage.is_estimated,
    };
    files::plain_dir(dir)?;
    files::write_whole_alone(&dir.join(NAME), &serde_json::to_vec(&record)?)
}

/// The usage that an attempt had told when it was kept last.
pub fn kept_usage(attempts: &Path, intent: &Intent) -> Option<Usage> {
    let bytes = directory::read(attempts, intent, NAME, BYTES_MAX)?;
    let record: UsageRecord = serde_json::from_slice(&bytes).ok()?;
    let is_its_own =
        record.attempt == intent.id.as_str() && record.identity == intent.identity().as_str();
    let tokens = Tokens::new(record.input_tokens, record.output_tokens, record.cached_tokens);
    is_its_own.then(|| Usage {
        calls: record.calls,
        tokens,
        cost: record.cost_micro_usd.map(Micros),
        is_estimated: record.estimated,
    })
}

/// The usage that attempts in flight have told.
pub fn told_so_far(attempts: &Path, in_flight: &[Intent]) -> Vec<(AttemptId, Usage)> {
    let used = in_flight.iter().filter_map(|intent| {
        let usage = kept_usage(attempts, intent)?;
        Some((intent.id.clone(), usage))
    });
    used.collect()
}
