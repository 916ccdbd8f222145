//! Reads a text into a tree, with every syntax fault in one pass.
//!
//! Here: the entry, the limits and what every part needs; the parts below read blanks, containers,
//! strings and bare words. Not here: what keys or values mean.
//!
//! Invariant: every loop consumes text or ends, and nesting is bounded. After `FAULTS_MAX` faults
//! the rest of the text is not read. A broken spot gives one fault.

mod container;
mod string;

use crate::prelude::*;
use alloc::borrow::Cow;
use core::ops::Range;

use super::{Fault, Limits, Node, Parsed, Places, Span, Value, pointer_push};

pub use container::duplicates;
pub use string::{fits_double, is_number};

const FAULTS_MAX: usize = 100;
/// Bytes of a key that a pointer repeats.
const TOKEN_BYTES_MAX: usize = 256;

/// Reads a whole text. An RFC 8259 text has no faults except limits, numbers beyond the range of a
/// double, and duplicate keys.
pub fn parse(text: &str, limits: &Limits) -> Parsed {
    let mut parser = Parser::new(text, limits);
    let node = parser.document();
    let mut faults = parser.faults;
    faults.sort_by_key(|fault| fault.span.start());
    Parsed { node, faults }
}

struct Parser<'t> {
    text: &'t str,
    bytes: &'t [u8],
    at: usize,
    limits: Limits,
    nodes: usize,
    /// The start of each container around `at`, the outermost first.
    open: Vec<usize>,
    /// Pointers in here are relative to the container being read; `under` completes them.
    faults: Vec<Fault>,
    places: Option<Places>,
    /// Reading and reporting have stopped.
    halted: bool,
    /// The early end of the text has been reported.
    end_reported: bool,
}

impl<'t> Parser<'t> {
    fn new(text: &'t str, limits: &Limits) -> Self {
        Self {
            text,
            bytes: text.as_bytes(),
            at: 0,
            limits: *limits,
            nodes: 0,
            open: Vec::new(),
            faults: Vec::new(),
            places: None,
            halted: false,
            end_reported: false,
        }
    }

    fn document(&mut self) -> Option<Node> {
        if self.bytes.len() > self.limits.bytes {
            self.faults = vec![too_large(self.bytes.len(), self.limits.bytes)];
            return None;
        }
        if self.bytes.is_empty() {
            let hint = "an empty file often is a write that was cut off";
            self.fault(0..0, "empty-file", "the file is empty", Some(hint));
            return None;
        }
        self.pass_byte_order_mark();
        self.skip_blank();
        let Some(node) = self.value() else {
            if self.faults.is_empty() {
                self.fault(0..0, "missing-value", "the file holds no value", None);
            }
            return None;
        };
        self.skip_blank();
        if self.peek().is_some() {
            let rest = self.at..self.content_end();
            let hint = "a JSON file holds one value: look for a bracket too many";
            let message = "there is more text after the end of the value";
            self.fault(rest, "extra-text", message, Some(hint));
        }
        Some(node)
    }

    /// Reads any value; `None` if there is none, which is a fault except at the end of the text.
    fn value(&mut self) -> Option<Node> {
        let mut is_reported = false;
        loop {
            self.skip_blank();
            let start = self.at;
            let value = match self.peek()? {
                b'{' | b'[' => self.container(),
                b'-' | b'+' | b'.' | b'0'..=b'9' => self.number(),
                b',' | b'}' | b']' => {
                    if !is_reported {
                        let here = start..start + 1;
                        self.fault(here, "missing-value", "a value is missing here", None);
                    }
                    return None;
                }
                _ if self.at_quote() => Value::String(self.quoted(false)),
                _ if self.at_word() => self.word(),
                _ => {
                    self.junk(is_reported);
                    is_reported = true;
                    continue;
                }
            };
            self.count_node(start);
            let span = self.since(start);
            return Some(Node { value, span });
        }
    }

    fn count_node(&mut self, start: usize) {
        self.nodes += 1;
        if self.nodes > self.limits.nodes {
            let message = format!("there are more than {} values", self.limits.nodes);
            self.fault(start..self.at, "too-many-values", message, None);
            self.halted = true;
        }
    }

    fn peek(&self) -> Option<u8> {
        if self.halted {
            return None;
        }
        self.bytes.get(self.at).copied()
    }

