//! A fault in a state file, with the place where a person finds it.

use std::fmt;

use descent_core::doc::Fault;

/// A fault with its place.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PlacedFault {
    /// From 1.
    pub line: usize,
    /// From 1, in characters.
    pub column: usize,
    #[serde(flatten)]
    pub fault: Fault,
}

impl fmt::Display for PlacedFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (line, column, fault) = (self.line, self.column, &self.fault);
        let pointer = if fault.pointer.is_empty() { "/" } else { &fault.pointer };
        let (pointer, message) = (on_one_line(pointer), on_one_line(&fault.message));
        write!(f, "{line}:{column}: {pointer}: {message}")?;
        match &fault.hint {
            Some(hint) => write!(f, " ({})", on_one_line(hint)),
            None => Ok(()),
        }
    }
}

/// A key of the file may hold a line break, and what follows must not look like a line of ours.
fn on_one_line(text: &str) -> String {
    text.replace('\n', "\\n").replace('\r', "\\r")
}
