//! A probe's answer about a task: its JSON Schema, and the reading of it.
//!
//! Invariant: an answer is taken whole or not at all. Not here: what follows from a finding (`search`, `step`).

use alloc::{
    borrow::ToOwned,
    format,
    string::{String, ToString},
};

use crate::{
    doc::{self, Node, Value},
    state::{Micros, fields::DurationText},
};

/// Characters kept of what a probe found out.
const FINDINGS_CHARS_MAX: usize = 2_000;
/// Attempts in an estimate at most.
const ATTEMPTS_MAX: u64 = 1_000;

/// The JSON Schema of a probe's answer.
pub const SCHEMA: &str = r#"{"type":"object","required":["feasible","findings"],"additionalProperties":false,"properties":{"feasible":{"type":"boolean"},"findings":{"type":"string"},"cost_estimate":{"type":"object","additionalProperties":false,"properties":{"attempts":{"type":"integer","minimum":1},"time":{"type":"string","description":"such as 20m or 1h30m"},"cost_usd":{"type":"number","minimum":0}}}}}"#;

/// The answer of a probe.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    pub feasible: bool,
    pub findings: String,
    pub attempts: Option<u32>,
    pub time: Option<DurationText>,
    pub cost_usd: Option<Micros>,
}

/// Reads the last answer of a probe.
///
/// # Errors
/// What is wrong with it, in words that a probe can mend it by.
pub fn read(text: &str) -> Result<Finding, String> {
    let parsed = doc::parse(text.trim(), &doc::Limits::default());
    let node = parsed.node.filter(|_| parsed.faults.is_empty());
    let node = node.filter(|node| node.as_object().is_some());
    let node = node.ok_or_else(|| "it is no JSON object".to_owned())?;
    let feasible = node.get("feasible").and_then(Node::as_bool);
    let findings = node.get("findings").and_then(Node::as_str);
    let findings = findings.ok_or("`findings` is a text that says what was found out")?;
    let findings = findings.trim();
    if findings.is_empty() {
        return Err("`findings` is empty: say what was found out".to_owned());
    }
    let estimate = node.get("cost_estimate").filter(|node| node.value != Value::Null);
    let part =
        |key: &str| estimate.and_then(|one| one.get(key)).filter(|node| node.value != Value::Null);
    Ok(Finding {
        feasible: feasible.ok_or("`feasible` is true or false")?,
        findings: findings.chars().take(FINDINGS_CHARS_MAX).collect(),
        attempts: part("attempts").map(attempts).transpose()?,
        time: part("time").map(time).transpose()?,
        cost_usd: part("cost_usd").map(cost).transpose()?,
    })
}

fn attempts(node: &Node) -> Result<u32, String> {
    let count = node.as_u64().filter(|count| (1..=ATTEMPTS_MAX).contains(count));
    let count = count.and_then(|count| u32::try_from(count).ok());
    count.ok_or_else(|| format!("`attempts` is a whole number from 1 to {ATTEMPTS_MAX}"))
}

fn time(node: &Node) -> Result<DurationText, String> {
    let text = node.as_str().unwrap_or_default();
    DurationText::parse(text).ok_or_else(|| "`time` is a length of time, such as 20m".to_string())
}

fn cost(node: &Node) -> Result<Micros, String> {
    let read = match &node.value {
        Value::Number(text) => Micros::rounded_up(text),
        _ => node.as_str().and_then(Micros::parse),
    };
    read.ok_or_else(|| "`cost_usd` is a number of dollars".to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_is_read_with_its_estimate_or_without() {
        let whole = r#"{"feasible": true, "findings": " it works ", "cost_estimate": {"attempts": 2, "time": "20m", "cost_usd": 0.5}}"#;
        let found = read(whole).unwrap();
        assert_eq!((found.feasible, found.findings.as_str()), (true, "it works"));
        assert_eq!(found.attempts, Some(2));
        assert_eq!(found.time.map(|time| time.ms), Some(1_200_000));
        assert_eq!(found.cost_usd, Some(Micros(500_000)));
        let short =
            read(r#"{"feasible": false, "findings": "no such API", "cost_estimate": null}"#);
        assert_eq!(short.unwrap().attempts, None);
    }

    #[test]
    fn a_finding_that_says_nothing_certain_is_a_fault() {
        for text in [
            "[]",
            "{}",
            r#"{"feasible": "yes", "findings": "x"}"#,
            r#"{"feasible": true}"#,
            r#"{"feasible": true, "findings": " "}"#,
            r#"{"feasible": true, "findings": "x", "cost_estimate": {"attempts": 0}}"#,
            r#"{"feasible": true, "findings": "x", "cost_estimate": {"attempts": 1e9}}"#,
            r#"{"feasible": true, "findings": "x", "cost_estimate": {"time": "soon"}}"#,
            r#"{"feasible": true, "findings": "x", "cost_estimate": {"cost_usd": -1}}"#,
        ] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
