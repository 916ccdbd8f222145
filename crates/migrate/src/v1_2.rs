//! Contract 1.2 of the AoT loop's state file, as 1.3 has it. Frozen: a file of this version means this for good.
//!
//! Version 1.3 added checklists, the counter of the previous iteration and the failed choices of a group. It moved
//! `control` and `corrections` from the objective to the top.

use descent_core::doc::prelude::*;
use descent_core::doc::{Node, Value};

use crate::{
    reader::placed,
    report::{Fate, Report},
};

/// Sections that the text of 1.2 lists under the objective.
const INSIDE: [&str; 2] = ["control", "corrections"];

/// The file does not name its version: it is 1.2 if it has nothing that only 1.3 has.
pub(crate) fn is_it(front: &Node) -> bool {
    let base_case = front.get("objective").and_then(|objective| objective.get("base_case"));
    let has_checklist = base_case.is_some_and(|check| check.get("checklist").is_some());
    let control = front.get("control");
    let has_previous = control.is_some_and(|control| control.get("prev_pending_count").is_some());
    let groups = front.get("or_groups").and_then(Node::as_object);
    let mut groups = groups.unwrap_or_default().iter();
    let has_failed = groups.any(|group| group.node.get("failed").is_some());
    !(has_checklist || has_previous || has_failed)
}

/// The tree of 1.3: sections moved to the top, and the base case of one condition as a list of one.
pub(crate) fn up(front: &Node, report: &mut Report) -> Node {
    let mut moved = Vec::new();
    let mut tree = front.clone();
    if let Some(objective) = member_mut(&mut tree, "objective") {
        if let Value::Object(members) = &mut objective.value {
            let is_moved = |key: &str| INSIDE.contains(&key) && front.get(key).is_none();
            moved.extend(members.extract_if(.., |member| is_moved(&member.key)));
        }
        if let Some(check) = member_mut(objective, "base_case") {
            base_case(check, report);
        }
    }
    for member in &moved {
        let key = &member.key;
        let from = format!("/objective/{key}");
        let what = format!("read as /{key}");
        report.add(Fate::Changed, &from, member.key_span, what);
    }
    if let Value::Object(members) = &mut tree.value {
        members.extend(moved);
    }
    tree
}

fn member_mut<'a>(node: &'a mut Node, key: &str) -> Option<&'a mut Node> {
    let Value::Object(members) = &mut node.value else {
        return None;
    };
    let member = members.iter_mut().find(|member| member.key == key)?;
    Some(&mut member.node)
}

/// `{type, value}` is a checklist of one check.
fn base_case(node: &mut Node, report: &mut Report) {
    if node.get("checklist").is_some() || node.get("type").is_none() {
        return;
    }
    let what = "one condition, read as a list of one check";
    report.add(Fate::Changed, "/objective/base_case", node.span, what);
    let span = node.span;
    let inside = |key: &str, node: Node| placed(span, Node::object(Vec::from([(key, node)])));
    let item = inside("check", node.clone());
    *node = inside("checklist", placed(span, Node::array(Vec::from([item]))));
}
