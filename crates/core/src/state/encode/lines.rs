//! Records as text, and the lines of a map or a list of them, in the file and under the seal.
//!
//! Invariant: the text of a line lies in the text of the file that was written last, and nowhere else. Only a line that
//! changed since has a text of its own.

use crate::doc::prelude::*;
use core::ops::Range;

use crate::{
    doc::{self, Node},
    id::{AtomId, Digest},
};

/// Orders the records of a section: a place in a list, an id, both, or neither where there is one record.
pub(super) type RecordKey = (usize, AtomId);

/// Brackets that may follow a record on its last line.
const CLOSING: usize = 3;

/// One record as text, with the digest that the seal is taken over.
#[derive(Debug, Clone)]
pub(super) struct RenderedRecord {
    text: RecordText,
    /// Stored inline: the seal is taken over the digests of all records.
    digest: [u8; Digest::BYTES],
    /// The values that it holds.
    values: usize,
}

/// The text, with its key and the blanks before it if it is one of many.
#[derive(Debug, Clone)]
enum RecordText {
    Own(String),
    /// Its place in the file.
    Written(Range<usize>),
}

impl RenderedRecord {
    /// A record at a key of the top level.
    pub(super) fn of_top(key: &str, node: &Node) -> Self {
        let mut text = String::new();
        doc::write_key(key, &mut text);
        let start = text.len();
        doc::write_filled(node, 0, 1, &mut text);
        Self::of_text(text.split_off(start), node.count())
    }

    /// A record in a list, or under its id.
    pub(super) fn of_many(key: Option<&str>, node: &Node) -> Self {
        let mut text = String::from("  ");
        if let Some(key) = key {
            doc::write_key(key, &mut text);
        }
        doc::write_filled(node, doc::INDENT, CLOSING, &mut text);
        Self::of_text(text, node.count())
    }

    /// A record of `internal`, on one line.
    pub(super) fn of_internal(key: Option<&str>, node: &Node) -> Self {
        let mut text = String::new();
        if let Some(key) = key {
            text.push_str("  ");
            doc::write_key(key, &mut text);
        }
        doc::write_side_by_side(node, &mut text);
        Self::of_text(text, node.count())
    }

    fn of_text(text: String, values: usize) -> Self {
        let digest = Digest::text_of(text.as_bytes());
        Self { text: RecordText::Own(text), digest, values }
    }

    fn len(&self) -> usize {
        match &self.text {
            RecordText::Own(text) => text.len(),
            RecordText::Written(span) => span.len(),
        }
    }
}

/// The records of a section.
#[derive(Debug, Clone, Default)]
pub(super) struct Lines {
    lines: BTreeMap<RecordKey, RenderedRecord>,
    /// The file that was written last.
    file: Arc<String>,
}

const PARTED_BY: &str = ",\n";

impl Lines {
    pub(super) fn len(&self) -> usize {
        self.lines.len()
    }

    pub(super) fn put(&mut self, key: RecordKey, line: Option<RenderedRecord>) {
        match line {
            Some(line) => drop(self.lines.insert(key, line)),
            None => drop(self.lines.remove(&key)),
        }
    }

    /// Adds a line of each to `sealed`: the name, else its id, a blank, and its digest.
    pub(super) fn seal(&self, name: Option<&str>, sealed: &mut Vec<u8>) {
        for ((_, id), line) in &self.lines {
            let name = name.unwrap_or(id.as_str());
            for part in [name.as_bytes(), b" ", &line.digest, b"\n"] {
                sealed.extend_from_slice(part);
            }
        }
    }

    /// The size of the text, or somewhat more.
    pub(super) fn size_max(&self) -> usize {
        self.lines.values().map(|line| line.len() + PARTED_BY.len()).sum()
    }

    /// The values in it, as a reader counts them.
    pub(super) fn values(&self) -> usize {
        self.lines.values().map(|line| line.values).sum()
    }

    /// Writes the text, with a separator between each two lines.
    fn write(&self, text: &mut String) {
        for (n, line) in self.lines.values().enumerate() {
            text.push_str(if n == 0 { "" } else { PARTED_BY });
            text.push_str(match &line.text {
                RecordText::Own(own) => own,
                RecordText::Written(span) => self.file.get(span.clone()).unwrap_or_default(),
            });
        }
    }

    /// Notes that the text was written from there on.
    pub(super) fn settle(&mut self, file: &Arc<String>, mut start: usize) {
        self.file = Arc::clone(file);
        for line in self.lines.values_mut() {
            let end = start + line.len();
            line.text = RecordText::Written(start..end);
            start = end + PARTED_BY.len();
        }
    }
}

/// The text of a file, with the places in it where sections begin.
pub(super) struct FileText {
    pub text: String,
    pub starts: Vec<usize>,
}

/// The text at a key.
pub(super) enum Piece<'r> {
    Text(String),
    /// Records, between brackets where there may be many.
    Lines(Option<[char; 2]>, &'r Lines),
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
                self.starts.push(start);
                lines.write(&mut self.text);
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

    use super::{Lines, RenderedRecord};
    use crate::id::{AtomId, Digest};

    proptest! {
        #[test]
        fn whatever_is_put_and_taken_out_stands_as_if_all_were_written_anew(
            steps in prop::collection::vec(
                (0_u8..12, prop::option::of("[a-z]{1,9}"), any::<bool>()), 0..40
            )
        ) {
            let (mut lines, mut model) = (Lines::default(), BTreeMap::new());
            for (key, text, is_written) in steps {
                let line = text.clone().map(|text| RenderedRecord::of_text(text.clone(), text.len()));
                lines.put((key.into(), AtomId::new(key.to_string())), line);
                match text {
                    Some(text) => drop(model.insert(key, text)),
                    None => drop(model.remove(&key)),
                }
                let texts: Vec<&str> = model.values().map(String::as_str).collect();
                let mut file = String::from("{");
                lines.write(&mut file);
                prop_assert_eq!(&file[1..], texts.join(",\n"));
                prop_assert!(file.len() <= 1 + lines.size_max());
                if is_written {
                    lines.settle(&Arc::new(file + "}"), 1);
                    prop_assert_eq!(lines.len(), model.len());
                }
                let sealed: String = model
                    .iter()
                    .map(|(key, text)| format!("{key} {}\n", Digest::sha256(text.as_bytes())))
                    .collect();
                let mut bytes = Vec::new();
                lines.seal(None, &mut bytes);
                prop_assert_eq!(bytes, sealed.as_bytes());
                prop_assert_eq!(lines.values(), texts.concat().len());
            }
        }
    }
}
