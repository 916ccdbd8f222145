//! Earlier work that an agent may be told of: facts that only the program writes, which a stranger's state brings along.
//!
//! Not here: what is wanted (`listed`).

use alloc::vec::Vec;

use crate::{
    doc::{self, Node},
    id::{AtomId, Digest},
    state::{Atom, Check, Leaf, State, atom::rules::keys_of_program},
};

/// Whether the plan itself puts an agent to work: on a task, a planning step or a rating.
pub(super) fn is_any(state: &State) -> bool {
    let atoms = state.all_atoms();
    let mut tasks = atoms.values().filter_map(|atom| atom.task());
    let leaves = state.objective.base_case.iter().flat_map(Check::leaves);
    let mut leaves = leaves.filter_map(Check::leaf);
    tasks.any(|task| task.spec.action.is_none())
        || leaves.any(|leaf| matches!(leaf, Leaf::Quality(_)))
}

/// The digest of all of it; `None` if there was no earlier work.
pub(super) fn earlier(state: &State) -> Option<Digest> {
    let bindings = state.bindings.values().map(|binding| binding.node());
    let trail = state.trail.iter().map(|entry| entry.node.clone());
    let corrections = state.corrections.iter().map(|one| one.node.clone());
    let patterns = state.run.patterns.iter().map(|pattern| pattern.node());
    let atoms = state.atoms.iter();
    let by_program = keys_of_program();
    let atoms = atoms.filter_map(|(id, atom)| of_atom(id, atom, &by_program));
    let lessons = state.run.memory_used.iter().flat_map(|used| &used.lessons);
    let lessons = lessons.map(|lesson| lesson.node());
    let facts = bindings.chain(trail).chain(corrections).chain(lessons);
    let facts: Vec<Node> = facts.chain(patterns).chain(atoms).collect();
    (!facts.is_empty()).then(|| Digest::of(doc::canonical(&Node::array(facts)).as_bytes()))
}

/// The facts of an atom: its tries with what was found and parked, its fragments, and why it stands there.
fn of_atom(id: &AtomId, atom: &Atom, by_program: &[&str]) -> Option<Node> {
    let is_fact = |key: &str| {
        key == "planned" || (by_program.contains(&key) && !["status", "grant"].contains(&key))
    };
    let node = atom.node_side_by_side();
    let facts = node.filtered(|key, value| is_fact(key) && !is_blank(value));
    let is_empty = facts.as_object().is_none_or(<[_]>::is_empty);
    (!is_empty).then(|| Node::array(Vec::from([Node::string(id.as_str()), facts])))
}

fn is_blank(node: &Node) -> bool {
    let is_empty_list = node.as_array().is_some_and(<[Node]>::is_empty);
    is_empty_list || *node == Node::null()
}
