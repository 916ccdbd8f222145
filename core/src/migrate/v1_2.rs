//! Contract 1.2 of the AoT loop's state file, as 1.3 has it. Frozen: a file of this version means this for good.
//!
//! What 1.3 added: checklists, the counter of the previous iteration, the failed choices of a group. What 1.2 wrote
//! inside of the objective (`control`, `corrections`) stands at the top there.

use alloc::{string::String, vec::Vec};

use super::report::{Fate, Report};
use crate::doc::{Node, Span, Value};

/// Sections that the text of 1.2 lists under the objective.
const INSIDE: [&str; 2] = ["control", "corrections"];

/// The version stands nowhere in the file: nothing that only 1.3 has is there.
pub(super) fn is_it(front: &Node) -> bool {
    let base_case = front
        .get("objective")
        .and_then(|objective| objective.get("base_case"));
    let has_checklist = base_case.is_some_and(|check| check.get("checklist").is_some());
    let control = front.get("control");
    let has_previous = control.is_some_and(|control| control.get("prev_pending_count").is_some());
    let groups = front
        .get("or_groups")
        .and_then(Node::as_object)
        .unwrap_or_default();
    let has_failed = groups
        .iter()
        .any(|group| group.node.get("failed").is_some());
    !(has_checklist || has_previous || has_failed)
}

/// The tree of 1.3: sections moved to the top, and the base case of one condition as a list of one.
pub(super) fn up(front: &Node, report: &mut Report) -> Node {
    let mut members: Vec<(String, Node)> = Vec::new();
    let mut moved: Vec<(String, Node)> = Vec::new();
    for member in front.as_object().unwrap_or_default() {
        let node = match member.key.as_str() {
            "objective" => objective(front, &member.node, &mut moved, report),
            _ => member.node.clone(),
        };
        members.push((member.key.clone(), node));
    }
    members.extend(moved);
    let mut tree = Node::object(members);
    tree.span = front.span;
    tree
}

fn objective(
    front: &Node,
    objective: &Node,
    moved: &mut Vec<(String, Node)>,
    report: &mut Report,
) -> Node {
    let mut members: Vec<(String, Node)> = Vec::new();
    for member in objective.as_object().unwrap_or_default() {
        let key = member.key.as_str();
        let from = alloc::format!("/objective/{key}");
        if INSIDE.contains(&key) && front.get(key).is_none() {
            let what = alloc::format!("read as /{key}");
            report.add(Fate::Changed, (&from, member.key_span), what);
            moved.push((member.key.clone(), member.node.clone()));
        } else if key == "base_case" {
            members.push((member.key.clone(), base_case(&member.node, report)));
        } else {
            members.push((member.key.clone(), member.node.clone()));
        }
    }
    if objective.as_object().is_none() {
        return objective.clone();
    }
    let mut tree = Node::object(members);
    tree.span = objective.span;
    tree
}

/// `{type, value}` is a checklist of one check.
fn base_case(node: &Node, report: &mut Report) -> Node {
    if node.get("checklist").is_some() || node.get("type").is_none() {
        return node.clone();
    }
    let what = "one condition, read as a list of one check";
    report.add(Fate::Changed, ("/objective/base_case", node.span), what);
    let at = |value: Value, span: Span| Node { value, span };
    let item = at(
        Node::object(Vec::from([("check", node.clone())])).value,
        node.span,
    );
    let list = at(Value::Array(Vec::from([item])), node.span);
    at(
        Node::object(Vec::from([("checklist", list)])).value,
        node.span,
    )
}