    fn since(&self, start: usize) -> Span {
        let end = self.at;
        Span::new(start, end)
    }

    fn content_end(&self) -> usize {
        let blank = |char: char| char.is_whitespace() || char == '\0';
        self.text.trim_end_matches(blank).len()
    }

    fn place(&mut self, offset: usize) -> (usize, usize) {
        let places = self.places.get_or_insert_with(|| Places::new(self.text));
        places.line_col(offset)
    }

    fn fault(
        &mut self,
        span: Range<usize>,
        rule: &'static str,
        message: impl Into<String>,
        hint: Option<&str>,
    ) {
        if self.halted {
            return;
        }
        let fault = Fault::at(rule, "", message.into(), hint);
        self.faults.push(Fault { span: Span::new(span.start, span.end), ..fault });
        self.halted = self.faults.len() >= FAULTS_MAX;
    }

    /// Moves the faults from `mark` on below `token`.
    fn under(&mut self, mark: usize, token: &str) {
        let token = pointer_push("", clipped(token));
        for fault in &mut self.faults[mark..] {
            fault.pointer.insert_str(0, &token);
        }
    }
}

fn too_large(bytes: usize, most: usize) -> Fault {
    let message = format!("the text has {bytes} bytes, more than the {most} allowed");
    Fault::at("too-large", "", message, None)
}

fn clipped(key: &str) -> &str {
    &key[..key.floor_char_boundary(TOKEN_BYTES_MAX)]
}

// Skips what may stand between values, and reports what is often found there but not allowed.
//
// Invariant: a blank is either JSON whitespace, a byte order mark at the start, or has given a
// fault.

const MARK: &str = "\u{feff}";

impl Parser<'_> {
    /// Editors of some systems write one: it says nothing.
    fn pass_byte_order_mark(&mut self) {
        if self.text.starts_with(MARK) {
            self.at = MARK.len();
        }
    }

    fn skip_blank(&mut self) {
        while let Some(byte) = self.peek() {
            let skipped = match byte {
                b' ' | b'\t' | b'\n' | b'\r' => {
                    self.at += 1;
                    true
                }
                b'/' | b'#' => self.skip_comment(),
                0 => {
                    self.skip_nul_bytes();
                    true
                }
                b'<' | b'=' | b'>' | b'|' | b'`' => self.skip_marker(),
                0x80.. => self.skip_odd_space(),
                _ => false,
            };
            if !skipped {
                return;
            }
        }
    }

    fn skip_comment(&mut self) -> bool {
        let (start, rest) = (self.at, &self.text[self.at..]);
        let mut message = "JSON has no comments";
        let len = if rest.starts_with("//") || rest.starts_with('#') {
            rest.find(['\n', '\r']).unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |close| close + 2)
        } else {
            return false;
        };
        if rest.starts_with("/*") && !rest[..len].ends_with("*/") {
            message = "this comment never ends, and JSON has none";
            self.end_reported = true;
        }
        self.at += len;
        let hint = "put the remark into a string";
        self.fault(start..self.at, "comment", message, Some(hint));
        true
    }

    fn skip_nul_bytes(&mut self) {
        let start = self.at;
        let rest = &self.bytes[start..];
        let count = rest.iter().take_while(|byte| **byte == 0).count();
        self.at += count;
        let message = format!("there are {count} NUL bytes here instead of text");
        let hint = "the machine probably stopped while the file was written";
        self.fault(start..self.at, "nul-bytes", message, Some(hint));
    }

    /// Skips a line that git leaves in a conflict, or the fence of a code block.
    fn skip_marker(&mut self) -> bool {
        let start = self.at;
        if start > 0 && self.bytes[start - 1] != b'\n' {
            return false;
        }
        let rest = &self.text[start..];
        let conflict = ["<<<<<<<", "=======", ">>>>>>>", "|||||||"];
        let (rule, message, hint) = if conflict.iter().any(|mark| rest.starts_with(mark)) {
            let hint = "keep one side of the conflict and delete its three marks";
            ("conflict-marker", "a merge left its mark here", hint)
        } else if rest.starts_with("```") {
            let hint = "delete this line";
            ("code-fence", "the fence of a code block stands here", hint)
        } else {
            return false;
        };
        self.at += rest.find(['\n', '\r']).unwrap_or(rest.len());
        self.fault(start..self.at, rule, message, Some(hint));
        true
    }

    fn skip_odd_space(&mut self) -> bool {
        let odd = |char: &char| {
            !char.is_ascii() && (char.is_whitespace() || matches!(char, '\u{feff}' | '\u{200b}'))
        };
        let start = self.at;
        let spaces = self.text[start..].chars().take_while(odd);
        let len: usize = spaces.map(char::len_utf8).sum();
        if len == 0 {
            return false;
        }
        self.at += len;
        let message = "this looks like a space but is none to JSON";
        let hint = "type it again as a plain space";
        self.fault(start..self.at, "odd-space", message, Some(hint));
        true
    }
}

