//! Bounds the events of a line: their number, and the length of each.
//!
//! Invariant: an event that is too long is shortened, and never left out for its length. Not here:
//! the meaning of an event (the core).

use descent_core::event::Event;
use serde_json::Value;

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
