//! One line of the journal: a digest, then JSON.
//!
//! Invariant: the digest proves that a line is as it was written; any other line is ignored. A line
//! ends where its JSON ends, so that a lost newline joins no two. Not here: files, chains of lines.

use std::borrow::Cow;

use descent_core::difference::Difference;
use descent_core::event::Event;
use descent_core::id::{Digest, Lineage, Serial};
use descent_core::state::patch::Patch;
use serde::{Deserialize, Serialize};

/// Hexadecimal digits of the digest.
const DIGITS: usize = 16;

/// One commit, as it was noted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Commit {
    pub lineage: Lineage,
    pub serial: Serial,
    pub at_ms: u64,
    pub by: String,
    /// With `edit`, a person saved the file, and the commit of this serial adopted it.
    pub command: String,
    /// A person changed the agreement.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_correction: bool,
    /// When the new records happened, according to the state; an older version noted all that it found.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stamps: Vec<String>,
    /// The announcements of the commit; an older version noted none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<Event>,
    /// The changes by a person; an older version noted those of every commit.
    pub changes: Vec<Difference>,
}

/// A line borrows the text of a state that is written, since that may be large.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct JournalLine<'t> {
    #[serde(flatten)]
    pub(super) commit: Commit,
    /// The patch to the state before this one; the line before holds it too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) before: Option<Patch>,
    pub(super) body: Body<'t>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Body<'t> {
    /// The text of the state.
    Whole(Cow<'t, str>),
    Patch(Box<Patch>),
    /// The text of a person's edit.
    Edit(Cow<'t, str>),
}

/// A line as it was read.
pub(super) type ReadLine = JournalLine<'static>;

/// The rough size of a line without the text of a state, whose quotes and ends of line take a byte more each.
const AROUND_BYTES: usize = 4 << 10;

impl JournalLine<'_> {
    /// The line in one buffer: the digest is put in front of its JSON last.
    pub(super) fn encode(&self) -> Vec<u8> {
        let text = match &self.body {
            Body::Whole(text) | Body::Edit(text) => text.len() + text.len() / 4,
            Body::Patch(_) => 0,
        };
        let mut line = Vec::with_capacity(text + AROUND_BYTES);
        line.resize(DIGITS, b'0');
        line.push(b' ');
        // Nothing fails here: the keys are texts, and a buffer takes all.
        let _ = serde_json::to_writer(&mut line, self);
        let digits = check(line.get(DIGITS + 1..).unwrap_or_default());
        line.splice(..DIGITS, digits.bytes());
        line.push(b'\n');
        line
    }
}

/// Every intact line, in order.
pub(super) fn decode(bytes: &[u8]) -> Vec<ReadLine> {
    let mut lines = Vec::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        match first(rest) {
            Some((line, used)) => {
                lines.push(line);
                rest = rest.get(used..).unwrap_or_default();
            }
            None => {
                let end = rest.iter().position(|byte| *byte == b'\n');
                rest = end.and_then(|end| rest.get(end + 1..)).unwrap_or_default();
            }
        }
    }
    lines
}

/// The first line, and how many bytes it takes.
fn first(bytes: &[u8]) -> Option<(ReadLine, usize)> {
    let (digits, rest) = bytes.split_at_checked(DIGITS)?;
    let json = rest.strip_prefix(b" ")?;
    let mut values = serde_json::Deserializer::from_slice(json).into_iter::<ReadLine>();
    let line = values.next()?.ok()?;
    let used = values.byte_offset();
    let is_whole = check(json.get(..used)?).as_bytes() == digits;
    // The newline is taken too, or the byte in its place.
    is_whole.then_some((line, (DIGITS + 1 + used + 1).min(bytes.len())))
}

fn check(json: &[u8]) -> Cow<'static, str> {
    let digest = Digest::of(json);
    let digits = digest.as_str().trim_start_matches("sha256:");
    digits.chars().take(DIGITS).collect::<String>().into()
}
