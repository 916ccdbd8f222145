//! The layout of the state file: values side by side up to a width, and what does not fit on lines of its own.
//!
//! Not here: the order of records (`state::encode`).

use alloc::string::String;

use super::{
    Node, Value,
    write::{write_compact, write_quoted},
};

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
        Value::Array(items) if !items.is_empty() && width(node, room).is_none() => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                part(index, out);
                new_line(indent + INDENT, out);
                write_filled(item, indent + INDENT, tail_of(index, items.len(), tail), out);
            }
            out.push(']');
        }
        Value::Object(members) if !members.is_empty() && width(node, room).is_none() => {
            out.push('{');
            for (index, member) in members.iter().enumerate() {
                part(index, out);
                let tail = tail_of(index, members.len(), tail);
                let room = COLUMNS_MAX.saturating_sub(column(out) + 1 + tail);
                let fits = member_width(&member.key, &member.node, room).is_some();
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

/// One line, with a blank after each comma and colon.
pub fn write_side_by_side(node: &Node, out: &mut String) {
    match &node.value {
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                out.push_str(if index > 0 { ", " } else { "" });
                write_side_by_side(item, out);
            }
            out.push(']');
        }
        Value::Object(members) => {
            out.push('{');
            for (index, member) in members.iter().enumerate() {
                out.push_str(if index > 0 { ", " } else { "" });
                write_key(&member.key, out);
                write_side_by_side(&member.node, out);
            }
            out.push('}');
        }
        _ => out.push_str(&write_compact(node)),
    }
}

pub fn write_key(key: &str, out: &mut String) {
    write_quoted(key, out);
    out.push_str(": ");
}

pub fn new_line(indent: usize, out: &mut String) {
    out.push('\n');
    out.extend(core::iter::repeat_n(' ', indent));
}

fn part(index: usize, out: &mut String) {
    if index > 0 {
        out.push(',');
    }
}

/// A value of free form that would take many lines.
fn is_long_free(key: &str, node: &Node) -> bool {
    key == FREE && width(node, FREE_BYTES_MAX).is_none()
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

fn member_width(key: &str, node: &Node, room: usize) -> Option<usize> {
    let key = quoted_width(key) + 2;
    Some(key + width(node, room.checked_sub(key)?)?)
}

/// Characters of a value on one line; `None` where they are more than `room`.
fn width(node: &Node, room: usize) -> Option<usize> {
    let mut used = 0;
    let mut add = |more: usize| {
        used += more;
        room.checked_sub(used)
    };
    match &node.value {
        Value::Array(items) => {
            let mut left = add(2)?;
            for (index, item) in items.iter().enumerate() {
                let between = if index > 0 { 2 } else { 0 };
                let inner = width(item, left.checked_sub(between)?)?;
                left = add(between + inner)?;
            }
        }
        Value::Object(members) => {
            let mut left = add(2)?;
            for (index, member) in members.iter().enumerate() {
                let between = if index > 0 { 2 } else { 0 };
                let inner = member_width(&member.key, &member.node, left.checked_sub(between)?)?;
                left = add(between + inner)?;
            }
        }
        // A character has four bytes at most.
        Value::String(text) if text.len() / 4 > room => return None,
        Value::String(text) => drop(add(quoted_width(text))?),
        Value::Number(raw) => drop(add(raw.len())?),
        Value::Null | Value::Bool(true) => drop(add(4)?),
        Value::Bool(false) => drop(add(5)?),
    }
    Some(used)
}

fn quoted_width(text: &str) -> usize {
    let mut quoted = String::new();
    write_quoted(text, &mut quoted);
    quoted.chars().count()
}
