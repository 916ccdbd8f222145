//! Merges trail and corrections, which are records of the past. A person may write beside an entry, and add a
//! correction.

use alloc::{collections::BTreeMap, format, string::String, sync::Arc, vec::Vec};

use super::{
    Sides,
    tree::{self, Rule, Trees, same, woven},
};
use crate::{
    doc::{self, Node, Value},
    state::{Correction, Entry, State},
};

pub(super) fn trail(sides: &Sides<'_>, trees: &mut Trees, merged: &mut State) {
    let nodes = sides.each(|state| state.trail.iter().map(|entry| &entry.node).collect());
    let name = |node: &Node| signature(node, &["type", "at", "serial", "atom", "attempt", "group"]);
    let walked = walk(trees, nodes, "/trail", name);
    merged.trail = sides.ours.trail.clone();
    for (index, node) in walked.remarks {
        if let Some(entry) = tree::read(&node, Entry::read)
            && let Some(place) = merged.trail.get_mut(index)
        {
            *place = Arc::new(entry);
        }
    }
    for node in walked.added {
        trees.program("/trail", Some(node));
    }
}

pub(super) fn corrections(sides: &Sides<'_>, trees: &mut Trees, merged: &mut State) {
    let nodes = sides.each(|state| state.corrections.iter().map(|one| &one.node).collect());
    let name = |node: &Node| signature(node, &["id", "timestamp", "type"]);
    let walked = walk(trees, nodes, "/corrections", name);
    merged.corrections = sides.ours.corrections.clone();
    for (index, node) in walked.remarks {
        if let Some(one) = tree::read(&node, Correction::read)
            && let Some(place) = merged.corrections.get_mut(index)
        {
            *place = Arc::new(one);
        }
    }
    for node in walked.added {
        // The edit was saved before, under an id that was taken.
        let bare = |node: &Node| signature(node, &["timestamp", "type", "description"]);
        let known = sides.ours.corrections.iter();
        let known = known.skip(sides.base.map_or(0, |base| base.corrections.len()));
        if known.into_iter().all(|one| bare(&one.node) != bare(&node)) {
            add(&mut merged.corrections, node);
        }
    }
}

/// Adds a correction. An id that is taken meanwhile is replaced: ids are the program's to give.
fn add(corrections: &mut Vec<Arc<Correction>>, mut node: Node) {
    let id = node.get("id").and_then(Node::as_str);
    let is_taken = id.is_some_and(|id| {
        let known = |one: &Arc<Correction>| one.node.get("id").and_then(Node::as_str) == Some(id);
        corrections.iter().any(known)
    });
    if is_taken && let Value::Object(members) = &mut node.value {
        for member in members.iter_mut().filter(|member| member.key == "id") {
            member.node = Node::string(Correction::free_id(corrections));
        }
    }
    if let Some(one) = tree::read(&node, Correction::read) {
        corrections.push(Arc::new(one));
    }
}

struct ListDifference {
    /// Entries of ours, by their index, with what a person wrote beside them.
    remarks: Vec<(usize, Node)>,
    /// Entries that the edit added.
    added: Vec<Node>,
}

fn signature(node: &Node, keys: &[&str]) -> String {
    let value = |key: &&str| node.get(key).map(doc::canonical).unwrap_or_default();
    keys.iter().map(value).collect::<Vec<_>>().join("\n")
}

/// Entries by their subject; several alike by their order.
fn named<'n>(
    nodes: &[&'n Node],
    name: &dyn Fn(&Node) -> String,
) -> BTreeMap<(String, usize), (usize, &'n Node)> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let entry = |(index, node): (usize, &&'n Node)| {
        let name = name(node);
        let count = seen.entry(name.clone()).or_default();
        *count += 1;
        ((name, *count), (index, *node))
    };
    nodes.iter().enumerate().map(entry).collect()
}

fn walk(
    trees: &mut Trees,
    [base, ours, theirs]: [Option<Vec<&Node>>; 3],
    at: &str,
    name: impl Fn(&Node) -> String,
) -> ListDifference {
    let mut walked = ListDifference { remarks: Vec::new(), added: Vec::new() };
    let (ours, theirs) = (ours.unwrap_or_default(), theirs.unwrap_or_default());
    if base.as_ref() == Some(&theirs) || ours == theirs {
        return walked;
    }
    let has_base = base.is_some();
    let [base, ours, theirs] =
        [&base.unwrap_or_default(), &ours, &theirs].map(|list| named(list, &name));
    let mut in_order: Vec<_> = theirs.iter().collect();
    in_order.sort_by_key(|(_, (index, _))| *index);
    for (key, (index, node)) in in_order {
        let was = base.get(key).map(|(_, node)| *node);
        match ours.get(key) {
            Some((i, is)) if !same(was.or(Some(is)), Some(node)) => {
                let at = doc::pointer_push(at, &format!("{i}"));
                let remarked = remarked(trees, [was, Some(is), Some(node)], &at);
                walked.remarks.push((*i, remarked));
            }
            Some(_) => {}
            None if was.is_none() => walked.added.push((*node).clone()),
            // The entry is gone: a limit dropped it, or the trail was cleared.
            None if !same(was, Some(node)) => {
                trees.program(&doc::pointer_push(at, &format!("{index}")), Some((*node).clone()));
            }
            None => {}
        }
    }
    let gone = base.iter().filter(|(key, _)| has_base && !theirs.contains_key(*key));
    for (_, (index, _)) in gone {
        trees.program(&doc::pointer_push(at, &format!("{index}")), None);
    }
    walked
}

/// The keys of an entry are the program's; additions to them are the person's.
fn remarked(trees: &mut Trees, [was, is, edited]: tree::Three<'_>, at: &str) -> Node {
    let keys = |node: Option<&Node>| -> Vec<String> {
        let members = node.and_then(Node::as_object).unwrap_or_default();
        members.iter().map(|member| member.key.clone()).collect()
    };
    let mut members = Vec::new();
    let was = was.or(is);
    for key in woven(keys(edited), &keys(is), |_| true) {
        let [was, is, edited] = [was, is, edited].map(|node| node.and_then(|node| node.get(&key)));
        let at = doc::pointer_push(at, &key);
        let is_remark = key == "notes" || is.is_none();
        let node = if is_remark {
            trees.three([was, is, edited], &at, Rule::EDIT)
        } else {
            if !same(was, edited) && !same(is, edited) {
                trees.program(&at, edited.cloned());
            }
            is.cloned()
        };
        members.extend(node.map(|node| (key, node)));
    }
    Node::object(members)
}
