//! Contraction of the trail: the newest failures of an atom and context stand in full, older ones as counts; so do the
//! newest choices and backtracks (contract §7).
//!
//! Invariant: what the search reads stays. A refuted selection keeps its conflict and its context for ever, and of a
//! failure the search reads the tries of its atom. What a person wrote beside an entry keeps that entry as it is.
//! The cost follows what was added: a look goes over all of the trail, and comes when a part of it is new.

use alloc::{
    borrow::ToOwned,
    collections::{BTreeMap, BTreeSet},
    string::{String, ToString},
    sync::Arc,
    vec::Vec,
};

use super::transaction::Transaction;
use crate::{
    doc::{Node, Value},
    state::{
        Entry, EntryKind,
        record::{self, Counted},
    },
    world::contraction::{Full, Watch},
};

/// Characters of an output that are kept of an older one: its last line.
const LINE_CHARS_MAX: usize = 200;
/// The part of the trail that may stand in full beyond what should.
const SURPLUS_PART: usize = 4;

pub(super) fn contract(draft: &mut Transaction) {
    let is_over = !draft.state.run.status.is_active();
    let (len, watch) = (draft.state.trail.len(), draft.session.trail_watch);
    if !is_over && len < watch.look_at && len >= watch.len {
        return;
    }
    let full = draft.session.full;
    let most = |len: usize| (len / SURPLUS_PART).max(full.surplus);
    let plan = Plan::of(&draft.state.trail, full);
    let mut surplus = plan.surplus();
    if surplus >= if is_over { 1 } else { most(len) } {
        let contracted = plan.carry_out(&draft.state.trail);
        draft.state.trail = contracted.into();
        draft.touched.lists_replaced = true;
        surplus = 0;
    }
    let len = draft.state.trail.len();
    let most = most(len);
    // Every new entry may be one too many; half as many pass in any case before all are gone over again.
    let look_at = len + most.saturating_sub(surplus).max(most / 2);
    draft.session.trail_watch = Watch { len, look_at };
}

/// What is counted together.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Group {
    /// Of an atom, in a context.
    Failures(String, String),
    Steps,
}

/// What becomes of a trail.
#[derive(Debug, Default)]
struct Plan {
    /// Entries that become part of a count, by their place.
    counted: BTreeMap<usize, Group>,
    /// Counts of before, which go on.
    counts: BTreeMap<usize, Group>,
    /// Failures and refuted selections whose outputs get short.
    shortened: BTreeSet<usize>,
}

impl Plan {
    fn of(trail: &[Arc<Entry>], most: Full) -> Self {
        let mut plan = Self::default();
        let mut seen: BTreeMap<Group, usize> = BTreeMap::new();
        let (mut failures, mut refuted) = (0, 0);
        for (index, entry) in trail.iter().enumerate().rev() {
            let is_ours = record::is_ours(&entry.node);
            if let Some((group, full)) = group_of(entry, most).filter(|_| is_ours) {
                let seen = seen.entry(group.clone()).or_default();
                *seen += 1;
                if full == 0 {
                    plan.counts.insert(index, group);
                    continue;
                }
                if *seen > full {
                    plan.counted.insert(index, group);
                    continue;
                }
            }
            let is_old = match &entry.kind {
                EntryKind::Failure { .. } => is_beyond(&mut failures, most.failures_long),
                EntryKind::Refuted { .. } => is_beyond(&mut refuted, most.refuted_long),
                _ => false,
            };
            if is_old && is_long(&entry.node) {
                plan.shortened.insert(index);
            }
        }
        plan
    }

    /// Entries that could be less.
    fn surplus(&self) -> usize {
        self.counted.len() + self.shortened.len()
    }

    /// A count stands where the newest of what it counts stood.
    fn carry_out(&self, trail: &[Arc<Entry>]) -> Vec<Arc<Entry>> {
        let growing: BTreeSet<&Group> = self.counted.values().collect();
        let mut places: BTreeMap<&Group, usize> = BTreeMap::new();
        let mut counts: BTreeMap<&Group, Counted> = BTreeMap::new();
        let all = self.counted.iter().chain(&self.counts);
        let mut all: Vec<(&usize, &Group)> =
            all.filter(|(_, group)| growing.contains(group)).collect();
        all.sort();
        for (index, group) in all {
            places.insert(group, *index);
            let count = counts.entry(group).or_default();
            trail.get(*index).into_iter().for_each(|one| count.add(one));
        }
        let group_at = |index: &usize| self.counted.get(index).or_else(|| self.counts.get(index));
        let mut contracted = Vec::with_capacity(trail.len());
        for (index, entry) in trail.iter().enumerate() {
            match group_at(&index).filter(|group| growing.contains(group)) {
                Some(group) if places.get(group) == Some(&index) => {
                    let count = counts.remove(group).unwrap_or_default();
                    contracted.push(Arc::new(count.entry()));
                }
                Some(_) => {}
                None if self.shortened.contains(&index) => {
                    contracted.push(Arc::new(shortened(entry)));
                }
                None => contracted.push(Arc::clone(entry)),
            }
        }
        contracted
    }
}

/// What an entry is counted with, and how many of these stand in full: none of what is a count.
fn group_of(entry: &Entry, most: Full) -> Option<(Group, usize)> {
    let of = |atom: &crate::id::AtomId| {
        let context = entry.node.get("context").and_then(Node::as_str);
        Group::Failures(atom.to_string(), context.unwrap_or_default().to_owned())
    };
    match &entry.kind {
        EntryKind::Failure { atom, .. } => Some((of(atom), most.failures)),
        EntryKind::Failures { atom, .. } => Some((of(atom), 0)),
        EntryKind::Choice { .. } | EntryKind::Backtrack => Some((Group::Steps, most.steps)),
        EntryKind::Steps { .. } => Some((Group::Steps, 0)),
        EntryKind::Refuted { .. } | EntryKind::Other => None,
    }
}

fn is_beyond(seen: &mut usize, most: usize) -> bool {
    *seen += 1;
    *seen > most
}

/// The last line of an output that is longer.
fn short_output(record: &Node) -> Option<String> {
    let output = record.get("output").and_then(Node::as_str)?;
    let last = output.lines().map(str::trim).rfind(|line| !line.is_empty());
    let line: String = last
        .unwrap_or_default()
        .chars()
        .take(LINE_CHARS_MAX)
        .collect();
    (line.len() < output.trim().len()).then_some(line)
}

fn is_long(record: &Node) -> bool {
    let evidence = record.get("evidence").and_then(Node::as_array);
    let mut all = evidence.unwrap_or_default().iter().chain([record]);
    all.any(|one| short_output(one).is_some())
}

/// With the last line of each output; what it was of, how it ended and its side file stay.
fn shortened(entry: &Entry) -> Entry {
    let mut node = entry.node.clone();
    if let Some(Value::Array(proofs)) = member(&mut node, "evidence") {
        proofs.iter_mut().for_each(shorten);
    }
    shorten(&mut node);
    Entry {
        node,
        kind: entry.kind.clone(),
    }
}

fn shorten(record: &mut Node) {
    if let Some(line) = short_output(record)
        && let Some(output) = member(record, "output")
    {
        *output = Value::String(line);
    }
}

fn member<'n>(record: &'n mut Node, key: &str) -> Option<&'n mut Value> {
    let Value::Object(members) = &mut record.value else {
        return None;
    };
    let found = members.iter_mut().find(|member| member.key == key)?;
    Some(&mut found.node.value)
}

#[cfg(test)]
mod tests;
