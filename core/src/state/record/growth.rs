//! Finds the new entries of a trail whose older entries were shortened, or left out.
//!
//! Not here: the choice of these (`step::trail`).

use alloc::{collections::BTreeSet, string::String, sync::Arc, vec::Vec};

use super::{Entry, EntryKind};
use crate::doc::{self, Node};

/// `None` if the trail did not grow out of the old one: an entry is gone that none leaves out, or all are.
pub fn added<'n>(old: &[Arc<Entry>], new: &'n [Arc<Entry>]) -> Option<Vec<&'n Arc<Entry>>> {
    let is: BTreeSet<Vec<String>> = new.iter().map(|entry| name(&entry.node)).collect();
    let was: BTreeSet<Vec<String>> = old.iter().map(|entry| name(&entry.node)).collect();
    let may_go = |entry: &Arc<Entry>| match entry.kind {
        EntryKind::Failure(_) | EntryKind::Choice(_) | EntryKind::Backtrack(_) => true,
        EntryKind::Refuted(_)
        | EntryKind::Plan(_)
        | EntryKind::Refine(_)
        | EntryKind::Replan(_)
        | EntryKind::Probe(_)
        | EntryKind::Drop(_)
        | EntryKind::InDoubt(_)
        | EntryKind::RequestRetired(_)
        | EntryKind::UserCorrection(_)
        | EntryKind::Other(_) => is.contains(&name(&entry.node)),
    };
    let has_grown = !new.is_empty() && old.iter().all(may_go);
    let is_new = |entry: &&Arc<Entry>| !was.contains(&name(&entry.node));
    has_grown.then(|| new.iter().filter(is_new).collect())
}

/// The keys that identify an entry: no remark and no shortening changes them.
fn name(node: &Node) -> Vec<String> {
    let keys =
        ["type", "at", "serial", "atom", "attempt", "group", "choice", "changes", "conflict"];
    let text = |key: &&str| node.get(key).map(doc::canonical).unwrap_or_default();
    keys.iter().map(text).collect()
}
