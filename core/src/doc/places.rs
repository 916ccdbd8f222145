//! Converts a byte offset of a text to the line and column that a person sees.
//!
//! Invariant: any offset has a place; an offset beyond the end has that of the end.

use alloc::{boxed::Box, vec::Vec};

/// The lines of one text, to look up many offsets.
#[derive(Debug, Clone)]
pub struct Places {
    text: Box<str>,
    /// The start of each line, in bytes; the first is always 0.
    starts: Vec<usize>,
}

impl Places {
    pub fn new(text: &str) -> Self {
        let breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let starts = core::iter::once(0).chain(breaks.map(|(at, _)| at + 1));
        Self { starts: starts.collect(), text: text.into() }
    }

    /// Line and column from 1, the column in characters.
    pub fn line_col(&self, offset: usize) -> (usize, usize) {
        let offset = self.text.floor_char_boundary(offset);
        let line = self.starts.partition_point(|start| *start <= offset);
        let start = self.starts[line - 1];
        (line, self.text[start..offset].chars().count() + 1)
    }
}
