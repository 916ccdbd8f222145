//! Entries of the trail that stand as counts: older failures of an atom in a context, older choices and backtracks.
//!
//! Not here: what is counted, and when (`step::contract`).

use alloc::{
    borrow::ToOwned,
    collections::{BTreeMap, BTreeSet},
    string::{String, ToString},
    sync::Arc,
    vec::Vec,
};

use super::{Entry, EntryKind};
use crate::{
    doc::{self, Node},
    id::AtomId,
    state::fields::{Extra, Writer},
};

/// Reasons that a count tells at most, those that came last.
const REASONS_MAX: usize = 8;
const REASON_CHARS_MAX: usize = 200;

/// Keys that the program writes into what it counts.
const KEYS: [&str; 27] = [
    "type", "at", "serial", "pass", "atom", "attempt", "started", "n", "class", "reason",
    "context", "output", "whole", "criteria", "files", "conflict", "group", "choice", "untried",
    "commit", "changes", "parked", "since", "count", "classes", "reasons", "groups",
];

/// Whether nothing stands in an entry but what the program wrote: only that may become a count.
pub fn is_ours(node: &Node) -> bool {
    let members = node.as_object().unwrap_or_default();
    members.iter().all(|member| KEYS.contains(&&*member.key))
}

/// Some entries as one, the oldest first.
#[derive(Debug, Clone, Default)]
pub struct Counted {
    count: u64,
    /// When the first of them was.
    since: Option<Node>,
    /// Of the newest.
    newest: Option<Node>,
    atom: Option<AtomId>,
    /// Where the atom failed for good.
    conflict: Option<Node>,
    classes: BTreeMap<String, u64>,
    /// In the order in which each came last.
    reasons: Vec<(String, u64)>,
    /// How often each group was given a choice.
    groups: BTreeMap<String, u64>,
}

impl Counted {
    pub fn add(&mut self, entry: &Entry) {
        let node = &entry.node;
        let since = node.get("since").or_else(|| node.get("at")).cloned();
        self.since = self.since.take().or(since);
        self.newest = Some(node.clone());
        match &entry.kind {
            EntryKind::Failure {
                atom,
                class,
                reason,
                ..
            } => {
                self.failed(atom, node, 1);
                *self.classes.entry(class.word().to_owned()).or_default() += 1;
                self.reason(&cut(reason), 1);
            }
            EntryKind::Failures { atom, count } => {
                self.failed(atom, node, *count);
                merge(&mut self.classes, node.get("classes"));
                for (reason, count) in reasons(node) {
                    self.reason(&reason, count);
                }
            }
            EntryKind::Choice { group, .. } => {
                self.count += 1;
                *self.groups.entry(group.to_string()).or_default() += 1;
            }
            EntryKind::Backtrack => self.count += 1,
            EntryKind::Steps { count } => {
                self.count = self.count.saturating_add(*count);
                merge(&mut self.groups, node.get("groups"));
            }
            EntryKind::Refuted { .. } | EntryKind::Other => {}
        }
    }

    fn failed(&mut self, atom: &AtomId, node: &Node, count: u64) {
        self.atom = Some(atom.clone());
        self.count = self.count.saturating_add(count);
        let conflict = node.get("conflict").cloned();
        self.conflict = conflict.or(self.conflict.take());
    }

    fn reason(&mut self, reason: &str, count: u64) {
        let known = self.reasons.iter().position(|(known, _)| known == reason);
        let before = known.map_or(0, |index| self.reasons.remove(index).1);
        self.reasons
            .push((reason.to_owned(), before.saturating_add(count)));
        if self.reasons.len() > REASONS_MAX {
            self.reasons.remove(0);
        }
    }

