//! The pieces of a file: how the texts of records stand in it.
//!
//! Not here: the texts (`rendered`, `lines`, `single`).

use alloc::{string::String, vec::Vec};
use core::ops::Range;

use super::{lines::Text, rendered::RenderedRecord, single::Single};
use crate::doc;

/// The text of a file, with the places in it of the records that are many or large.
pub(super) struct FileText {
    pub text: String,
    pub spans: Vec<Range<usize>>,
}

/// The text at a key.
pub(super) enum Piece<'r> {
    Text(String),
    Record(&'r RenderedRecord),
    Single(&'r Single),
    Lines([char; 2], &'r dyn Text),
    /// Members side by side.
    Members(Vec<(String, Piece<'r>)>),
    /// The members of `internal`: a line each behind the first three.
    Internal(Vec<(&'static str, Piece<'r>)>),
}

impl Piece<'_> {
    pub(super) fn write(&self, file: &mut FileText) {
        let text = &mut file.text;
        match self {
            Piece::Text(own) => text.push_str(own),
            Piece::Record(record) => text.push_str(&record.text),
            Piece::Single(single) => {
                let start = text.len();
                single.write(text);
                file.spans.push(start..text.len());
            }
            Piece::Lines([begin, end], lines) => {
                text.extend([*begin, '\n']);
                let start = text.len();
                lines.write(text);
                file.spans.push(start..text.len());
                if text.len() == start {
                    text.truncate(start - 1);
                }
                text.push(*end);
            }
            Piece::Members(pieces) => {
                text.push('{');
                for (index, (key, piece)) in pieces.iter().enumerate() {
                    file.text.push_str(if index == 0 { "" } else { ", " });
                    doc::write_key(key, &mut file.text);
                    piece.write(file);
                }
                file.text.push('}');
            }
            Piece::Internal(pieces) => {
                text.push('{');
                for (index, (key, piece)) in pieces.iter().enumerate() {
                    match index {
                        0 => {}
                        1 | 2 => file.text.push_str(", "),
                        _ => file.text.push_str(",\n"),
                    }
                    doc::write_key(key, &mut file.text);
                    piece.write(file);
                }
                file.text.push('}');
            }
        }
    }
}
