//! A transition as a patch: text that turns the one state into the other, for keeping many states in little space.
//!
//! Invariant: the size of a patch follows the touched records, not the size of the state. The seal proves whether the
//! outcome is the right state: a patch may come from a damaged file.
//!
//! Not here: the place of patches.

use alloc::{
    borrow::ToOwned,
    collections::{BTreeMap, BTreeSet},
    string::String,
    sync::Arc,
    vec::Vec,
};
use serde::{Deserialize, Serialize};

use super::{Records, State, encode::ChangeSet, fields::Findings, value::FieldValue};
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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    objective: Option<Splice>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    control: Option<Splice>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    run: Option<Splice>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    plan: Option<Splice>,
    /// `None` if the record is gone.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    atoms: BTreeMap<String, Option<Splice>>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    bindings: BTreeMap<String, Option<Splice>>,
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

    fn of<T: FieldValue>(old: Option<&T>, new: &T) -> Self {
        Self::between(&text(old), &text(Some(new)))
    }

    /// The new record.
    fn record<T: FieldValue>(&self, old: Option<&T>) -> Option<Arc<T>> {
        read(&self.apply(&text(old))?)
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
        Self { keep, add: add.iter().map(|one| text(Some(&**one))).collect() }
    }

    fn apply<T: FieldValue>(&self, list: &mut Vec<Arc<T>>) -> Option<()> {
        if self.keep > list.len() {
            return None;
        }
        list.truncate(self.keep);
        for text in &self.add {
            list.push(read(text)?);
        }
        Some(())
    }
}

impl Patch {
    /// `touched` names every record in which the two states differ.
    pub fn between(before: &State, after: &State, touched: &ChangeSet) -> Self {
        let replaced = touched.lists_replaced;
        Self {
            from: before.serial.0,
            from_seal: digits(before),
            to: after.serial.0,
            seal: after.seal.as_ref().map(|seal| seal.as_str().to_owned()),
            objective: touched
                .objective
                .then(|| Splice::of(Some(&*before.objective), &after.objective)),
            control: touched.control.then(|| Splice::of(Some(&*before.control), &after.control)),
            run: touched.run.then(|| Splice::of(Some(&*before.run), &after.run)),
            plan: touched.plan.then(|| Splice::of(Some(&plan_node(before)), &plan_node(after))),
            atoms: splices(&touched.atoms, &before.atoms, &after.atoms),
            bindings: splices(&touched.bindings, &before.bindings, &after.bindings),
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
        if let Some(splice) = &self.objective {
            state.objective = splice.record(Some(&*before.objective))?;
        }
        if let Some(splice) = &self.control {
            state.control = splice.record(Some(&*before.control))?;
        }
        if let Some(splice) = &self.run {
            state.run = splice.record(Some(&*before.run))?;
        }
        if let Some(splice) = &self.plan {
            state.plan =
                Some(splice.record(Some(&plan_node(before)))?).filter(|plan| !plan.is_null());
        }
        put(&mut state.atoms, &self.atoms)?;
        put(&mut state.bindings, &self.bindings)?;
        if let Some(order) = &self.order {
            state.order = Arc::new(order.clone());
        }
        self.trail.apply(&mut state.trail)?;
        self.corrections.apply(&mut state.corrections)?;
        Some(state)
    }
}

/// Null where there is none.
fn plan_node(state: &State) -> Node {
    let plan = state.plan.as_ref();
    plan.map_or_else(Node::null, |plan| (**plan).clone())
}

fn digits(state: &State) -> String {
    let seal = state.seal.as_ref().map_or("", Digest::as_str);
    let digits = seal.trim_start_matches("sha256:");
    digits.chars().take(SEAL_DIGITS).collect()
}

fn splices<T: FieldValue>(
    ids: &BTreeSet<AtomId>,
    before: &Records<T>,
    after: &Records<T>,
) -> BTreeMap<String, Option<Splice>> {
    let one = |id: &AtomId| {
        let new = after.get(id);
        let splice = new.map(|new| Splice::of(before.get(id).map(|old| &**old), new));
        (id.as_str().to_owned(), splice)
    };
    ids.iter().map(one).collect()
}

/// Empty where there is none.
fn text<T: FieldValue>(record: Option<&T>) -> String {
    record.map(|record| doc::write_compact(&record.node())).unwrap_or_default()
}

fn read<T: FieldValue>(text: &str) -> Option<Arc<T>> {
    let parsed = doc::parse(text, &Limits::default());
    let node = parsed.node.filter(|_| parsed.faults.is_empty())?;
    let mut found = Findings::default();
    T::read(&node, "", &mut found).filter(|_| found.faults.is_empty()).map(Arc::new)
}

fn put<T: FieldValue>(
    records: &mut Records<T>,
    splices: &BTreeMap<String, Option<Splice>>,
) -> Option<()> {
    for (id, splice) in splices {
        let Some(splice) = splice else {
            records.remove(id.as_str());
            continue;
        };
        let record = splice.record(records.get(id.as_str()).map(|old| &**old))?;
        records.insert(AtomId::new(id), record);
    }
    Some(())
}
