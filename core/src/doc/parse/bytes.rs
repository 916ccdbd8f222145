//! Reads bytes that should be text: invalid UTF-8 is reported with its place, the rest is read.
//!
//! Invariant: a replacement is as long as the bytes that it replaces, so every span fits the
//! original bytes.

use super::{FAULTS_MAX, parse, too_large};
use crate::doc::{Fault, Limits, Node, Parsed, Places, Span, Value, pointer_push};
use alloc::{
    borrow::Cow,
    format,
    string::{String, ToString},
    vec,
    vec::Vec,
};

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
    let refused = if bytes.len() > limits.bytes {
        Some(too_large(bytes.len(), limits.bytes))
    } else if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        let message = "the file is UTF-16, not UTF-8".into();
        Some(not_utf8(Span::new(0, 2), message))
    } else {
        None
    };
    if let Some(fault) = refused {
        return Parsed { node: None, faults: vec![fault] };
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
    Fault {
        span,
        pointer: String::new(),
        rule: "invalid-utf-8",
        message,
        hint: Some("save the file as UTF-8".into()),
    }
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
                pointer = pointer_push(&pointer, super::clipped(&member.key));
                next = Some(&member.node);
            }
        }
    }
    pointer
}
