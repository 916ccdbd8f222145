//! Merges what the program records: the loop's own notebook, the trail and the corrections. Their keys are the program's;
//! what a person wrote beside them is the person's, and a correction may be added.

use super::{
    Sides,
    tree::{self, Rule, Three, Trees, keys, name_of, same, woven},
};
use crate::doc::prelude::*;
use crate::{
    doc::{self, Node, Value},
    state::{
        Correction, Run, State,
        rule::{Form, RecordRule},
        value::FieldValue,
    },
};

pub(super) fn notebook(sides: &Sides<'_>, trees: &mut Trees, merged: &mut State) {
    let nodes = sides.each(|state| state.run.node());
    let node = beside(trees, nodes.each_ref().map(Option::as_ref), "/run", &Run::RULE);
    // The program's keys beside a person's can always be read; were it not so, the program's stand alone.
    let read = tree::read(&node, Run::read);
    merged.run = read.map_or_else(|| Arc::clone(&sides.ours.run), Arc::new);
    facts(&nodes, trees);
}

/// The program's record, with what a person wrote beside its keys.
fn beside(trees: &mut Trees, nodes: Three<'_>, at: &str, rule: &RecordRule) -> Node {
    let [_, ours, theirs] = nodes;
    let fields = (rule.fields)();
    let mut members = Vec::new();
    for key in woven(keys(theirs), &keys(ours), |_| true) {
        let values = nodes.map(|node| node.and_then(|node| node.get(&key)));
        let at = doc::pointer_push(at, &key);
        let node = match fields.iter().find(|field| field.key == key) {
            Some(field) => inside(trees, values, &at, &field.form),
            None => trees.three(values, &at, Rule::EDIT),
        };
        members.extend(node.map(|node| (key, node)));
    }
    Node::object(members)
}

/// The program's value; a record that the edit does not know has no remark of it.
fn inside(trees: &mut Trees, nodes: Three<'_>, at: &str, form: &Form) -> Option<Node> {
    let [base, ours, theirs] = nodes;
    let ours = ours?;
    Some(match (form, theirs) {
        (Form::Record(rule), Some(theirs)) if theirs.as_object().is_some() => {
            beside(trees, nodes, at, rule)
        }
        (Form::List(item), Some(theirs)) if let Form::Record(rule) = &**item => {
            let items = ours.as_array().unwrap_or_default().iter().enumerate();
            let items = items.map(|(index, item)| {
                let same_in = |list: &Node| -> Option<Node> {
                    let mut items = list.as_array()?.iter();
                    items.find(|one| is_same_item(one, item, rule)).cloned()
                };
                let Some(theirs) = same_in(theirs) else {
                    return item.clone();
                };
                let base = base.and_then(same_in);
                let name = name_of(item).map_or(format!("{index}"), String::from);
                let nodes = [base.as_ref(), Some(item), Some(&theirs)];
                beside(trees, nodes, &doc::pointer_push(at, &name), rule)
            });
            Node::array(items.collect())
        }
        _ => ours.clone(),
    })
}

/// Items are the same by their name, else by the keys of the program.
fn is_same_item(one: &Node, other: &Node, rule: &RecordRule) -> bool {
    match (name_of(one), name_of(other)) {
        (Some(one), Some(other)) => one == other,
        _ => same(Some(&bare(one, rule)), Some(&bare(other, rule))),
    }
}

/// A person's change of a fact is told, and not taken.
fn facts([base, ours, theirs]: &[Option<Node>; 3], trees: &mut Trees) {
    let bare = |node: &Option<Node>| node.as_ref().map(|node| bare(node, &Run::RULE));
    let (ours, theirs) = (bare(ours), bare(theirs));
    let base = bare(base).or_else(|| ours.clone());
    let nodes = [base.as_ref(), ours.as_ref(), theirs.as_ref()];
    differences(nodes, "/run".into(), trees);
}

fn differences([base, ours, theirs]: Three<'_>, at: String, trees: &mut Trees) {
    if same(base, theirs) || same(ours, theirs) {
        return;
    }
    let members = |node: Option<&Node>| node.and_then(Node::as_object).is_some();
    if !members(base) || !members(theirs) {
        return trees.program(&at, theirs.cloned());
    }
    let mut keys: Vec<String> = [base, theirs].into_iter().flat_map(keys).collect();
    keys.sort_unstable();
    keys.dedup();
    for key in keys {
        let nodes = [base, ours, theirs].map(|node| node.and_then(|node| node.get(&key)));
        differences(nodes, doc::pointer_push(&at, &key), trees);
    }
}

/// The program's keys alone.
fn bare(node: &Node, rule: &RecordRule) -> Node {
    let fields = (rule.fields)();
    let members = node.as_object().unwrap_or_default().iter();
    let members = members.filter_map(|member| {
        let field = fields.iter().find(|field| field.key == member.key)?;
        let node = match &field.form {
            Form::Record(rule) if member.node.as_object().is_some() => bare(&member.node, rule),
            Form::List(item) if let Form::Record(rule) = &**item => {
                let items = member.node.as_array().unwrap_or_default().iter();
                Node::array(items.map(|item| bare(item, rule)).collect())
            }
            _ => member.node.clone(),
        };
        Some((member.key.clone(), node))
    });
    Node::object(members.collect())
}

pub(super) fn trail(sides: &Sides<'_>, trees: &mut Trees, merged: &mut State) {
    let nodes = sides.each(|state| state.trail.iter().map(|entry| &entry.node).collect());
    let name = |node: &Node| signature(node, &["type", "at", "serial", "atom", "attempt", "group"]);
    let walked = walk(trees, nodes, "/trail", name);
    merged.trail = sides.ours.trail.clone();
    put(&mut merged.trail, walked.remarks);
    for node in walked.added {
        trees.program("/trail", Some(node));
    }
}

pub(super) fn corrections(sides: &Sides<'_>, trees: &mut Trees, merged: &mut State) {
    let nodes = sides.each(|state| state.corrections.iter().map(|one| &one.node).collect());
    let name = |node: &Node| signature(node, &["id", "timestamp", "type"]);
    let walked = walk(trees, nodes, "/corrections", name);
    merged.corrections = sides.ours.corrections.clone();
    put(&mut merged.corrections, walked.remarks);
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

/// Puts records with a person's remarks in their places.
fn put<T: FieldValue>(list: &mut [Arc<T>], remarks: Vec<(usize, Node)>) {
    for (index, node) in remarks {
        if let Some(one) = tree::read(&node, T::read)
            && let Some(place) = list.get_mut(index)
        {
            *place = Arc::new(one);
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
                // The keys of an entry are the program's; additions to them are the person's.
                let rule = |key: &str| {
                    if is.get(key).is_some() { Rule::PROGRAM } else { Rule::EDIT }
                };
                let nodes = [was.or(Some(is)), Some(is), Some(*node)];
                let remarked = trees.record(nodes, &at, rule);
                walked.remarks.extend(remarked.map(|node| (*i, node)));
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
