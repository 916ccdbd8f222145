//! Two texts with a form of their own: a span of time, and a command.

use super::Fields;
use crate::doc::Value;
use crate::doc::prelude::*;

/// Bytes at most of a command. The system starts none with an argument of 128 KiB, and some are put after `exec`.
const COMMAND_BYTES_MAX: usize = 127 << 10;

/// A number as `90` or `1.5`, of a unit.
fn in_ms(number: &str, unit_ms: u64) -> Option<u64> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    let whole: u64 = whole.parse().ok()?;
    let places = u32::try_from(fraction.len()).ok().filter(|places| (1..=3).contains(places))?;
    let part = fraction.parse::<u64>().ok()? * unit_ms / 10_u64.pow(places);
    whole.checked_mul(unit_ms)?.checked_add(part)
}

/// A span of time as people write it: `90s`, `1h30m`, `1.5h`, `500ms`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DurationText {
    pub ms: u64,
    text: String,
}

impl DurationText {
    pub fn parse(text: &str) -> Option<Self> {
        let mut rest = text.trim();
        let mut total_ms: u64 = 0;
        if rest.is_empty() {
            return None;
        }
        while !rest.is_empty() {
            let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
            let number = rest.get(..digits)?;
            let tail = rest.get(digits..)?;
            let letters = tail.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(tail.len());
            let unit_ms = match tail.get(..letters)?.trim() {
                "ms" => 1,
                "s" => 1_000,
                "m" => 60_000,
                "h" => 3_600_000,
                "d" => 86_400_000,
                _ => return None,
            };
            total_ms = total_ms.checked_add(in_ms(number, unit_ms)?)?;
            rest = tail.get(letters..)?;
        }
        Some(Self { ms: total_ms, text: text.to_owned() })
    }

    pub fn minutes(count: u64) -> Self {
        Self { ms: count * 60_000, text: format!("{count}m") }
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl Fields<'_, '_> {
    pub fn length(&mut self, key: &'static str) -> Option<DurationText> {
        let node = self.take(key)?;
        let read = node.as_str().and_then(DurationText::parse);
        let spelt = "a number and a unit: \"90s\", \"10m\", \"1h30m\"".to_owned();
        let fault = match (&read, &node.value) {
            (Some(length), _) if length.ms > 0 => return read,
            (Some(_), _) => (
                "limit",
                format!("`{key}` is no time at all, so nothing could ever be done in it"),
                spelt,
            ),
            (None, Value::Number(count)) => (
                "bad-duration",
                "not a duration".to_owned(),
                format!("write \"{count}s\" or \"{count}m\""),
            ),
            (None, _) => ("bad-duration", "not a duration".to_owned(), spelt),
        };
        let (code, message, hint) = fault;
        self.fault_at(key, code, message, Some(hint));
        read
    }

    /// A text that a shell is to run.
    pub fn command(&mut self, key: &'static str) -> Option<String> {
        let text = self.text(key)?;
        if text.contains('\0') {
            let message = format!("`{key}` holds a NUL, which no command can");
            let hint = "take it out, or let printf '\\0' write it".to_owned();
            self.fault_at(key, "nul", message, Some(hint));
        }
        if text.len() > COMMAND_BYTES_MAX {
            let (long, most) = (text.len(), COMMAND_BYTES_MAX >> 10);
            let message = format!(
                "`{key}` has {long} bytes, and no command of more than {most} KiB can be started"
            );
            let hint = "write a script, and name that".to_owned();
            self.fault_at(key, "limit", message, Some(hint));
        }
        Some(text)
    }
}