// Reads bytes that should be text: invalid UTF-8 is reported with its place, the rest is read.
//
// Invariant: a replacement is as long as the bytes that it replaces, so every span fits the original bytes.

/// Reads the bytes of a file; see `parse`.
pub fn parse_bytes(bytes: &[u8], limits: &Limits) -> Parsed {
    parse_bytes_as(bytes, limits, parse)
}

/// Like [`parse_bytes`], for another notation, which `read` reads from text.
pub fn parse_bytes_as(
    bytes: &[u8],
    limits: &Limits,
    read: impl FnOnce(&str, &Limits) -> Parsed,
) -> Parsed {
    if bytes.len() > limits.bytes {
        return Parsed::refused(too_large(bytes.len(), limits.bytes));
    }
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        let message = "the file is UTF-16, not UTF-8".into();
        return Parsed::refused(not_utf8(Span::new(0, 2), message));
    }
    match readable(bytes) {
        Cow::Borrowed(text) => read(text, limits),
        Cow::Owned(text) => with_bad_bytes(bytes, &text, read(&text, limits)),
    }
}

/// The bytes as text of the same length, with `?` for each byte that is not UTF-8: for `Places`
/// and for showing the line of a fault.
pub fn readable(bytes: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = core::str::from_utf8(bytes) {
        return Cow::Borrowed(text);
    }
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|_| '?'));
    }
    Cow::Owned(text)
}

/// Adds the faults of the bytes, and removes those of their replacements.
fn with_bad_bytes(bytes: &[u8], text: &str, mut parsed: Parsed) -> Parsed {
    let places = Places::new(text);
    for (start, end) in bad_runs(bytes) {
        let (line, column) = places.line_col(start);
        let byte = bytes[start];
        let message = format!("the byte {byte:#04x} at {line}:{column} is not UTF-8");
        let mut fault = not_utf8(Span::new(start, end), message);
        fault.pointer = pointer_at(parsed.node.as_ref(), start);
        let stand_in = |other: &Fault| (start..end).contains(&other.span.start());
        parsed.faults.retain(|other| !stand_in(other));
        parsed.faults.push(fault);
    }
    parsed.faults.sort_by_key(|fault| fault.span.start());
    parsed.faults.truncate(FAULTS_MAX);
    parsed
}

/// Runs of neighbouring bytes that are not UTF-8; at most as many as can be reported.
fn bad_runs(bytes: &[u8]) -> Vec<(usize, usize)> {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    let mut at = 0;
    for chunk in bytes.utf8_chunks() {
        if runs.len() > FAULTS_MAX {
            break;
        }
        let start = at + chunk.valid().len();
        at = start + chunk.invalid().len();
        if start == at {
            continue;
        }
        match runs.last_mut() {
            Some(last) if last.1 == start => last.1 = at,
            _ => runs.push((start, at)),
        }
    }
    runs
}

fn not_utf8(span: Span, message: String) -> Fault {
    Fault { span, ..Fault::at("invalid-utf-8", "", message, Some("save the file as UTF-8")) }
}

/// The innermost value around an offset.
fn pointer_at(root: Option<&Node>, offset: usize) -> String {
    let around = |span: Span| (span.start()..span.end()).contains(&offset);
    let mut pointer = String::new();
    let mut next = root;
    while let Some(node) = next.take() {
        if let Value::Array(items) = &node.value {
            let index = items.iter().position(|item| around(item.span));
            if let Some(index) = index {
                pointer = pointer_push(&pointer, &index.to_string());
                next = Some(&items[index]);
            }
        } else if let Value::Object(members) = &node.value {
            let member = members.iter().find(|member| around(member.node.span));
            if let Some(member) = member {
                pointer = pointer_push(&pointer, clipped(&member.key));
                next = Some(&member.node);
            }
        }
    }
    pointer
}
