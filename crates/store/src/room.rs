//! How large a state may be: what a reader takes, and less by what is kept for the end of a run.
//!
//! Invariant: what is written can be read. Not here: what a run does that finds no room (`driver`).

use std::cmp::Reverse;

use descent_core::{
    doc::{self, Limits, Node},
    state::{State, encode::StateText},
};

use super::{CommitContent, LoadedState, StoreError};

/// The reader's limit ([`Limits`]).
pub(super) const BYTES_MAX: usize = 16 << 20;
/// The part of the reader's limits that is kept for the end of a run and for a request to stop it.
const RESERVE_BYTES: usize = 1 << 20;
const RESERVE_VALUES: usize = 50_000;
/// Parts of a state that are named.
const NAMED_MAX: usize = 3;

/// Up to how many bytes a commit may use what is kept, too. One that makes the state no larger always may.
pub(super) fn whole_up_to(committed: usize, now: &State, next: &CommitContent) -> usize {
    let is_active = |state: &State| state.run.status.is_active();
    let ends = is_active(now) && !is_active(&next.state);
    // The lists grow without a word in the list of changes.
    let entries = |state: &State| (state.trail.len(), state.corrections.len());
    let asks = next.touched.is_request() && entries(now) == entries(&next.state);
    if ends || asks { usize::MAX } else { committed }
}

/// The state as a reader will see it once it is written. One that is too large is told by what is in the file `before`
/// it, if there is one: a person can shorten that.
pub(super) fn written(
    mut state: State,
    rendered: &mut StateText,
    whole_up_to: usize,
    before: Option<&LoadedState>,
) -> Result<LoadedState, StoreError> {
    let seal = rendered.seal(&state);
    let text = rendered.write(&state, &seal);
    state.seal = Some(seal);
    let is_whole = text.len() <= whole_up_to;
    let (bytes, values) = (text.len(), rendered.values(&state));
    let values_max = Limits::default().nodes;
    for (unit, size, whole, reserve) in [
        (SizeUnit::Bytes, bytes, BYTES_MAX, RESERVE_BYTES),
        (SizeUnit::Values, values, values_max, RESERVE_VALUES),
    ] {
        let most = if is_whole { whole } else { whole - reserve };
        if size > most {
            let told = before.map_or(text.as_bytes(), LoadedState::bytes);
            return Err(StoreError::TooLarge {
                size,
                most,
                unit: unit.word(),
                large: what_is_large(told, unit),
            });
        }
    }
    Ok(LoadedState::written(state, text))
}

/// A measure of size.
#[derive(Clone, Copy)]
enum SizeUnit {
    Bytes,
    Values,
}

impl SizeUnit {
    fn of(self, node: &Node) -> usize {
        match self {
            Self::Bytes => node.span.end() - node.span.start(),
            Self::Values => node.count(),
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Bytes => "bytes",
            Self::Values => "values",
        }
    }

    fn text(self, size: usize) -> String {
        match self {
            Self::Values => format!("{size} values"),
            Self::Bytes if size < 1 << 20 => format!("{} KiB", size.div_ceil(1 << 10)),
            Self::Bytes => format!("{}.{} MiB", size >> 20, size % (1 << 20) * 10 / (1 << 20)),
        }
    }
}

/// The parts that take most of the room, each with its largest member: `bindings 15.2 MiB (the largest: A17, 63 KiB)`.
fn what_is_large(text: &[u8], unit: SizeUnit) -> String {
    let all = Limits { bytes: usize::MAX, nodes: usize::MAX, ..Limits::default() };
    let root = doc::parse(&String::from_utf8_lossy(text), &all).node;
    let mut parts = Vec::new();
    for (key, node) in root.iter().flat_map(members) {
        match key.as_str() {
            "work_graph" => parts.extend(members(node)),
            _ => parts.push((key, node)),
        }
    }
    parts.sort_by_key(|(_, node)| Reverse(unit.of(node)));
    parts.truncate(NAMED_MAX);
    let size = |node| unit.text(unit.of(node));
    let named = parts.into_iter().map(|(key, node)| {
        let inner = members(node).into_iter();
        let largest = inner.max_by_key(|(_, node)| unit.of(node));
        let largest = largest.map(|(key, node)| format!(" (the largest: {key}, {})", size(node)));
        format!("{key} {}{}", size(node), largest.unwrap_or_default())
    });
    named.collect::<Vec<_>>().join(", ")
}

/// The members of a record or a list, by name.
fn members(node: &Node) -> Vec<(String, &Node)> {
    let named = node.as_object().into_iter().flatten();
    let named = named.map(|member| (member.key.to_string(), &member.node));
    let items = node.as_array().into_iter().flatten().enumerate();
    let items = items.map(|(n, item)| (format!("entry {n}"), item));
    named.chain(items).collect()
}
