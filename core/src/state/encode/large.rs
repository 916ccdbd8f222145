//! The size of a state's file, and what takes its room, for a person who has to make some.

use alloc::{
    format,
    string::{String, ToString},
    vec::Vec,
};

use super::{IN_TOP, RenderedRecord, StateText};
use crate::{doc::Node, state::State};

/// The file itself, its texts and numbers at the top, and what holds the records.
const TOP_VALUES: usize = 10;
/// Kinds of records that are named.
const NAMED_MAX: usize = 3;

impl StateText {
    /// The values in the whole file, as a reader counts them.
    pub fn values(&self, state: &State) -> usize {
        let single = [&self.objective, &self.control, &self.run].map(|record| record.values);
        let plan = self.plan.as_ref().map_or(0, |plan| plan.values);
        let many = self.atoms.values() + self.bindings.values();
        let lists = self.trail.values() + self.corrections.values();
        let mut unknown = Vec::new();
        state.extra.weave(&mut unknown, Node::count);
        state.work_graph_extra.weave(&mut unknown, Node::count);
        let unknown = unknown.iter().map(|(_, values)| values).sum::<usize>();
        TOP_VALUES + single.iter().sum::<usize>() + plan + many + lists + unknown
    }
}

/// The kinds of records that take most of the file, each with its largest one: `bindings 15.2 MiB (the largest: A17, 62.1 KiB)`.
pub fn what_is_large(state: &State) -> String {
    let atoms = state.atoms.iter().map(|(id, atom)| {
        let record = RenderedRecord::of_atom(id, atom);
        (id.to_string(), record.text.len())
    });
    let bindings = state.bindings.iter().map(|(id, binding)| {
        let record = RenderedRecord::of_binding(id, binding);
        (id.to_string(), record.text.len())
    });
    let number = |(n, node)| {
        (
            format!("entry {n}"),
            RenderedRecord::of_item(node).text.len(),
        )
    };
    let trail = state.trail.iter().map(|entry| &entry.node);
    let corrections = state.corrections.iter().map(|one| &one.node);
    let one = |node| Vec::from([(String::new(), RenderedRecord::of(node, IN_TOP).text.len())]);
    let mut kinds = Vec::from([
        ("atoms", atoms.collect::<Vec<_>>()),
        ("bindings", bindings.collect()),
        ("trail", trail.enumerate().map(number).collect()),
        ("corrections", corrections.enumerate().map(number).collect()),
        ("objective", one(&state.objective.node())),
        ("run", one(&state.run.node())),
        (
            "plan",
            state.plan.iter().flat_map(|plan| one(plan)).collect(),
        ),
    ]);
    let known: usize = kinds.iter().map(bytes).sum();
    let whole = StateText::of(state).text(state).len();
    kinds.push((
        "other keys",
        Vec::from([(String::new(), whole.saturating_sub(known))]),
    ));
    kinds.sort_by_key(|kind| core::cmp::Reverse(bytes(kind)));
    let named = kinds.iter().take(NAMED_MAX).map(in_words);
    named.collect::<Vec<_>>().join(", ")
}

type Kind = (&'static str, Vec<(String, usize)>);

fn bytes((_, records): &Kind) -> usize {
    records.iter().map(|(_, bytes)| bytes).sum()
}

fn in_words(kind: &Kind) -> String {
    let (name, records) = kind;
    let all = size(bytes(kind));
    let largest = records.iter().max_by_key(|(_, bytes)| *bytes);
    match largest.filter(|(id, _)| !id.is_empty()) {
        Some((id, bytes)) => format!("{name} {all} (the largest: {id}, {})", size(*bytes)),
        None => format!("{name} {all}"),
    }
}

fn size(bytes: usize) -> String {
    let tenths = |unit: usize| format!("{}.{}", bytes / unit, bytes % unit * 10 / unit);
    match bytes {
        0..1024 => format!("{bytes} bytes"),
        1024..1_048_576 => tenths(1 << 10) + " KiB",
        _ => tenths(1 << 20) + " MiB",
    }
}
