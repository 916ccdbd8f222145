//! The lines of a map or a list of records, in the file and under the seal.
//!
//! Invariant: all lines are one text, in which a changed record is replaced in place. A commit of one record then moves
//! two texts; copying thousands of records one by one costs more than writing them.

use alloc::{collections::BTreeMap, string::String, vec::Vec};
use core::ops::Range;

use super::RenderedRecord;

/// `K` orders the records: an id, or a place in a list.
#[derive(Debug, Clone)]
pub(super) struct Lines<K> {
    /// Each line is preceded by the separator, the first one too.
    text: String,
    /// Sealed lines: a name, a blank, and a digest.
    sealed: Vec<u8>,
    lengths: BTreeMap<K, Length>,
}

#[derive(Debug, Clone, Copy)]
struct Length {
    text: usize,
    sealed: usize,
}

const PARTED_BY: &str = ",\n";

impl<K> Default for Lines<K> {
    fn default() -> Self {
        Self {
            text: String::new(),
            sealed: Vec::new(),
            lengths: BTreeMap::new(),
        }
    }
}

impl<K: Ord> Lines<K> {
    pub(super) fn len(&self) -> usize {
        self.lengths.len()
    }

    /// The lines of the file, without the separator before the first.
    pub(super) fn text(&self) -> &str {
        self.text.get(PARTED_BY.len()..).unwrap_or_default()
    }

    pub(super) fn sealed(&self) -> &[u8] {
        &self.sealed
    }

    /// `name` is the record's name under the seal.
    pub(super) fn put(&mut self, key: K, name: &str, record: &RenderedRecord) {
        let line = sealed_line(name, &record.digest);
        let length = Length {
            text: PARTED_BY.len() + record.text.len(),
            sealed: line.len(),
        };
        let (text, sealed) = self.place(&key);
        if text.start == self.text.len() {
            self.text.push_str(PARTED_BY);
            self.text.push_str(&record.text);
            self.sealed.extend_from_slice(&line);
        } else {
            let parted = [PARTED_BY, &record.text].concat();
            self.text.replace_range(text, &parted);
            drop(self.sealed.splice(sealed, line));
        }
        self.lengths.insert(key, length);
    }

    pub(super) fn take_out(&mut self, key: &K) {
        let (text, sealed) = self.place(key);
        self.text.replace_range(text, "");
        drop(self.sealed.drain(sealed));
        self.lengths.remove(key);
    }

    /// The place of `key`, or, with no length, the place where it would be.
    fn place(&self, key: &K) -> (Range<usize>, Range<usize>) {
        let is_last = self
            .lengths
            .last_key_value()
            .is_none_or(|(last, _)| last < key);
        if is_last {
            let (text, sealed) = (self.text.len(), self.sealed.len());
            return (text..text, sealed..sealed);
        }
        let (mut text, mut sealed) = (0, 0);
        for length in self.lengths.range(..key).map(|(_, length)| length) {
            text += length.text;
            sealed += length.sealed;
        }
        let own = self.lengths.get(key);
        let (own_text, own_sealed) = own.map_or((0, 0), |own| (own.text, own.sealed));
        (text..text + own_text, sealed..sealed + own_sealed)
    }
}

/// A line under the seal.
pub(super) fn sealed_line(name: &str, digest: &[u8]) -> Vec<u8> {
    [name.as_bytes(), b" ", digest, b"\n"].concat()
}

#[cfg(test)]
mod tests {
    use alloc::{
        collections::BTreeMap,
        format,
        string::{String, ToString},
        vec::Vec,
    };

    use proptest::prelude::*;

    use super::{Lines, RenderedRecord};
    use crate::id::Digest;

    fn record(text: &str) -> RenderedRecord {
        RenderedRecord {
            text: text.to_string(),
            digest: Digest::text_of(text.as_bytes()),
        }
    }

    proptest! {
        #[test]
        fn whatever_is_put_and_taken_out_stands_as_if_all_were_written_anew(
            steps in prop::collection::vec((0_u8..12, prop::option::of("[a-z]{0,9}")), 0..40)
        ) {
            let (mut lines, mut model) = (Lines::<u8>::default(), BTreeMap::new());
            for (key, text) in steps {
                match text {
                    Some(text) => {
                        lines.put(key, &key.to_string(), &record(&text));
                        model.insert(key, text);
                    }
                    None => {
                        lines.take_out(&key);
                        model.remove(&key);
                    }
                }
                let texts: Vec<&str> = model.values().map(String::as_str).collect();
                prop_assert_eq!(lines.text(), texts.join(",\n"));
                let sealed: String = model
                    .iter()
                    .map(|(key, text)| format!("{key} {}\n", Digest::of(text.as_bytes())))
                    .collect();
                prop_assert_eq!(lines.sealed(), sealed.as_bytes());
                prop_assert_eq!(lines.len(), model.len());
            }
        }
    }
}
