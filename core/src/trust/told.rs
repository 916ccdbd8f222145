//! The digest of a whole state: whatever a stranger's state holds decides something, or an agent may be told of it.
//!
//! Invariant: every record is covered, also one that nobody knows, but for what names and numbers the state itself. Not
//! here: what a person is shown of it (`listed`).

use alloc::{borrow::ToOwned, sync::Arc};

use crate::{
    doc::{self, Node},
    id::{AtomId, Digest},
    state::{Atom, Binding, State, fields::Writer, records::Records},
};

/// The digest of all of a state but its version, lineage, serial and seal.
pub(super) fn whole(state: &State) -> Digest {
    // Without `..`: a new part of a state has to be put in one of the two places.
    let State {
        version: _,
        lineage: _,
        serial: _,
        seal: _,
        said: _,
        objective,
        control,
        atoms,
        bindings,
        trail,
        corrections,
        run,
        plan,
        extra,
        work_graph_extra,
        order,
    } = state;
    let unknown = |extra| Writer::default().finish(extra);
    let parts = [
        objective.node(),
        control.node(),
        by_id(atoms, Atom::node),
        by_id(bindings, Binding::node),
        Node::array(trail.iter().map(|one| one.node.clone()).collect()),
        Node::array(corrections.iter().map(|one| one.node.clone()).collect()),
        run.node(),
        plan.as_deref().cloned().unwrap_or_else(Node::null),
        unknown(extra),
        unknown(work_graph_extra),
        Node::array(order.iter().map(|id| Node::string(id.as_str())).collect()),
    ];
    Digest::sha256(doc::canonical(&Node::array(parts.to_vec())).as_bytes())
}

fn by_id<T>(records: &Records<T>, node: impl Fn(&T) -> Node) -> Node {
    let one = |(id, record): (&AtomId, &Arc<T>)| (id.as_str().to_owned(), node(record));
    Node::object(records.iter().map(one).collect())
}

/// Whether anything was tried or said before: agents may be told of it.
pub(super) fn is_any(state: &State) -> bool {
    let tried = |atom: &Atom| atom.task().is_some_and(|task| !task.tries.is_empty());
    let is_empty = state.bindings.is_empty() && state.trail.is_empty();
    let is_new = is_empty && state.corrections.is_empty() && !state.run.ending.is_known();
    !is_new || state.atoms.values().any(|atom| tried(atom))
}
