//! The consequences of failed attempts: a constraint (contract §9.34).
//!
//! Not here: when an atom rests (`step::rest`).

use alloc::{borrow::ToOwned, format, string::String};

use super::{
    fields::{Extra, Fields},
    table::record,
    value::FieldValue,
};

/// Failures in a row that are alike, after which an atom may rest: at least, at most, and unless somebody chose.
pub const PERSISTENT_MIN: u32 = 2;
pub const PERSISTENT_MAX: u32 = 20;
const PERSISTENT: u32 = 2;

record! {
    /// Whether an atom is tried again after a failure, and whether it rests where it fails alike
    #[derive(PartialEq)]
    pub struct Reflection {
        /// Without it every atom has one attempt, and nothing rests
        optional enabled: bool = true,
        /// Failures in a row that are alike, after which an atom rests
        optional(possible_count) persistent_after: u32 = PERSISTENT,
        /// Whether atoms rest; unless given, those of workers do
        optional rest: bool = true,
    }
}

impl Reflection {
    /// The values unless somebody chose.
    pub fn of_program() -> Self {
        Self {
            enabled: Some(true),
            persistent_after: Some(PERSISTENT),
            rest: Some(true),
            extra: Extra::default(),
        }
    }
}

/// A number of times, as a word.
pub fn times(count: u32) -> String {
    match count {
        2 => "twice".to_owned(),
        count => format!("{count} times"),
    }
}

fn possible_count(fields: &mut Fields<'_, '_>, key: &'static str) -> Option<u32> {
    let count = u32::take(fields, key)?;
    if !(PERSISTENT_MIN..=PERSISTENT_MAX).contains(&count) {
        let message =
            format!("`{key}` is {count}: one failure repeats nothing, and more are never made");
        let hint = format!("from {PERSISTENT_MIN} to {PERSISTENT_MAX}");
        fields.fault_at(key, "limit", message, Some(hint));
    }
    Some(count)
}
