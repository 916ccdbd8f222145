//! The first state as the text of a plan, for a person who edits it before it is agreed.

use alloc::{string::ToString, vec::Vec};

use super::{proposed::PROGRAMS, unrender};
use crate::{doc::Node, state::State};

/// The plan of a state that is not agreed yet: without what is rendered from its checks, and what only a state has.
pub fn text_of(state: &State) -> Node {
    let mut objective = (*state.objective).clone();
    unrender(&mut objective);
    let is_said = |node: &Node| node.as_str() != Some("");
    let is_empty = |node: &Node| node.as_object().is_some_and(<[_]>::is_empty);
    let atoms = state.all_atoms().into_iter();
    let atoms = atoms.map(|(id, atom)| {
        let atom = without(&atom.node(), |key, _| PROGRAMS.contains(&key));
        (id.to_string(), atom)
    });
    let atoms = Node::object(atoms.collect());
    let objective = without(&objective.node(), |_, node| {
        !is_said(node) || is_empty(node)
    });
    Node::object(Vec::from([
        ("objective", objective),
        ("work_graph", Node::object(Vec::from([("atoms", atoms)]))),
    ]))
}

fn without(node: &Node, is_out: impl Fn(&str, &Node) -> bool) -> Node {
    let members = node.as_object().unwrap_or_default().iter();
    let members = members.filter(|member| !is_out(&member.key, &member.node));
    let members = members.map(|member| (member.key.clone(), member.node.clone()));
    Node::object(members.collect())
}
