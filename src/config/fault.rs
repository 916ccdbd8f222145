//! A fault of a configuration's text, with its place.

use std::ops::Range;

use super::{choices::meant, shapes};

/// A fault with its place in the text.
pub(super) struct ConfigFault {
    pub(super) span: Range<usize>,
    pub(super) message: String,
    pub(super) hint: Option<String>,
}

impl ConfigFault {
    pub(super) fn new(span: Range<usize>, message: impl Into<String>) -> Self {
        Self { span, message: message.into(), hint: None }
    }

    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// A fault of `toml` or `serde` in our words.
    pub(super) fn of_toml(error: &toml::de::Error, text: &str) -> Self {
        let span = error.span().unwrap_or(0..0);
        let message = error.message().lines().next().unwrap_or_default();
        if let Some(rest) = message.strip_prefix("unknown field ") {
            return Self::unknown_key(span, text, rest);
        }
        if let Some((found, expected)) =
            message.strip_prefix("invalid type: ").and_then(|rest| rest.split_once(", expected "))
        {
            let expected = match expected {
                "a sequence" => "a list",
                "a map" => "a table",
                other => other,
            };
            return Self::new(span, format!("expected {expected}, found {found}"));
        }
        if message == "duplicate key" {
            let hint = if shapes::is_agent(text, span.start) {
                "an agent of that name stands above: take one of them out, or give it another name"
            } else {
                "that key stands above already: take one of them out"
            };
            return Self::new(span, message).hint(hint);
        }
        Self::new(span, message)
    }

    /// `names` is serde's list: the unknown key, then the known ones, each in backticks.
    fn unknown_key(span: Range<usize>, text: &str, names: &str) -> Self {
        let mut names = names.split('`').skip(1).step_by(2);
        let named = names.next().unwrap_or_default();
        let written = text.get(span.clone()).unwrap_or(named);
        let name = if written.len() > named.len() + 2 { named } else { written };
        let known: Vec<&str> = names.collect();
        let fault = Self::new(span, format!("unknown key `{}`", name.escape_debug()));
        if named == "worker" && known.contains(&"roles") {
            fault.hint(shapes::of_worker())
        } else {
            fault.hint(meant(named, &known))
        }
    }
}
