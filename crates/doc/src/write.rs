//! A tree as text: indented, compact, sorted for a digest, by serde for `--json`, and in the layout of the state file.
//!
//! Invariant: reading what was written gives an equal tree; the same tree gives the same bytes.
//! Not here: the file's final newline, the order of records (`state::encode`).

use core::fmt;

use crate::prelude::*;
use serde::ser::{Serialize, SerializeMap, Serializer};

use super::{Member, Node, Value};

/// Two-space indent, LF, one member or element per line, no final newline.
pub fn write(node: &Node) -> String {
    written(node, Flow::Lines(0))
}

/// One line without spaces, keys in their order.
pub fn write_compact(node: &Node) -> String {
    written(node, Flow::Compact)
}

/// One line, with a blank after each comma and colon.
pub fn write_side_by_side(node: &Node, out: &mut String) {
    // A text takes all that is written.
    let _ = write_parts(node, Flow::Spaced, out);
}

/// One line without spaces, keys sorted by their bytes: the text of a digest.
pub fn canonical(node: &Node) -> String {
    written(node, Flow::Sorted)
}

fn written(node: &Node, flow: Flow) -> String {
    let mut out = String::new();
    let _ = write_parts(node, flow, &mut out);
    out
}

/// How the parts of a value follow one another.
#[derive(Clone, Copy, PartialEq)]
enum Flow {
    Compact,
    /// With a blank after each comma and colon.
    Spaced,
    /// Compact, with sorted keys.
    Sorted,
    /// A line each, so deep inside others.
    Lines(usize),
}

impl Flow {
    fn inner(self) -> Self {
        if let Self::Lines(level) = self { Self::Lines(level + 1) } else { self }
    }

    /// Writes what stands before a part.
    fn part(self, index: usize, out: &mut impl fmt::Write) -> fmt::Result {
        out.write_str(if index > 0 { "," } else { "" })?;
        match self {
            Self::Lines(level) => break_line((level + 1) * INDENT, out),
            Self::Spaced if index > 0 => out.write_char(' '),
            _ => Ok(()),
        }
    }

    /// Writes what stands behind so many parts.
    fn end(self, parts: usize, out: &mut impl fmt::Write) -> fmt::Result {
        match self {
            Self::Lines(level) if parts > 0 => break_line(level * INDENT, out),
            _ => Ok(()),
        }
    }
}

fn write_parts(node: &Node, flow: Flow, out: &mut impl fmt::Write) -> fmt::Result {
    match &node.value {
        Value::Null => out.write_str("null"),
        Value::Bool(true) => out.write_str("true"),
        Value::Bool(false) => out.write_str("false"),
        Value::Number(raw) => out.write_str(raw),
        Value::String(text) => quote(text, out),
        Value::Array(items) => {
            out.write_char('[')?;
            for (index, item) in items.iter().enumerate() {
                flow.part(index, out)?;
                write_parts(item, flow.inner(), out)?;
            }
            flow.end(items.len(), out)?;
            out.write_char(']')
        }
        Value::Object(members) => {
            let mut sorted: Vec<&Member> = Vec::new();
            if flow == Flow::Sorted {
                sorted.extend(members);
                sorted.sort_by(|a, b| a.key.cmp(&b.key));
            }
            out.write_char('{')?;
            for (index, member) in members.iter().enumerate() {
                let member = sorted.get(index).copied().unwrap_or(member);
                flow.part(index, out)?;
                write_member(member, flow, out)?;
            }
            flow.end(members.len(), out)?;
            out.write_char('}')
        }
    }
}

fn write_member(member: &Member, flow: Flow, out: &mut impl fmt::Write) -> fmt::Result {
    quote(&member.key, out)?;
    let is_compact = matches!(flow, Flow::Compact | Flow::Sorted);
    out.write_str(if is_compact { ":" } else { ": " })?;
    write_parts(&member.node, flow.inner(), out)
}

/// Escapes only what JSON requires.
pub fn write_quoted(text: &str, out: &mut String) {
    let _ = quote(text, out);
}

fn quote(text: &str, out: &mut impl fmt::Write) -> fmt::Result {
    out.write_char('"')?;
    let mut plain = 0;
    for (at, byte) in text.bytes().enumerate() {
        if byte >= 0x20 && byte != b'"' && byte != b'\\' {
            continue;
        }
        out.write_str(&text[plain..at])?;
        plain = at + 1;
        write_escape(byte, out)?;
    }
    out.write_str(&text[plain..])?;
    out.write_char('"')
}

fn write_escape(byte: u8, out: &mut impl fmt::Write) -> fmt::Result {
    match byte {
        b'"' => out.write_str("\\\""),
        b'\\' => out.write_str("\\\\"),
        0x08 => out.write_str("\\b"),
        0x0c => out.write_str("\\f"),
        b'\n' => out.write_str("\\n"),
        b'\r' => out.write_str("\\r"),
        b'\t' => out.write_str("\\t"),
        other => write!(out, "\\u{other:04x}"),
    }
}

