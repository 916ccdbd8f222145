//! The loop's own notebook: its keys are the program's, keys that a person wrote beside them are the person's.

use alloc::{format, string::String, sync::Arc, vec::Vec};

use super::{
    Sides,
    tree::{self, Rule, Three, Trees, name_of, same, woven},
};
use crate::{
    doc::{self, Node},
    state::{
        Run, State,
        rule::{Form, RecordRule},
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
            let same_in = |list: Option<&'_ Node>, item: &Node| -> Option<Node> {
                let mut items = list?.as_array()?.iter();
                items.find(|one| is_same_item(one, item, rule)).cloned()
            };
            let items = ours.as_array().unwrap_or_default().iter().enumerate();
            let items = items.map(|(index, item)| {
                let at =
                    doc::pointer_push(at, &name_of(item).map_or(format!("{index}"), String::from));
                let others = (same_in(base, item), same_in(Some(theirs), item));
                match others {
                    (base, Some(theirs)) => {
                        beside(trees, [base.as_ref(), Some(item), Some(&theirs)], &at, rule)
                    }
                    (_, None) => item.clone(),
                }
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

fn keys(node: Option<&Node>) -> Vec<String> {
    let members = node.and_then(Node::as_object).unwrap_or_default();
    members.iter().map(|member| member.key.clone()).collect()
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
