//! A transition as a patch: text that turns the one state into the other, for keeping many states in little space.
//!
//! Invariant: the size of a patch follows the touched records, not the size of the state. The seal proves whether the
//! outcome is the right state: a patch may come from a damaged file.
//!
//! Not here: the place of patches.

use crate::doc::prelude::*;
use serde::{Deserialize, Serialize};

use super::{State, encode::ChangeSet, fields::Findings, value::FieldValue};
use crate::{
    doc::{self, Limits, Node},
    id::{AtomId, Digest, Serial},
};

/// Digits of a seal that tell two states of one serial apart.
const SEAL_DIGITS: usize = 16;

/// A record's new text: the old parts that stay at both ends, and the new part between.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Splice {
    head: usize,
    tail: usize,
    text: String,
}

/// From one state to the next.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Patch {
    pub from: u64,
    /// The first digits of the earlier state's seal.
    from_seal: String,
    pub to: u64,
    /// The seal of the resulting state.
    seal: Option<String>,
    /// By the names of the records; `None` of one that is gone.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    records: BTreeMap<String, Option<Splice>>,
    /// The ids of all atoms, where their order is another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    order: Option<Vec<AtomId>>,
    trail: Tail,
    corrections: Tail,
}

/// The end of a list that grows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Tail {
    /// The number of entries that stay as they were.
    keep: usize,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    add: Vec<String>,
}

impl Splice {
    fn between(old: &str, new: &str) -> Self {
        let same = |(a, b): &(u8, u8)| a == b;
        let mut head = old.bytes().zip(new.bytes()).take_while(same).count();
        while !(old.is_char_boundary(head) && new.is_char_boundary(head)) {
            head -= 1;
        }
        let (old_rest, new_rest) = (old.get(head..), new.get(head..));
        let (old_rest, new_rest) = (old_rest.unwrap_or(""), new_rest.unwrap_or(""));
        let ends = old_rest.bytes().rev().zip(new_rest.bytes().rev());
        let mut tail = ends.take_while(same).count();
        while !(old_rest.is_char_boundary(old_rest.len() - tail)
            && new_rest.is_char_boundary(new_rest.len() - tail))
        {
            tail -= 1;
        }
        let text = new_rest.get(..new_rest.len() - tail).unwrap_or("");
        Self { head, tail, text: text.to_owned() }
    }

    fn apply(&self, old: &str) -> Option<String> {
        let head = old.get(..self.head)?;
        let tail_at = old.len().checked_sub(self.tail)?;
        let tail = old.get(tail_at.max(self.head)..)?;
        (tail.len() == self.tail).then(|| [head, &self.text, tail].concat())
    }
}

impl Tail {
    fn between<T: FieldValue>(old: &[Arc<T>], new: &[Arc<T>], is_replaced: bool) -> Self {
        let keep = if is_replaced {
            let canonical = |one: &Arc<T>| doc::canonical(&one.node());
            let pairs = old.iter().zip(new);
            pairs.take_while(|(old, new)| canonical(old) == canonical(new)).count()
        } else {
            old.len().min(new.len())
        };
        let add = new.get(keep..).unwrap_or_default();
        Self { keep, add: add.iter().map(|one| text(Some(one.node()))).collect() }
    }

    fn apply<T: FieldValue>(&self, list: &mut Vec<Arc<T>>) -> Option<()> {
        if self.keep > list.len() {
            return None;
        }
        list.truncate(self.keep);
        for text in &self.add {
            list.push(read(&parsed(text)?)?);
        }
        Some(())
    }
}

impl Patch {
    /// `touched` names every record in which the two states differ.
    pub fn between(before: &State, after: &State, touched: &ChangeSet) -> Self {
        let replaced = touched.lists_replaced;
        let splice = |name: String| {
            let old = text(node_of(before, &name));
            let new = node_of(after, &name).map(|new| Splice::between(&old, &text(Some(new))));
            (name, new)
        };
        Self {
            from: before.serial.0,
            from_seal: digits(before),
            to: after.serial.0,
            seal: after.seal.as_ref().map(|seal| seal.as_str().to_owned()),
            records: names(touched).map(splice).collect(),
            order: (before.order != after.order).then(|| after.order.to_vec()),
            trail: Tail::between(&before.trail, &after.trail, replaced),
            corrections: Tail::between(&before.corrections, &after.corrections, replaced),
        }
    }

