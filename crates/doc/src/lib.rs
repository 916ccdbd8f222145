#![no_std]
#![warn(missing_debug_implementations)]
//! The lossless tree of a JSON text: spans, key order, raw numbers, duplicate keys.
//!
//! Not here: the meaning of a document (`descent-core`), YAML (`descent-engine`), any I/O.
//!
//! Interface: [`parse`] and [`parse_bytes`] read a text into a [`Node`] with every [`Fault`] of its syntax.
//! [`write()`], [`write_compact`] and [`canonical`] write one. [`Places`] finds the line and column of a [`Span`].
//! [`did_you_mean`] finds the known word next to a misspelt one. [`Limits`] bound depth and size.
//!
//! Invariant: a tree read without faults and written again has the same content, and the number
//! texts of a tree that `parse` made are JSON numbers. Equality looks at content, never at spans.

extern crate alloc;

mod parse;
mod suggest;
#[cfg(test)]
mod tests;
mod write;

/// The names that `std` gives without an import, with its pointers and maps, for crates without `std`.
pub mod prelude {
    pub use alloc::{
        borrow::ToOwned,
        boxed::Box,
        collections::{BTreeMap, BTreeSet},
        format,
        string::{String, ToString},
        sync::Arc,
        vec,
        vec::Vec,
    };
}

use prelude::*;

pub use parse::{duplicates, fits_double, is_number, parse, parse_bytes, parse_bytes_as, readable};
pub use suggest::{did_you_mean, slip_of, suggest};
pub use write::{
    INDENT, canonical, new_line, write, write_compact, write_filled, write_key, write_quoted,
    write_side_by_side,
};

/// The largest integer that every JSON reader holds exactly.
const EXACT_MAX: u64 = 1 << 53;

/// A range of bytes of the text; empty if something is missing, and in a tree built by code.
///
/// It takes half the memory of two `usize`, since a tree has two spans for every value. Longer
/// texts are not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Span {
    start: u32,
    end: u32,
}

impl Span {
    pub fn new(start: usize, end: usize) -> Self {
        let short = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        Self { start: short(start), end: short(end) }
    }

    pub fn start(self) -> usize {
        self.start as usize
    }

    pub fn end(self) -> usize {
        self.end as usize
    }
}

/// A value and its place.
#[derive(Debug, Clone)]
pub struct Node {
    pub value: Value,
    pub span: Span,
}

/// The content of a node.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Null,
    Bool(bool),
    /// The raw text of the number.
    Number(String),
    String(String),
    Array(Vec<Node>),
    Object(Vec<Member>),
}

/// A key of an object with its value; `key_span` includes the quotes.
#[derive(Debug, Clone)]
pub struct Member {
    pub key: String,
    pub key_span: Span,
    pub node: Node,
}

impl Member {
    pub fn new(key: impl Into<String>, node: Node) -> Self {
        Self { key: key.into(), key_span: Span::default(), node }
    }
}

/// One thing wrong with a text.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Fault {
    #[serde(skip)]
    pub span: Span,
    /// A JSON pointer (RFC 6901); for a key longer than 256 bytes only its start.
    pub pointer: String,
    /// In kebab-case, stable.
    pub rule: &'static str,
    /// One sentence, no full stop.
    pub message: String,
    pub hint: Option<String>,
}

impl Fault {
    /// A fault of a part that stands in no text.
    pub fn at(rule: &'static str, pointer: &str, message: String, hint: Option<&str>) -> Self {
        let (pointer, hint) = (pointer.into(), hint.map(Into::into));
        Self { span: Span::default(), pointer, rule, message, hint }
    }
}

/// Limits on the cost of reading a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    pub bytes: usize,
    /// The first depth of nesting that is refused; never more than 512.
    pub depth: usize,
    /// Values in the tree.
    pub nodes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { bytes: 16 << 20, depth: 128, nodes: 1_000_000 }
    }
}

/// The result of reading a text. With faults the tree is a guess, good for messages but not for
/// use.
#[derive(Debug, Clone)]
pub struct Parsed {
    pub node: Option<Node>,
    /// Sorted by place; at most 100.
    pub faults: Vec<Fault>,
}

impl Parsed {
    /// A text of which nothing can be read.
    pub fn refused(fault: Fault) -> Self {
        Self { node: None, faults: Vec::from([fault]) }
    }
}

impl PartialEq for Node {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

impl PartialEq for Member {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key && self.node == other.node
    }
}

impl From<Value> for Node {
    fn from(value: Value) -> Self {
        let span = Span::default();
        Self { value, span }
    }
}

impl Node {
    /// An object without members.
    pub const fn no_members() -> Self {
        Self { value: Value::Object(Vec::new()), span: Span { start: 0, end: 0 } }
    }

    /// The members of an object; none of anything else.
    pub fn into_members(self) -> Vec<Member> {
        match self.value {
            Value::Object(members) => members,
            _ => Vec::new(),
        }
    }

