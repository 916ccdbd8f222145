//! Records as text, and the lines of a map or a list of them, in the file and under the seal.
//!
//! Invariant: the text of a line lies in the text of the file that was written last, and nowhere else. Only a line that
//! changed since has a text of its own.

use alloc::{collections::BTreeMap, string::String, sync::Arc, vec::Vec};
use core::ops::Range;

use crate::{
    doc::{self, Node},
    id::Digest,
};

/// Brackets that may follow a record on its last line.
const CLOSING: usize = 3;

/// One record as text, with the digest that the seal is taken over.
#[derive(Debug, Clone)]
pub(super) struct RenderedRecord {
    /// The text, with its key and the blanks before it if it is one of many.
    pub text: String,
    /// Stored inline: the seal is taken over the digests of all records.
    pub digest: [u8; Digest::BYTES],
    /// The values that it holds.
    pub values: usize,
}

impl RenderedRecord {
    /// A record at a key of the top level.
    pub(super) fn of_top(key: &str, node: &Node) -> Self {
        let mut text = String::new();
        doc::write_key(key, &mut text);
        let start = text.len();
        doc::write_filled(node, 0, 1, &mut text);
        Self::of_text(text.split_off(start), node)
    }

    /// A record in a list, or under its id.
    pub(super) fn of_many(key: Option<&str>, node: &Node) -> Self {
        let mut text = String::from("  ");
        if let Some(key) = key {
            doc::write_key(key, &mut text);
        }
        doc::write_filled(node, doc::INDENT, CLOSING, &mut text);
        Self::of_text(text, node)
    }

    /// A record of `internal`, on one line.
    pub(super) fn of_internal(key: Option<&str>, node: &Node) -> Self {
        let mut text = String::new();
        if let Some(key) = key {
            text.push_str("  ");
            doc::write_key(key, &mut text);
        }
        doc::write_side_by_side(node, &mut text);
        Self::of_text(text, node)
    }

    fn of_text(text: String, node: &Node) -> Self {
        let digest = Digest::text_of(text.as_bytes());
        let values = node.count();
        Self { text, digest, values }
    }
}

/// `K` orders the records: an id, a place in a list, or nothing where there is one record.
#[derive(Debug, Clone)]
pub(super) struct Lines<K> {
    /// The lines as they were written last.
    written: Passage,
    /// The text of each line that `written` does not hold as it is now; `None` if it was taken out.
    changed: BTreeMap<K, Option<String>>,
    /// Sealed lines: a name, a blank, and a digest.
    sealed: Vec<u8>,
    lengths: BTreeMap<K, Length>,
}

/// A part of a file's text.
#[derive(Debug, Clone, Default)]
struct Passage {
    file: Arc<String>,
    span: Range<usize>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Length {
    /// In `written`; a line that is not there has none.
    text: usize,
    /// A line that was taken out has none.
    sealed: usize,
    /// A line that was taken out holds none.
    values: usize,
    is_changed: bool,
}

const PARTED_BY: &str = ",\n";

impl<K> Default for Lines<K> {
    fn default() -> Self {
        Self {
            written: Passage::default(),
            changed: BTreeMap::new(),
            sealed: Vec::new(),
            lengths: BTreeMap::new(),
        }
    }
}

impl<K: Ord + Clone> Lines<K> {
    /// The number of lines, where none is taken out.
    pub(super) fn len(&self) -> usize {
        self.lengths.len()
    }

    pub(super) fn sealed(&self) -> &[u8] {
        &self.sealed
    }

    /// `name` is the record's name under the seal.
    pub(super) fn put(&mut self, key: K, name: &str, record: RenderedRecord) {
        let line = sealed_line(name, &record.digest);
        let place = self.sealed_place(&key);
        let length = self.lengths.entry(key.clone()).or_default();
        (length.sealed, length.is_changed) = (line.len(), true);
        length.values = record.values;
        if place.start == self.sealed.len() {
            self.sealed.extend_from_slice(&line)
        } else {
            drop(self.sealed.splice(place, line))
        }
        self.changed.insert(key, Some(record.text));
    }

    pub(super) fn take_out(&mut self, key: &K) {
        let place = self.sealed_place(key);
        drop(self.sealed.drain(place));
        let Some(length) = self.lengths.get_mut(key) else {
            return;
        };
        (length.sealed, length.values, length.is_changed) = (0, 0, true);
        self.changed.insert(key.clone(), None);
    }

    /// The place of `key` under the seal, or, with no length, the place where it would be.
    fn sealed_place(&self, key: &K) -> Range<usize> {
        let last = self.lengths.last_key_value();
        if last.is_none_or(|(last, _)| last < key) {
            return self.sealed.len()..self.sealed.len();
        }
        let before = self.lengths.range(..key);
        let start = before.map(|(_, length)| length.sealed).sum();
        let own = self.lengths.get(key).map_or(0, |own| own.sealed);
        start..start + own
    }
}

/// A record or lines, whatever the keys are.
pub(super) trait Text {
    /// The size of the text, or somewhat more.
    fn size_max(&self) -> usize;
    /// The values in it, as a reader counts them.
    fn values(&self) -> usize;
    /// Writes the text, with a separator between each two lines.
    fn write(&self, text: &mut String);
    /// Notes that the text was written there.
    fn settle(&mut self, file: &Arc<String>, span: Range<usize>);
}

impl<K: Ord + Clone> Text for Lines<K> {
    fn size_max(&self) -> usize {
        let changed = self.changed.values().flatten();
        self.written.span.len() + changed.map(|line| line.len() + PARTED_BY.len()).sum::<usize>()
    }