    /// Whether it was made for this very state.
    pub fn fits(&self, before: &State) -> bool {
        before.serial.0 == self.from && digits(before) == self.from_seal
    }

    /// Whether it was made of this very state, as the result.
    pub fn leads_to(&self, after: &State) -> bool {
        let seal = after.seal.as_ref().map(Digest::as_str);
        after.serial.0 == self.to && self.seal.as_deref() == seal
    }

    /// The state that results from `before`; `None` if the patch was not made for it. Its seal must still be checked
    /// against its records.
    pub fn apply(&self, before: &State) -> Option<State> {
        if !self.fits(before) {
            return None;
        }
        let mut state = before.clone();
        state.serial = Serial(self.to);
        state.seal = self.seal.as_deref().map(Digest::new);
        for (name, splice) in &self.records {
            let old = text(node_of(before, name));
            let new = match splice {
                Some(splice) => Some(parsed(&splice.apply(&old)?)?),
                None => None,
            };
            put(&mut state, name, new)?;
        }
        if let Some(order) = &self.order {
            state.order = Arc::new(order.clone());
        }
        self.trail.apply(&mut state.trail)?;
        self.corrections.apply(&mut state.corrections)?;
        Some(state)
    }
}

fn digits(state: &State) -> String {
    let seal = state.seal.as_ref().map_or("", Digest::as_str);
    let digits = seal.trim_start_matches("sha256:");
    digits.chars().take(SEAL_DIGITS).collect()
}

/// The names of the records that a transition touched.
fn names(touched: &ChangeSet) -> impl Iterator<Item = String> {
    let once = [
        ("objective", touched.objective),
        ("control", touched.control),
        ("run", touched.run),
        ("plan", touched.plan),
    ];
    let once = once.into_iter().filter(|(_, is_touched)| *is_touched);
    let many = [("atoms", &touched.atoms), ("bindings", &touched.bindings)].into_iter();
    let many = many.flat_map(|(kind, ids)| ids.iter().map(move |id| format!("{kind}/{id}")));
    once.map(|(name, _)| name.to_owned()).chain(many)
}

/// A record by its name, if there is one.
fn node_of(state: &State, name: &str) -> Option<Node> {
    match (name, name.split_once('/')) {
        (_, Some(("atoms", id))) => state.atoms.get(id).map(|one| one.node()),
        (_, Some((_, id))) => state.bindings.get(id).map(|one| one.node()),
        ("objective", None) => Some(state.objective.node()),
        ("control", None) => Some(state.control.node()),
        ("run", None) => Some(state.run.node()),
        (_, None) => state.plan.as_deref().cloned(),
    }
}

/// `None` where the record cannot be read.
fn put(state: &mut State, name: &str, node: Option<Node>) -> Option<()> {
    match (name, name.split_once('/'), node) {
        (_, Some(("atoms", id)), None) => drop(state.atoms.remove(id)),
        (_, Some((_, id)), None) => drop(state.bindings.remove(id)),
        (_, Some(("atoms", id)), Some(node)) => {
            state.atoms.insert(AtomId::new(id), read(&node)?);
        }
        (_, Some((_, id)), Some(node)) => {
            state.bindings.insert(AtomId::new(id), read(&node)?);
        }
        ("objective", None, Some(node)) => state.objective = read(&node)?,
        ("control", None, Some(node)) => state.control = read(&node)?,
        ("run", None, Some(node)) => state.run = read(&node)?,
        (_, None, plan) => state.plan = plan.map(Arc::new),
    }
    Some(())
}

/// Empty where there is none.
fn text(record: Option<Node>) -> String {
    record.map(|record| doc::write_compact(&record)).unwrap_or_default()
}

fn parsed(text: &str) -> Option<Node> {
    let parsed = doc::parse(text, &Limits::default());
    parsed.node.filter(|_| parsed.faults.is_empty())
}

fn read<T: FieldValue>(node: &Node) -> Option<Arc<T>> {
    let mut found = Findings::default();
    T::read(node, "", &mut found).filter(|_| found.faults.is_empty()).map(Arc::new)
}
