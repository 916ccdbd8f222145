//! Two texts with a form of their own: a span of time, and a command.

use alloc::{borrow::ToOwned, format, string::String};

use super::Fields;
use crate::doc::Value;

/// Bytes at most of a command. The system starts none with an argument of 128 KiB, and some are put after `exec`.
const COMMAND_BYTES_MAX: usize = 127 << 10;

/// A span of time as people write it: `90s`, `1h30m`, `500ms`.
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
            let digits = rest.find(|c: char| !c.is_ascii_digit())?;
            let count: u64 = rest.get(..digits)?.parse().ok()?;
            let tail = rest.get(digits..)?;
            let letters = tail
                .find(|c: char| c.is_ascii_digit())
                .unwrap_or(tail.len());
            let unit_ms = match tail.get(..letters)?.trim() {
                "ms" => 1,
                "s" => 1_000,
                "m" => 60_000,
                "h" => 3_600_000,
                "d" => 86_400_000,
                _ => return None,
            };
            total_ms = total_ms.checked_add(count.checked_mul(unit_ms)?)?;
            rest = tail.get(letters..)?;
        }
        Some(Self {
            ms: total_ms,
            text: text.to_owned(),
        })
    }

    pub fn minutes(count: u64) -> Self {
        Self {
            ms: count * 60_000,
            text: format!("{count}m"),
        }
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl Fields<'_, '_> {
    pub fn length(&mut self, key: &'static str) -> Option<DurationText> {
        let node = self.take(key)?;
        let read = node.as_str().and_then(DurationText::parse);
        if read.is_none() {
            let pointer = self.at(key);
            let hint = match &node.value {
                Value::Number(count) => format!("write \"{count}s\" or \"{count}m\""),
                _ => "a number and a unit: \"90s\", \"10m\", \"1h30m\"".to_owned(),
            };
            self.found.fault(
                "bad-duration",
                (&pointer, node.span),
                "not a duration".to_owned(),
                Some(hint),
            );
        }
        if read.as_ref().is_some_and(|length| length.ms == 0) {
            let pointer = self.at(key);
            let message = format!("`{key}` is no time at all, so nothing could ever be done in it");
            let hint = "a number and a unit: \"90s\", \"10m\", \"1h30m\"".to_owned();
            self.found
                .fault("limit", (&pointer, node.span), message, Some(hint));
        }
        read
    }

    /// A text that a shell is to run.
    pub fn command(&mut self, key: &'static str) -> Option<String> {
        let node = self.node.get(key);
        let text = self.text(key)?;
        if text.contains('\0') {
            let pointer = self.at(key);
            let span = node.map_or(self.node.span, |node| node.span);
            let message = format!("`{key}` holds a NUL, which no command can");
            let hint = "take it out, or let printf '\\0' write it".to_owned();
            self.found
                .fault("nul", (&pointer, span), message, Some(hint));
        }
        if text.len() > COMMAND_BYTES_MAX {
            let pointer = self.at(key);
            let span = node.map_or(self.node.span, |node| node.span);
            let (long, most) = (text.len(), COMMAND_BYTES_MAX >> 10);
            let message = format!(
                "`{key}` has {long} bytes, and no command of more than {most} KiB can be started"
            );
            let hint = "write a script, and name that".to_owned();
            self.found
                .fault("limit", (&pointer, span), message, Some(hint));
        }
        Some(text)
    }
}