impl Serialize for Node {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match &self.value {
            Value::Null => to.serialize_unit(),
            Value::Bool(flag) => to.serialize_bool(*flag),
            Value::String(text) => to.serialize_str(text),
            Value::Array(items) => to.collect_seq(items),
            Value::Object(members) => {
                let mut map = to.serialize_map(Some(members.len()))?;
                for member in members {
                    map.serialize_entry(&member.key, &member.node)?;
                }
                map.end()
            }
            Value::Number(text) => number(text, to),
        }
    }
}

/// Any JSON value.
#[cfg(feature = "schema")]
impl schemars::JsonSchema for Node {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> alloc::borrow::Cow<'static, str> {
        "Node".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        true.into()
    }
}

/// A number that no machine type holds is written as its text.
fn number<S: Serializer>(text: &str, to: S) -> Result<S::Ok, S::Error> {
    if let Ok(count) = text.parse::<u64>() {
        return to.serialize_u64(count);
    }
    if let Ok(count) = text.parse::<i64>() {
        return to.serialize_i64(count);
    }
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() => to.serialize_f64(number),
        _ => to.serialize_str(text),
    }
}

/// A value of free form stands under this key.
const FREE: &str = "value";
/// A larger one is written on one line.
const FREE_BYTES_MAX: usize = 16 << 10;

/// Columns at most of a line that can be broken.
pub const COLUMNS_MAX: usize = 110;

/// Blanks before a line inside of another.
pub const INDENT: usize = 2;

/// Writes a value behind what stands on the line, which begins with `indent` blanks. `tail` characters follow the value
/// on its last line.
pub fn write_filled(node: &Node, indent: usize, tail: usize, out: &mut String) {
    let room = COLUMNS_MAX.saturating_sub(column(out) + tail);
    match &node.value {
        Value::Array(items) if !items.is_empty() && !fits_in(node, room) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                part(index, out);
                new_line(indent + INDENT, out);
                write_filled(item, indent + INDENT, tail_of(index, items.len(), tail), out);
            }
            out.push(']');
        }
        Value::Object(members) if !members.is_empty() && !fits_in(node, room) => {
            out.push('{');
            for (index, member) in members.iter().enumerate() {
                part(index, out);
                let tail = tail_of(index, members.len(), tail);
                let room = COLUMNS_MAX.saturating_sub(column(out) + 1 + tail);
                let fits = fits(room, |out| write_member(member, Flow::Spaced, out));
                let inner = if index > 0 && !fits { indent + INDENT } else { indent };
                match (index, fits) {
                    (0, _) => {}
                    (_, true) => out.push(' '),
                    (_, false) => new_line(inner, out),
                }
                write_key(&member.key, out);
                if is_long_free(&member.key, &member.node) {
                    out.push_str(&write_compact(&member.node))
                } else {
                    write_filled(&member.node, inner, tail, out)
                }
            }
            out.push('}');
        }
        _ => write_side_by_side(node, out),
    }
}

pub fn write_key(key: &str, out: &mut String) {
    write_quoted(key, out);
    out.push_str(": ");
}

pub fn new_line(indent: usize, out: &mut String) {
    let _ = break_line(indent, out);
}

fn break_line(indent: usize, out: &mut impl fmt::Write) -> fmt::Result {
    out.write_char('\n')?;
    (0..indent).try_for_each(|_| out.write_char(' '))
}

fn part(index: usize, out: &mut String) {
    if index > 0 {
        out.push(',');
    }
}

/// A value of free form that would take many lines.
fn is_long_free(key: &str, node: &Node) -> bool {
    key == FREE && !fits_in(node, FREE_BYTES_MAX)
}

/// Characters behind an item on its last line: a comma, or the closing bracket and all behind it.
fn tail_of(index: usize, items: usize, tail: usize) -> usize {
    if index + 1 == items { tail + 1 } else { 1 }
}

/// Characters on the line that is being written.
fn column(out: &str) -> usize {
    let start = out.rfind('\n').map_or(0, |end| end + 1);
    let line = &out[start..];
    if line.len() > 4 * COLUMNS_MAX { COLUMNS_MAX } else { line.chars().count() }
}

/// Whether a value on one line has no more than so many characters.
fn fits_in(node: &Node, room: usize) -> bool {
    fits(room, |out| write_parts(node, Flow::Spaced, out))
}

fn fits(room: usize, write: impl FnOnce(&mut CharRoom) -> fmt::Result) -> bool {
    write(&mut CharRoom { left: room }).is_ok()
}

/// Takes so many characters and keeps none; then it is full.
struct CharRoom {
    left: usize,
}

impl fmt::Write for CharRoom {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        // A character has four bytes at most.
        let is_long = text.len() / 4 > self.left;
        let left = if is_long { None } else { self.left.checked_sub(text.chars().count()) };
        self.left = left.ok_or(fmt::Error)?;
        Ok(())
    }
}
