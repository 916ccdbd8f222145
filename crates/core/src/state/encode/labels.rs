//! Labels: what the program shows beside its own values in the file, for people alone. Nothing reads them.

use crate::doc::prelude::*;
use crate::{
    doc::{self, Fault, Member, Node, Value},
    state::{Check, State},
};

/// A label: its record, its key, and its meaning.
pub(crate) const LABELS: [(&str, &str, &str); 4] = [
    ("Run", "checks", "The verdict on each check of the base case"),
    ("Run", "started_from", "The branch and the commit that the run began from"),
    ("Run", "head", "The commit of the result"),
    ("Binding", "commit", "The commit of its change"),
];

/// The keys of the labels of a record.
pub(crate) fn keys_of(record: &str) -> impl Iterator<Item = &'static str> {
    LABELS.iter().filter(move |(of, ..)| *of == record).map(|(_, key, _)| *key)
}

/// The key before which the labels of the run stand.
const BEFORE: &str = "spent";

/// The half of the run for people, with its labels.
pub(super) fn of_run(shown: Node, state: &State) -> Node {
    let mut members = shown.into_members();
    let place = members.iter().position(|member| member.key == BEFORE);
    let place = place.unwrap_or(members.len());
    let checks = [("checks", checks(state))];
    let labels = checks.into_iter().chain(ids(state));
    let labels = labels.filter_map(|(key, node)| Some(Member::new(key, node?)));
    members.splice(place..place, labels);
    Value::Object(members).into()
}

/// The labels of commits. No edit of anything else changes them.
fn ids(state: &State) -> [(&'static str, Option<Node>); 2] {
    [("started_from", started(state)), ("head", head(state))]
}

/// A warning for each label of a commit that is not that of the state.
pub(crate) fn edited(root: &Node, state: &State) -> Vec<Fault> {
    let record = |key: &str| root.get(key).and_then(Node::as_object).unwrap_or_default();
    let of_run = ids(state);
    let of_run = record("run").iter().filter_map(|member| {
        let (_, label) = of_run.iter().find(|(key, _)| *key == member.key)?;
        (label.as_ref() != Some(&member.node))
            .then(|| (doc::pointer_push("/run", &member.key), &member.node))
    });
    let of_results = record("bindings").iter().filter_map(|member| {
        let written = member.node.get("commit")?;
        let commit = state.bindings.get(member.key.as_str())?.commit.as_ref();
        let is_its = commit.is_some_and(|commit| written.as_str() == Some(commit.label()));
        let at = || doc::pointer_push(&doc::pointer_push("/bindings", &member.key), "commit");
        (!is_its).then(|| (at(), written))
    });
    let word = |(pointer, written): (String, &Node)| Fault {
        span: written.span,
        message: "this is a label: nothing reads it, and the next commit writes it anew".into(),
        hint: None,
        rule: "label",
        pointer,
    };
    of_run.chain(of_results).map(word).collect()
}

/// The verdicts of the last ending on the checks of the base case as they are now.
fn checks(state: &State) -> Option<Node> {
    state.run.last_ending()?;
    let judged = state.run.judged.as_ref()?;
    let leaves = state.objective.base_case.iter().flat_map(Check::leaves);
    let shown = leaves.filter_map(|leaf| {
        let verdict = judged.evidence.iter().find(|one| one.is_of(leaf))?.verdict.as_deref()?;
        Some(Node::object(Vec::from([
            ("check", Node::string(leaf.title())),
            ("verdict", Node::string(verdict)),
        ])))
    });
    let shown: Vec<Node> = shown.collect();
    (!shown.is_empty()).then(|| Node::array(shown))
}

fn started(state: &State) -> Option<Node> {
    let from = state.run.started_from.as_ref()?;
    let branch = from.branch.as_ref().map(|branch| ("branch", Node::string(branch.as_str())));
    let commit = ("commit", Node::string(from.head.label()));
    let dirty = from.dirty.then(|| ("dirty", Node::bool(true)));
    Some(Node::object(branch.into_iter().chain([commit]).chain(dirty).collect::<Vec<_>>()))
}

fn head(state: &State) -> Option<Node> {
    Some(Node::string(String::from(state.run.result()?.label())))
}
