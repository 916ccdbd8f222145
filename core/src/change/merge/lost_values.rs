//! The values that gave way in a merge, to be kept in the correction and told.

use alloc::{
    format,
    string::{String, ToString},
    vec::Vec,
};

use crate::{
    doc::{self, Node},
    state::{
        Extra,
        record::{LostValue, Winner},
    },
};

/// Beyond this number values are only counted.
pub const LOST_MAX: usize = 500;
/// A larger value is shortened to its beginning.
const VALUE_BYTES_MAX: usize = 64 << 10;
const SHOWN_CHARS_MAX: usize = 120;

/// The values that gave way in a correction, a line each. A search and replace meets the program's copies of a check too.
pub fn lost_lines(lost: &[LostValue]) -> Vec<String> {
    const COPIES: [&str; 3] = ["/run/agreed/", "/run/judged/", "/internal/plan"];
    let is_copy = |at: &str| COPIES.iter().any(|copy| at.starts_with(copy));
    let news = lost.iter().filter(|one| !is_copy(&one.at));
    news.map(sentence).collect()
}

/// A line for a person.
fn sentence(lost: &LostValue) -> String {
    let value = lost.value.as_ref();
    let value = value.map_or_else(|| "nothing".to_string(), shown);
    let at = &lost.at;
    match lost.kept {
        Winner::Edit => {
            format!("{at}: the edit is kept, not what had come there meanwhile: {value}")
        }
        Winner::Program => {
            format!("{at}: not kept, for it is the program's; the edit had: {value}")
        }
    }
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
            extra: Extra::default(),
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
    Node::string(format!("{}… ({} bytes in all)", text.get(..end).unwrap_or_default(), text.len()))
}
