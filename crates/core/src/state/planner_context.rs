//! The results that a planner is told: a constraint, and a key of a planning step (contract §9.31).
//!
//! Not here: how a result is told (`prompt::context`).

use super::{
    fields::{Extra, Fields},
    table::{record, words},
    value::FieldValue,
};
use crate::doc::prelude::*;

/// Characters of a planner's prompt: at least, at most, and unless somebody chose.
pub const CONTEXT_CHARS_MIN: u32 = 4_000;
pub const CONTEXT_CHARS_MAX: u32 = 64_000;
const CONTEXT_CHARS: u32 = 60_000;

words! {
    pub enum ContextMode {
        /// Summary, value, files and handoff
        Full = "full",
        /// The value in short, by its schema
        Contract = "contract",
        /// Summary and handoff
        Summary = "summary",
        /// In full all that the step needs, the rest by name
        Selective = "selective",
        /// The summaries of the newest phase alone
        Hierarchical = "hierarchical",
        /// The newest phase in full, earlier ones in short, as each has room
        Auto = "auto",
    }
}

record! {
    /// How results are told to a planner, and the characters of its prompt
    #[derive(PartialEq)]
    pub struct PlannerContext {
        /// How much of what is known a planner gets
        optional mode: ContextMode = ContextMode::Auto,
        /// Characters of the planner's prompt at most
        optional(possible_chars) chars: u32 = CONTEXT_CHARS,
    }
}

impl PlannerContext {
    /// The values unless somebody chose.
    pub fn of_program() -> Self {
        Self { mode: Some(ContextMode::Auto), chars: Some(CONTEXT_CHARS), extra: Extra::default() }
    }

    /// Its own keys, and those of another where it has none.
    pub fn or(&self, other: &Self) -> Self {
        Self {
            mode: self.mode.or(other.mode),
            chars: self.chars.or(other.chars),
            extra: Extra::default(),
        }
    }
}

fn possible_chars(fields: &mut Fields<'_, '_>, key: &'static str) -> Option<u32> {
    let chars = u32::take(fields, key)?;
    if !(CONTEXT_CHARS_MIN..=CONTEXT_CHARS_MAX).contains(&chars) {
        let message = format!("`{key}` is {chars}: no prompt can have so many, or so few");
        let hint = format!("from {CONTEXT_CHARS_MIN} to {CONTEXT_CHARS_MAX}");
        fields.fault_at(key, "limit", message, Some(hint));
    }
    Some(chars)
}