    pub fn null() -> Self {
        Value::Null.into()
    }

    pub fn bool(value: bool) -> Self {
        Value::Bool(value).into()
    }

    /// Above 2^53 the number becomes a decimal string, since other readers would round it.
    pub fn uint(value: u64) -> Self {
        let text = value.to_string();
        if value > EXACT_MAX { Value::String(text).into() } else { Value::Number(text).into() }
    }

    pub fn integer(value: i32) -> Self {
        Value::Number(value.to_string()).into()
    }

    pub fn string(text: impl Into<String>) -> Self {
        Value::String(text.into()).into()
    }

    pub fn array(items: Vec<Node>) -> Self {
        Value::Array(items).into()
    }

    pub fn object(members: Vec<(impl Into<String>, Node)>) -> Self {
        let members = members.into_iter().map(|(key, node)| Member::new(key, node));
        Value::Object(members.collect()).into()
    }

    /// The same without a person's remarks, which decide nothing.
    pub fn without_notes(mut self) -> Self {
        self.drop_notes();
        self
    }

    fn drop_notes(&mut self) {
        match &mut self.value {
            Value::Object(members) => {
                members.retain(|member| member.key != "notes");
                members.iter_mut().for_each(|member| member.node.drop_notes());
            }
            Value::Array(items) => items.iter_mut().for_each(Node::drop_notes),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    /// The values in it, itself among them: what [`Limits::nodes`] counts.
    pub fn count(&self) -> usize {
        1 + match &self.value {
            Value::Array(items) => items.iter().map(Node::count).sum(),
            Value::Object(members) => members.iter().map(|member| member.node.count()).sum(),
            _ => 0,
        }
    }

    /// The value of the first member of that key.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.member(key).map(|member| &member.node)
    }

    pub fn member(&self, key: &str) -> Option<&Member> {
        self.as_object()?.iter().find(|member| member.key == key)
    }

    pub fn as_str(&self) -> Option<&str> {
        match &self.value {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    pub fn as_bool(&self) -> Option<bool> {
        match self.value {
            Value::Bool(value) => Some(value),
            _ => None,
        }
    }

    /// The text of a number, as it was written.
    pub fn number_text(&self) -> Option<&str> {
        match &self.value {
            Value::Number(text) => Some(text),
            _ => None,
        }
    }

    /// The text of a number, or of a string that may hold one.
    pub fn numeral(&self) -> Option<&str> {
        self.number_text().or(self.as_str())
    }

    /// A plain non-negative integer, as a number or as a decimal string without leading zeros.
    pub fn as_u64(&self) -> Option<u64> {
        let text = self.numeral()?;
        let digits = text.bytes().all(|byte| byte.is_ascii_digit());
        let plain = digits && (text.len() == 1 || !text.starts_with('0'));
        plain.then(|| text.parse().ok()).flatten()
    }

    pub fn as_array(&self) -> Option<&[Node]> {
        match &self.value {
            Value::Array(items) => Some(items),
            _ => None,
        }
    }

    pub fn as_object(&self) -> Option<&[Member]> {
        match &self.value {
            Value::Object(members) => Some(members),
            _ => None,
        }
    }

    /// The object with these of its members; of anything else an empty one.
    #[must_use]
    pub fn filtered(&self, is_kept: impl Fn(&str, &Node) -> bool) -> Self {
        let members = self.as_object().unwrap_or_default().iter();
        let kept = members.filter(|member| is_kept(&member.key, &member.node));
        Self::object(kept.map(|one| (one.key.clone(), one.node.clone())).collect())
    }

    pub fn is_null(&self) -> bool {
        matches!(self.value, Value::Null)
    }

    /// The name of this kind of value in messages.
    pub fn kind_name(&self) -> &'static str {
        match self.value {
            Value::Null => "null",
            Value::Bool(_) => "true or false",
            Value::Number(_) => "a number",
            Value::String(_) => "a string",
            Value::Array(_) => "a list",
            Value::Object(_) => "an object",
        }
    }
}

/// The words of a text in one line, cut after so many characters.
pub fn one_line(text: &str, chars_max: usize) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let line: String = words.join(" ").chars().take(chars_max).collect();
    String::from(line.trim_end())
}

/// The pointer one token deeper (RFC 6901).
pub fn pointer_push(base: &str, token: &str) -> String {
    let mut pointer = String::with_capacity(base.len() + 1 + token.len());
    pointer.push_str(base);
    pointer.push('/');
    for char in token.chars() {
        match char {
            '~' => pointer.push_str("~0"),
            '/' => pointer.push_str("~1"),
            other => pointer.push(other),
        }
    }
    pointer
}

// Converts a byte offset of a text to the line and column that a person sees.
//
// Invariant: any offset has a place; an offset beyond the end has that of the end.

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
