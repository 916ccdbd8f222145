//! The usage of an attempt: as its agent tells it in a result file, which is untrusted input, and while it goes on. It is
//! kept on disk for the next run after a kill of the loop. The cost of tokens by a price.
//!
//! Invariant: a record counts as missing unless it is whole, and of this very attempt. Not here: how often it is looked
//! at and written (`driver`), limits (the core).

use std::{
    io,
    path::Path,
    sync::{Arc, OnceLock},
};

use descent_core::{
    answer_forms,
    doc::Node,
    id::AttemptId,
    state::{Intent, Micros, Tokens, Usage},
};

use super::{
    directory::{self, RESULT},
    heard::Heard,
};
use crate::config::agent_table::Price;
use descent_system::files::{self, ContentStamp};

pub(super) type Reading<T> = Result<T, String>;

/// More than any account holds; larger amounts are cut.
const COUNT_MAX: u64 = 1 << 50;
const COST_MAX: Micros = Micros(COUNT_MAX);

pub(super) fn given<'n>(node: &'n Node, key: &str) -> Option<&'n Node> {
    node.get(key).filter(|node| !node.is_null())
}

pub(super) fn wrong(key: &str, found: &Node, wanted: &str) -> String {
    format!("`{key}` is {}, not {wanted}", found.kind_name())
}

/// The key `usage` of a result file.
pub(super) fn of(result: &Node) -> Reading<Usage> {
    let Some(usage) = given(result, "usage") else { return Ok(Usage::default()) };
    if usage.as_object().is_none() {
        return Err(wrong("usage", usage, "an object"));
    }
    let count = |key| count(usage, key);
    let estimated = given(usage, "estimated")
        .map(|flag| flag.as_bool().ok_or_else(|| wrong("usage.estimated", usage, "true or false")));
    Ok(Usage {
        calls: count("calls")?,
        tokens: Tokens::new(
            count("input_tokens")?,
            count("output_tokens")?,
            count("cached_tokens")?,
        ),
        cost: cost(usage)?,
        is_estimated: estimated.transpose()?.unwrap_or(false),
        ..Usage::default()
    })
}

fn count(usage: &Node, key: &str) -> Reading<u64> {
    let Some(node) = given(usage, key) else { return Ok(0) };
    let count = node.as_u64().or_else(|| node.as_str()?.parse().ok());
    let count = count.map(|count| count.min(COUNT_MAX));
    count.ok_or_else(|| wrong(&format!("usage.{key}"), node, "a whole number from 0 on"))
}

/// Programs print many digits: the rest of a millionth is rounded up.
fn cost(usage: &Node) -> Reading<Option<Micros>> {
    let Some(node) = given(usage, "cost_usd") else { return Ok(None) };
    let cost = node.number_text().or_else(|| node.as_str()).and_then(Micros::rounded_up);
    let cost = cost.map(|cost| cost.min(COST_MAX));
    Ok(Some(cost.ok_or_else(|| wrong("usage.cost_usd", node, "an amount of dollars"))?))
}

const USAGE_FILE: &str = "usage.json";
const BYTES_MAX: u64 = 4096;
/// Bytes at most of a result file that is still being written.
const RESULT_BYTES_MAX: u64 = 1 << 20;

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
                written(&files::read(&dir.join(RESULT), RESULT_BYTES_MAX).ok()?)?.1
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
    let (record, usage) = written(&directory::read(attempts, intent, USAGE_FILE, BYTES_MAX)?)?;
    let is = |key: &str, own: &str| record.get(key).and_then(Node::as_str) == Some(own);
    let is_its_own =
        is("attempt", intent.id.as_str()) && is("identity", intent.identity().as_str());
    is_its_own.then_some(usage)
}

/// A JSON object, with the usage in it.
fn written(bytes: &[u8]) -> Option<(Node, Usage)> {
    let node = answer_forms::object(str::from_utf8(bytes).ok()?).ok()?;
    let usage = of(&node).ok()?;
    Some((node, usage))
}

/// The usage that attempts in flight have told.
pub fn told_so_far(attempts: &Path, in_flight: &[Intent]) -> Vec<(AttemptId, Usage)> {
    let used = in_flight
        .iter()
        .filter_map(|intent| Some((intent.id.clone(), kept_usage(attempts, intent)?)));
    used.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use descent_core::doc;

    fn read(text: &str) -> Reading<Usage> {
        let parsed = doc::parse(text, &doc::Limits::default());
        of(&parsed.node.unwrap())
    }

    #[test]
    fn usage_is_read_with_all_its_parts() {
        let usage = read(
            r#"{"usage": {"calls": 2, "input_tokens": 10, "output_tokens": 3, "cached_tokens": 4,
                "cost_usd": "0.12", "estimated": true}}"#,
        );
        let usage = usage.unwrap();
        assert_eq!((usage.calls, usage.tokens.total()), (2, 17));
        assert_eq!((usage.cost, usage.is_estimated), (Some(Micros(120_000)), true));
        assert!(read("{}").unwrap().is_none());
    }

    #[test]
    fn money_is_read_as_programs_print_it_and_rounded_up() {
        for (text, micros) in [
            ("0.0123456789", 12_346),
            ("1e-05", 10),
            ("1.5e1", 15_000_000),
            ("3", 3_000_000),
            ("\"0.1\"", 100_000),
            ("1e300", COUNT_MAX),
        ] {
            let usage = read(&format!(r#"{{"usage": {{"cost_usd": {text}}}}}"#)).unwrap();
            assert_eq!(usage.cost, Some(Micros(micros)), "{text}");
        }
    }

    #[test]
    fn usage_that_cannot_be_is_refused() {
        for text in [
            r#"{"usage": 1}"#,
            r#"{"usage": {"calls": -1}}"#,
            r#"{"usage": {"calls": 1.5}}"#,
            r#"{"usage": {"input_tokens": "many"}}"#,
            r#"{"usage": {"cost_usd": -0.1}}"#,
            r#"{"usage": {"cost_usd": "free"}}"#,
            r#"{"usage": {"estimated": 1}}"#,
        ] {
            let fault = read(text).unwrap_err();
            assert!(fault.contains("`usage"), "{fault}");
        }
    }
}
