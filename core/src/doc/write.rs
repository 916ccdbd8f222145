//! A tree as text: indented, compact for a line, sorted for a digest.
//!
//! Invariant: reading what was written gives an equal tree; the same tree gives the same bytes.
//! Not here: the file's final newline.

use super::{Member, Node, Value};
use alloc::{string::String, vec::Vec};

/// Two-space indent, LF, one member or element per line, no final newline.
pub fn write(node: &Node) -> String {
    let mut out = String::new();
    write_indented(node, 0, &mut out);
    out
}

/// Writes a value at nesting `level`: its first line is not indented.
fn write_indented(node: &Node, level: usize, out: &mut String) {
    match &node.value {
        Value::Array(items) if !items.is_empty() => {
            write_lines('[', ']', items, level, out, |item, out| {
                write_indented(item, level + 1, out);
            });
        }
        Value::Object(members) if !members.is_empty() => {
            write_lines('{', '}', members, level, out, |member, out| {
                write_quoted(&member.key, out);
                out.push_str(": ");
                write_indented(&member.node, level + 1, out);
            });
        }
        _ => write_flat(node, false, out),
    }
}

/// One line without spaces, keys in their order.
pub fn write_compact(node: &Node) -> String {
    let mut out = String::new();
    write_flat(node, false, &mut out);
    out
}

/// One line without spaces, keys sorted by their bytes: the text of a digest.
pub fn canonical(node: &Node) -> String {
    let mut out = String::new();
    write_flat(node, true, &mut out);
    out
}

fn write_lines<T>(
    open: char,
    close: char,
    items: &[T],
    level: usize,
    out: &mut String,
    mut each: impl FnMut(&T, &mut String),
) {
    out.push(open);
    for (index, item) in items.iter().enumerate() {
        out.push_str(if index == 0 { "\n" } else { ",\n" });
        indent(level + 1, out);
        each(item, out);
    }
    out.push('\n');
    indent(level, out);
    out.push(close);
}

fn indent(level: usize, out: &mut String) {
    for _ in 0..level {
        out.push_str("  ");
    }
}

fn write_flat(node: &Node, sorted: bool, out: &mut String) {
    match &node.value {
        Value::Null => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Number(raw) => out.push_str(raw),
        Value::String(text) => write_quoted(text, out),
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                separate(index, out);
                write_flat(item, sorted, out);
            }
            out.push(']');
        }
        Value::Object(members) => write_members(members, sorted, out),
    }
}

fn write_members(members: &[Member], sorted: bool, out: &mut String) {
    let mut members: Vec<&Member> = members.iter().collect();
    if sorted {
        members.sort_by(|a, b| a.key.cmp(&b.key));
    }
    out.push('{');
    for (index, member) in members.into_iter().enumerate() {
        separate(index, out);
        write_quoted(&member.key, out);
        out.push(':');
        write_flat(&member.node, sorted, out);
    }
    out.push('}');
}

fn separate(index: usize, out: &mut String) {
    if index > 0 {
        out.push(',');
    }
}

/// Escapes only what JSON requires.
pub fn write_quoted(text: &str, out: &mut String) {
    out.push('"');
    let mut plain = 0;
    for (at, byte) in text.bytes().enumerate() {
        if byte >= 0x20 && byte != b'"' && byte != b'\\' {
            continue;
        }
        out.push_str(&text[plain..at]);
        plain = at + 1;
        write_escape(byte, out);
    }
    out.push_str(&text[plain..]);
    out.push('"');
}

fn write_escape(byte: u8, out: &mut String) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    match byte {
        b'"' => out.push_str("\\\""),
        b'\\' => out.push_str("\\\\"),
        0x08 => out.push_str("\\b"),
        0x0c => out.push_str("\\f"),
        b'\n' => out.push_str("\\n"),
        b'\r' => out.push_str("\\r"),
        b'\t' => out.push_str("\\t"),
        other => {
            out.push_str("\\u00");
            out.push(char::from(HEX[usize::from(other >> 4)]));
            out.push(char::from(HEX[usize::from(other & 15)]));
        }
    }
}
