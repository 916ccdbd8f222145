//! The values that gave way in a merge, to be kept in the correction and told.

use alloc::{
    format,
    string::{String, ToString},
    vec::Vec,
};

use crate::{
    doc::{self, Node},
    state::fields::{Extra, Writer},
};

/// Beyond this number values are only counted.
pub const LOST_MAX: usize = 500;
/// A larger value is shortened to its beginning.
const VALUE_BYTES_MAX: usize = 64 << 10;
const SHOWN_CHARS_MAX: usize = 120;

/// The side whose value stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Winner {
    Edit,
    Program,
}

impl Winner {
    pub fn word(self) -> &'static str {
        match self {
            Winner::Edit => "edit",
            Winner::Program => "program",
        }
    }
}

/// A place where both sides wrote, or where a person wrote what only the program may.
#[derive(Debug, Clone, PartialEq)]
pub struct LostValue {
    pub at: String,
    pub kept: Winner,
    /// The other side's value there; `None` if it had none.
    pub value: Option<Node>,
}

impl LostValue {
    /// The value as a correction records it.
    pub fn node(&self) -> Node {
        let mut to = Writer::default();
        to.text("at", &self.at).text("kept", self.kept.word());
        to.put("value", self.value.clone().unwrap_or_else(Node::null));
        to.finish(&Extra::default())
    }
}

/// A line for a person, from the record in a correction.
pub(in crate::step::correct) fn sentence(node: &Node) -> Option<String> {
    let at = node.get("at")?.as_str()?;
    let value = node.get("value").filter(|value| !value.is_null());
    let value = value.map_or_else(|| "nothing".to_string(), shown);
    Some(match node.get("kept")?.as_str()? {
        "edit" => format!("{at}: the edit stands, not what had come there meanwhile: {value}"),
        _ => format!("{at}: this is the program's to say; the edit had: {value}"),
    })
}

fn shown(value: &Node) -> String {
    let text = doc::write_compact(value);
    match text.char_indices().nth(SHOWN_CHARS_MAX) {
        None => text,
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
    }
}

/// Drops values beyond the limits, in the order of places.
pub(super) fn capped(mut lost: Vec<LostValue>) -> Vec<LostValue> {
    lost.sort_by(|a, b| a.at.cmp(&b.at));
    let more = lost.len().saturating_sub(LOST_MAX);
    lost.truncate(LOST_MAX);
    for one in &mut lost {
        if let Some(value) = one.value.take() {
            one.value = Some(cut(value));
        }
    }
    if more > 0 {
        lost.push(LostValue {
            at: String::new(),
            kept: Winner::Edit,
            value: Some(Node::string(format!("{more} more places"))),
        });
    }
    lost
}

fn cut(value: Node) -> Node {
    let text = doc::write_compact(&value);
    if text.len() <= VALUE_BYTES_MAX {
        return value;
    }
    let end = text.floor_char_boundary(VALUE_BYTES_MAX);
    Node::string(format!(
        "{}… ({} bytes in all)",
        text.get(..end).unwrap_or_default(),
        text.len()
    ))
}