    pub fn entry(&self) -> Entry {
        let (kind, read) = match &self.atom {
            Some(atom) => {
                let (atom, count) = (atom.clone(), self.count);
                ("failures", EntryKind::Failures { atom, count })
            }
            None => ("steps", EntryKind::Steps { count: self.count }),
        };
        let of_newest = |key: &str| self.newest.as_ref().and_then(|node| node.get(key)).cloned();
        let mut to = Writer::default();
        to.text("type", kind);
        for key in ["at", "serial", "pass"] {
            to.some(key, of_newest(key));
        }
        to.some("since", self.since.clone());
        if let Some(atom) = &self.atom {
            to.text("atom", atom.as_str())
                .some("context", of_newest("context"));
        }
        to.put("count", Node::uint(self.count));
        if self.atom.is_some() {
            to.put("classes", counts(&self.classes));
            to.put(
                "reasons",
                Node::array(self.reasons.iter().map(reason).collect()),
            );
            to.some("conflict", self.conflict.clone());
        } else {
            to.put("groups", counts(&self.groups));
        }
        Entry {
            node: to.finish(&Extra::default()),
            kind: read,
        }
    }
}

fn cut(reason: &str) -> String {
    reason.chars().take(REASON_CHARS_MAX).collect()
}

fn reason((reason, count): &(String, u64)) -> Node {
    Node::object(Vec::from([
        ("reason", Node::string(reason.as_str())),
        ("count", Node::uint(*count)),
    ]))
}

fn counts(counts: &BTreeMap<String, u64>) -> Node {
    let pairs = counts
        .iter()
        .map(|(key, count)| (key.clone(), Node::uint(*count)));
    Node::object(pairs.collect())
}

fn merge(into: &mut BTreeMap<String, u64>, counts: Option<&Node>) {
    for member in counts.and_then(Node::as_object).unwrap_or_default() {
        let count = into.entry(member.key.clone()).or_default();
        *count = count.saturating_add(member.node.as_u64().unwrap_or(0));
    }
}

/// Why older attempts failed, and how many for that; what is not told here is no more than in `count`.
pub fn reasons(node: &Node) -> Vec<(String, u64)> {
    let all = node.get("reasons").and_then(Node::as_array);
    let one = |node: &Node| {
        let reason = node.get("reason").and_then(Node::as_str)?;
        Some((reason.to_owned(), node.get("count").and_then(Node::as_u64)?))
    };
    all.unwrap_or_default().iter().filter_map(one).collect()
}

/// The same in words: `40 × exit 1; 3 × exit 2`.
pub fn reasons_in_words(node: &Node) -> String {
    let reasons = reasons(node);
    let one = |(reason, count): &(String, u64)| alloc::format!("{count} × {reason}");
    let words: Vec<String> = reasons.iter().rev().map(one).collect();
    words.join("; ")
}

/// What is new in a trail that grew out of another and was contracted on the way; `None` where it did not.
pub fn contracted<'n>(old: &[Arc<Entry>], new: &'n [Arc<Entry>]) -> Option<Vec<&'n Arc<Entry>>> {
    if !new.iter().any(|entry| is_count(&entry.kind)) {
        return None;
    }
    let there: BTreeSet<Vec<String>> = new.iter().map(|entry| name(&entry.node)).collect();
    let can_go = |entry: &Arc<Entry>| {
        let may_be_counted = matches!(
            entry.kind,
            EntryKind::Failure { .. } | EntryKind::Choice { .. } | EntryKind::Backtrack
        );
        may_be_counted || is_count(&entry.kind) || there.contains(&name(&entry.node))
    };
    let known: BTreeSet<Vec<String>> = old.iter().map(|entry| name(&entry.node)).collect();
    let is_new =
        |entry: &&Arc<Entry>| !is_count(&entry.kind) && !known.contains(&name(&entry.node));
    old.iter()
        .all(can_go)
        .then(|| new.iter().filter(is_new).collect())
}

fn is_count(kind: &EntryKind) -> bool {
    matches!(kind, EntryKind::Failures { .. } | EntryKind::Steps { .. })
}

/// What tells entries apart that no remark and no shortening changes.
fn name(node: &Node) -> Vec<String> {
    let keys = [
        "type", "at", "serial", "atom", "attempt", "group", "choice", "changes", "conflict",
    ];
    let text = |key: &&str| node.get(key).map(doc::canonical).unwrap_or_default();
    keys.iter().map(text).collect()
}