    fn values(&self) -> usize {
        self.lengths.values().map(|length| length.values).sum()
    }

    /// Lines that did not change are copied in runs.
    fn write(&self, text: &mut String) {
        let begin = text.len();
        let mut push = |lines: &str| {
            if !lines.is_empty() {
                if text.len() > begin {
                    text.push_str(PARTED_BY);
                }
                text.push_str(lines);
            }
        };
        let (mut run, mut at) = (0, 0);
        for (key, length) in &self.lengths {
            let next = at + length.text;
            if length.is_changed {
                push(self.written.run(run..at));
                push(self.changed.get(key).and_then(Option::as_deref).unwrap_or_default());
                run = next;
            }
            at = next;
        }
        push(self.written.run(run..at));
    }

    fn settle(&mut self, file: &Arc<String>, span: Range<usize>) {
        self.written = Passage { file: Arc::clone(file), span };
        for (key, line) in core::mem::take(&mut self.changed) {
            match (line, self.lengths.get_mut(&key)) {
                (Some(line), Some(length)) => {
                    (length.text, length.is_changed) = (line.len() + PARTED_BY.len(), false);
                }
                _ => drop(self.lengths.remove(&key)),
            }
        }
    }
}

impl Passage {
    /// Some lines, without the separator behind the last.
    fn run(&self, lines: Range<usize>) -> &str {
        let end = lines.end.saturating_sub(PARTED_BY.len());
        let text = self.file.get(self.span.clone()).unwrap_or_default();
        text.get(lines.start..end).unwrap_or_default()
    }
}

/// A line under the seal.
pub(super) fn sealed_line(name: &str, digest: &[u8]) -> Vec<u8> {
    [name.as_bytes(), b" ", digest, b"\n"].concat()
}

/// The text of a file, with the places in it of the records.
pub(super) struct FileText {
    pub text: String,
    pub spans: Vec<Range<usize>>,
}

/// The text at a key.
pub(super) enum Piece<'r> {
    Text(String),
    /// Records, between brackets where there may be many.
    Lines(Option<[char; 2]>, &'r dyn Text),
    /// Members, side by side up to the one from which on each begins a line.
    Members(Vec<(String, Piece<'r>)>, usize),
}

impl FileText {
    /// Writes members; those from `lines_from` on begin a line each.
    pub(super) fn members(&mut self, pieces: &[(String, Piece<'_>)], lines_from: usize) {
        for (index, (key, piece)) in pieces.iter().enumerate() {
            self.text.push_str(match index {
                0 => "",
                _ if index < lines_from => ", ",
                _ => ",\n",
            });
            doc::write_key(key, &mut self.text);
            self.piece(piece);
        }
    }

    fn piece(&mut self, piece: &Piece<'_>) {
        match piece {
            Piece::Text(own) => self.text.push_str(own),
            Piece::Lines(brackets, lines) => {
                let begin = brackets.map(|[begin, _]| [begin, '\n']);
                self.text.extend(begin.into_iter().flatten());
                let start = self.text.len();
                lines.write(&mut self.text);
                self.spans.push(start..self.text.len());
                if let Some([_, end]) = brackets {
                    if self.text.len() == start {
                        self.text.truncate(start - 1);
                    }
                    self.text.push(*end);
                }
            }
            Piece::Members(pieces, lines_from) => {
                self.text.push('{');
                self.members(pieces, *lines_from);
                self.text.push('}');
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::{
        collections::BTreeMap,
        format,
        string::{String, ToString},
        sync::Arc,
        vec::Vec,
    };

    use proptest::prelude::*;

    use super::{Lines, RenderedRecord, Text};
    use crate::id::Digest;

    fn record(text: &str) -> RenderedRecord {
        RenderedRecord {
            text: text.to_string(),
            digest: Digest::text_of(text.as_bytes()),
            values: text.len(),
        }
    }

    proptest! {
        #[test]
        fn whatever_is_put_and_taken_out_stands_as_if_all_were_written_anew(
            steps in prop::collection::vec(
                (0_u8..12, prop::option::of("[a-z]{1,9}"), any::<bool>()), 0..40
            )
        ) {
            let (mut lines, mut model) = (Lines::<u8>::default(), BTreeMap::new());
            for (key, text, is_written) in steps {
                match text {
                    Some(text) => {
                        lines.put(key, &key.to_string(), record(&text));
                        model.insert(key, text);
                    }
                    None => {
                        lines.take_out(&key);
                        model.remove(&key);
                    }
                }
                let texts: Vec<&str> = model.values().map(String::as_str).collect();
                let mut file = String::from("{");
                lines.write(&mut file);
                prop_assert_eq!(&file[1..], texts.join(",\n"));
                prop_assert!(file.len() <= 1 + lines.size_max());
                if is_written {
                    let span = 1..file.len();
                    lines.settle(&Arc::new(file + "}"), span);
                    prop_assert_eq!(lines.len(), model.len());
                }
                let sealed: String = model
                    .iter()
                    .map(|(key, text)| format!("{key} {}\n", Digest::sha256(text.as_bytes())))
                    .collect();
                prop_assert_eq!(lines.sealed(), sealed.as_bytes());
                prop_assert_eq!(lines.values(), texts.concat().len());
            }
        }
    }
}
