//! A transition as a patch: text that turns the one state into the other, for keeping many states in little space.
//!
//! Invariant: the size of a patch follows the touched records, not the size of the state. The seal proves whether the
//! outcome is the right state: a patch may come from a damaged file.
//!
//! Not here: the place of patches.

use alloc::{borrow::ToOwned, collections::BTreeMap, string::String, sync::Arc, vec::Vec};
use serde::{Deserialize, Serialize};

use super::{
    Atom, Binding, Control, Correction, Entry, Objective, Records, Run, State, encode::ChangeSet,
    fields::Findings,
};
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
}

impl Tail {
    fn between<'n>(
        old: impl Iterator<Item = &'n Node>,
        new: &[&'n Node],
        is_replaced: bool,
    ) -> Self {
        let keep = if is_replaced {
            let same = |(a, b): &(&Node, &&Node)| doc::canonical(a) == doc::canonical(b);
            old.zip(new).take_while(same).count()
        } else {
            old.count().min(new.len())
        };
        let add = new.get(keep..).unwrap_or_default();
        Self { keep, add: add.iter().map(|node| doc::write_compact(node)).collect() }
    }
}

impl Patch {
    /// `touched` names every record in which the two states differ.
    pub fn between(before: &State, after: &State, touched: &ChangeSet) -> Self {
        let splice = |is_touched: bool, node: &dyn Fn(&State) -> Node| {
            let text = |state| doc::write_compact(&node(state));
            is_touched.then(|| Splice::between(&text(before), &text(after)))
        };
        let trail: Vec<&Node> = after.trail.iter().map(|one| &one.node).collect();
        let corrections: Vec<&Node> = after.corrections.iter().map(|one| &one.node).collect();
        Self {
            from: before.serial.0,
            from_seal: digits(before),
            to: after.serial.0,
            seal: after.seal.as_ref().map(|seal| seal.as_str().to_owned()),
            objective: splice(touched.objective, &|state| state.objective.node()),
            control: splice(touched.control, &|state| state.control.node()),
            run: splice(touched.run, &|state| state.run.node()),
            plan: splice(touched.plan, &plan_node),
            atoms: splices(&touched.atoms, |id| {
                (
                    before.atoms.get(id).map(|one| one.node()),
                    after.atoms.get(id).map(|one| one.node()),
                )
            }),
            bindings: splices(&touched.bindings, |id| {
                (
                    before.bindings.get(id).map(|one| one.node()),
                    after.bindings.get(id).map(|one| one.node()),
                )
            }),
            order: (before.order != after.order).then(|| after.order.to_vec()),
            trail: Tail::between(
                before.trail.iter().map(|one| &one.node),
                &trail,
                touched.lists_replaced,
            ),
            corrections: Tail::between(
                before.corrections.iter().map(|one| &one.node),
                &corrections,
                touched.lists_replaced,
            ),
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
            let node = spliced(Some(before.objective.node()), splice)?;
            state.objective = Arc::new(read(&node, Objective::read)?);
        }
        if let Some(splice) = &self.control {
            let node = spliced(Some(before.control.node()), splice)?;
            state.control = Arc::new(read(&node, Control::read)?);
        }
        if let Some(splice) = &self.run {
            let node = spliced(Some(before.run.node()), splice)?;
            state.run = Arc::new(read(&node, Run::read)?);
        }
        if let Some(splice) = &self.plan {
            let node = spliced(Some(plan_node(before)), splice)?;
            state.plan = (!node.is_null()).then(|| Arc::new(node));
        }
        for (id, splice) in &self.atoms {
            let old = before.atoms.get(id.as_str()).map(|one| one.node());
            put(&mut state.atoms, id, splice, old, Atom::read)?;
        }
        for (id, splice) in &self.bindings {
            let old = before.bindings.get(id.as_str()).map(|one| one.node());
            put(&mut state.bindings, id, splice, old, Binding::read)?;
        }
        if let Some(order) = &self.order {
            state.order = Arc::new(order.clone());
        }
        grow(&mut state.trail, &self.trail, Entry::read)?;
        grow(&mut state.corrections, &self.corrections, Correction::read)?;
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

fn splices<'i>(
    ids: impl IntoIterator<Item = &'i AtomId>,
    both: impl Fn(&AtomId) -> (Option<Node>, Option<Node>),
) -> BTreeMap<String, Option<Splice>> {
    let one = |id: &AtomId| {
        let (old, new) = both(id);
        let old = old.map(|node| doc::write_compact(&node));
        let splice = new.map(|new| {
            let old = old.as_deref().unwrap_or("");
            Splice::between(old, &doc::write_compact(&new))
        });
        (id.as_str().to_owned(), splice)
    };
    ids.into_iter().map(one).collect()
}

type Reader<T> = fn(&Node, &str, &mut Findings) -> Option<T>;

fn parsed(text: &str) -> Option<Node> {
    let parsed = doc::parse(text, &Limits::default());
    parsed.node.filter(|_| parsed.faults.is_empty())
}

fn spliced(old: Option<Node>, splice: &Splice) -> Option<Node> {
    let old = old.map(|node| doc::write_compact(&node));
    parsed(&splice.apply(old.as_deref().unwrap_or(""))?)
}

fn read<T>(node: &Node, reader: Reader<T>) -> Option<T> {
    let mut found = Findings::default();
    reader(node, "", &mut found).filter(|_| found.faults.is_empty())
}

fn put<T>(
    records: &mut Records<T>,
    id: &str,
    splice: &Option<Splice>,
    old: Option<Node>,
    reader: Reader<T>,
) -> Option<()> {
    let Some(splice) = splice else {
        records.remove(id);
        return Some(());
    };
    let record = read(&spliced(old, splice)?, reader)?;
    records.insert(AtomId::new(id), Arc::new(record));
    Some(())
}

fn grow<T>(list: &mut Vec<Arc<T>>, tail: &Tail, reader: Reader<T>) -> Option<()> {
    if tail.keep > list.len() {
        return None;
    }
    list.truncate(tail.keep);
    for text in &tail.add {
        list.push(Arc::new(read(&parsed(text)?, reader)?));
    }
    Some(())
}
