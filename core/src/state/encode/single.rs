//! A large record that a state has once, in the file and under the seal.
//!
//! Invariant: as with [`lines`](super::lines), its text lies in the text of the file that was written last.

use alloc::{string::String, sync::Arc};
use core::ops::Range;

use super::{
    lines::{Passage, Text},
    rendered::RenderedRecord,
};
use crate::id::Digest;

#[derive(Debug, Clone)]
pub(super) struct Single {
    pub digest: [u8; Digest::BYTES],
    pub values: usize,
    /// The text until the file holds it.
    unwritten: Option<String>,
    written: Passage,
}

impl From<RenderedRecord> for Single {
    fn from(record: RenderedRecord) -> Self {
        Self {
            digest: record.digest,
            values: record.values,
            unwritten: Some(record.text),
            written: Passage::default(),
        }
    }
}

impl Single {
    fn text(&self) -> &str {
        self.unwritten.as_deref().unwrap_or(self.written.text())
    }
}

impl Text for Single {
    fn size_max(&self) -> usize {
        self.text().len()
    }

    fn write(&self, text: &mut String) {
        text.push_str(self.text());
    }

    fn settle(&mut self, file: &Arc<String>, span: Range<usize>) {
        self.written = Passage::of(file, span);
        self.unwritten = None;
    }
}
