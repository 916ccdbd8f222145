//! One line of the journal: a digest, then JSON with bounded events.
//!
//! Invariant: the digest proves that a line is as it was written; any other line is ignored. A line
//! ends where its JSON ends, so that a lost newline joins no two. Not here: files, chains of lines.

use std::{
    borrow::Cow,
    io::{self, BufWriter, IntoInnerError, Write},
};

use descent_core::{
    difference::Difference,
    event::Event,
    id::{Lineage, Serial},
    state::patch::Patch,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

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
    /// When the new records happened, according to the state.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stamps: Vec<String>,
    /// The announcements of the commit.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<Event>,
    /// The changes by a person.
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

impl JournalLine<'_> {
    /// Writes the line and returns its length. The JSON is composed twice, for its digest comes first: a buffer for the
    /// whole would be larger than the state.
    pub(super) fn write_to(&self, out: &mut impl Write) -> io::Result<u64> {
        let mut digested = BufWriter::with_capacity(PIECE_BYTES, JsonDigest::default());
        serde_json::to_writer(&mut digested, self)?;
        let JsonDigest { hash, len } = digested.into_inner().map_err(IntoInnerError::into_error)?;
        write!(out, "{} ", digits(hash))?;
        serde_json::to_writer(&mut *out, self)?;
        out.write_all(b"\n")?;
        Ok(len + DIGITS as u64 + 2)
    }
}

/// Bytes that are digested or written at once.
pub(super) const PIECE_BYTES: usize = 64 << 10;

/// The digest and the length of what is written to it.
#[derive(Default)]
struct JsonDigest {
    hash: Sha256,
    len: u64,
}

impl Write for JsonDigest {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.hash.update(bytes);
        self.len += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
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
    let found = self::digits(Sha256::new_with_prefix(json.get(..used)?));
    let is_whole = found.as_bytes() == digits;
    // The newline is taken too, or the byte in its place.
    is_whole.then_some((line, (DIGITS + 1 + used + 1).min(bytes.len())))
}

/// The first digits of the digest.
fn digits(hash: Sha256) -> String {
    let first = hash.finalize().into_iter().take(DIGITS / 2);
    first.map(|byte| format!("{byte:02x}")).collect()
}

// Bounds the events of a line: their number, and the length of each.
//
// Invariant: an event that is too long is shortened, and never left out for its length.

/// Maximum of events in one line.
const EVENTS_MAX: usize = 64;
/// Bytes of an event that is kept as it is.
const BYTES_MAX: usize = 2_048;
/// Maximum of characters of a text in a longer one.
const CHARS_MAX: usize = 300;
/// Maximum of items in a list of a longer one.
const ITEMS_MAX: usize = 16;

/// The events in their order. Those of the history come first if there are too many.
pub(super) fn bounded(events: &[Event]) -> Vec<Event> {
    let (lasting, passing): (Vec<&Event>, Vec<&Event>) = if events.len() > EVENTS_MAX {
        events.iter().partition(|event| event.is_lasting())
    } else {
        (events.iter().collect(), Vec::new())
    };
    let kept = lasting.into_iter().chain(passing).take(EVENTS_MAX);
    kept.map(shortened).collect()
}

fn shortened(event: &Event) -> Event {
    let text = serde_json::to_string(event).unwrap_or_default();
    if text.len() <= BYTES_MAX {
        return event.clone();
    }
    let mut value = serde_json::from_str(&text).unwrap_or_default();
    shorten(&mut value);
    serde_json::from_value(value).unwrap_or_else(|_| event.clone())
}

fn shorten(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Some((end, _)) = text.char_indices().nth(CHARS_MAX) {
                text.truncate(end);
                text.push('…');
            }
        }
        Value::Array(items) => {
            items.truncate(ITEMS_MAX);
            items.iter_mut().for_each(shorten);
        }
        Value::Object(members) => {
            let more: Vec<String> = members.keys().skip(ITEMS_MAX).cloned().collect();
            more.iter().for_each(|key| drop(members.remove(key)));
            members.values_mut().for_each(shorten);
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
