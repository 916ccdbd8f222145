//! Labels: what the program shows beside its own values in the file, for people alone. Nothing reads them.

use alloc::{string::String, vec::Vec};

use crate::{
    doc::{Member, Node, Value},
    state::{Check, State},
};

/// The key before which the labels of the run stand.
const BEFORE: &str = "spent";

/// The half of the run for people, with its labels.
pub(super) fn of_run(shown: Node, state: &State) -> Node {
    let mut members = shown.into_members();
    let place = members.iter().position(|member| member.key == BEFORE);
    let place = place.unwrap_or(members.len());
    let labels =
        [("checks", checks(state)), ("started_from", started(state)), ("head", head(state))];
    let labels = labels.into_iter().filter_map(|(key, node)| Some(Member::new(key, node?)));
    members.splice(place..place, labels);
    Value::Object(members).into()
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
