//! The first state as the text of a plan, for a person who edits it before it is agreed.

use alloc::{string::ToString, vec::Vec};

use super::proposed::is_programs;
use crate::{
    doc::Node,
    state::{Check, State},
};

/// The plan of a state that is not agreed yet: without what only a state has.
pub fn text_of(state: &State) -> Node {
    let mut objective = (*state.objective).clone();
    objective.base_case = objective.base_case.as_ref().map(Check::unmeasured);
    let is_said = |node: &Node| node.as_str() != Some("");
    let is_empty = |node: &Node| node.as_object().is_some_and(<[_]>::is_empty);
    let atoms = state.all_atoms().into_iter();
    let atoms = atoms.map(|(id, atom)| {
        let atom = atom.node().filtered(|key, _| !is_programs(key));
        (id.to_string(), atom)
    });
    let atoms = Node::object(atoms.collect());
    let objective = objective.node();
    let objective = objective.filtered(|_, node| is_said(node) && !is_empty(node));
    Node::object(Vec::from([
        ("objective", objective),
        ("work_graph", Node::object(Vec::from([("atoms", atoms)]))),
    ]))
}
