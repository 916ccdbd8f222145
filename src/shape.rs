//! The schema of an atom's value: compiled within bounds, and compared with a value.
//!
//! Invariant: nothing is fetched, and the cost is bounded for any schema and any value. Equal schema and value give
//! equal faults. Not here: what a fault leads to (the core), where a schema stands (`descent_core::state::check`).

mod bounds;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use descent_core::{
    doc::{self, Node},
    event::{AgentReport, Clarity, MISFITS_MAX, Misfit},
};
use jsonschema::{PatternOptions, Validator};
use serde_json::Value;

/// Characters at most of a pointer or a message.
const TEXT_CHARS_MAX: usize = 200;
/// Bytes at most of one compiled pattern, and of its cache.
const PATTERN_BYTES_MAX: usize = 1 << 20;

/// A schema that was compiled.
#[derive(Debug, Clone)]
pub struct Shape {
    validator: Arc<Validator>,
    /// Its JSON.
    text: Arc<str>,
}

/// Why a schema cannot be used.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ShapeError {
    #[error("it has more than {} KiB", bounds::BYTES_MAX >> 10)]
    TooLarge,
    #[error("it nests deeper than {} levels, references included", bounds::DEPTH_MAX)]
    TooDeep,
    #[error("it has more than {} patterns", bounds::PATTERNS_MAX)]
    TooManyPatterns,
    #[error("with its references written out it has more than {} parts", bounds::PARTS_MAX)]
    TooCostly,
    #[error("`{0}` is not looked up: only references of the form `#/…` are followed")]
    Elsewhere(String),
    #[error("`{0}` leads back to itself")]
    Circle(String),
    #[error("`{0}` leads to nothing")]
    Nowhere(String),
    #[error("{0}")]
    NotASchema(String),
}

impl Shape {
    pub fn compile(schema: &Node) -> Result<Self, ShapeError> {
        Self::read(&doc::write_compact(schema))
    }

    /// Why the text of a schema cannot be used, if it cannot.
    pub fn fault(text: &str) -> Option<String> {
        let error = Self::read(text).err()?;
        Some(format!("not a schema to use: {error}"))
    }

    fn read(text: &str) -> Result<Self, ShapeError> {
        if text.len() > bounds::BYTES_MAX {
            return Err(ShapeError::TooLarge);
        }
        let schema: Value = serde_json::from_str(text)
            .map_err(|error| ShapeError::NotASchema(shortened(&error.to_string())))?;
        bounds::check(&schema)?;
        let patterns =
            PatternOptions::regex().size_limit(PATTERN_BYTES_MAX).dfa_size_limit(PATTERN_BYTES_MAX);
        let mut options = jsonschema::options();
        options = options.with_pattern_options(patterns);
        let validator = options.build(&schema).map_err(|error| {
            let at = shortened(error.instance_path().as_str());
            let message = shortened(&error.to_string());
            ShapeError::NotASchema(if at.is_empty() { message } else { format!("{at}: {message}") })
        })?;
        Ok(Self { validator: Arc::new(validator), text: text.into() })
    }

    /// The schema as JSON, if it is no longer than that.
    pub fn text(&self, bytes_max: usize) -> Option<&str> {
        (self.text.len() <= bytes_max).then_some(&*self.text)
    }

    /// Whether a text is JSON that it takes.
    pub fn fits(&self, text: &str) -> bool {
        serde_json::from_str::<Value>(text).is_ok_and(|value| self.validator.is_valid(&value))
    }

    /// The faults in the report of an attempt that says that its task can be done, the first few.
    pub fn misfits_of(&self, report: Option<&AgentReport>) -> Vec<Misfit> {
        if report.is_some_and(|report| report.clarity == Clarity::Blocked) {
            Vec::new()
        } else {
            self.misfits(report.and_then(|report| report.value.as_ref()))
        }
    }

    /// The faults of a value. One that is absent counts as null.
    fn misfits(&self, value: Option<&Node>) -> Vec<Misfit> {
        let Some(value) = value else {
            return if self.validator.is_valid(&Value::Null) {
                Vec::new()
            } else {
                vec![whole("it is missing, and its schema does not take null")]
            };
        };
        match serde_json::from_str::<Value>(&doc::write_compact(value)) {
            Ok(value) => self.faults(&value),
            Err(error) => vec![whole(&format!("it cannot be compared: {error}"))],
        }
    }

    fn faults(&self, value: &Value) -> Vec<Misfit> {
        let found = self.validator.iter_errors(value).take(MISFITS_MAX);
        let misfit = |error: jsonschema::ValidationError<'_>| Misfit {
            at: shortened(error.instance_path().as_str()),
            message: shortened(&error.masked_with("it").to_string()),
        };
        found.map(misfit).collect()
    }
}

fn whole(message: &str) -> Misfit {
    Misfit { at: String::new(), message: shortened(message) }
}

/// One line without what controls a terminal, cut.
fn shortened(text: &str) -> String {
    let turns = |c: char| matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let shown = text.chars().filter(|c| !c.is_control() && !turns(*c));
    let mut shown = shown.peekable();
    let mut cut: String = shown.by_ref().take(TEXT_CHARS_MAX).collect();
    if shown.peek().is_some() {
        cut.push('…');
    }
    cut
}
