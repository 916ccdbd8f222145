//! The first half of a state file, read as a plan: what only a state has is left out, and named in one line.
//!
//! Invariant: an effect that may happen once only, and may have happened, begins in doubt. Not here: the flat form (`flat`).

use super::{flat, keys::MAY_BEGIN_WITH};
use crate::doc::prelude::*;
use crate::{
    doc::{self, Fault, Member, Node, Span, Value},
    id::{AtomId, AttemptId},
    state::{Atom, AtomStatus, atom::atom_text::keys_of_program},
};

/// Keys of a state that a plan does not have.
pub(super) const STATE_KEYS: [&str; 6] =
    ["control", "bindings", "trail", "corrections", "run", "internal"];

/// Atoms that are named; more are counted.
const NAMED_MAX: usize = 3;

#[derive(Default)]
pub(super) struct LeftOut {
    /// Each key with the atoms that had it.
    keys: Vec<(String, Vec<String>)>,
    /// The place of the first.
    first: Option<(String, Span)>,
    /// The atoms that had a result or an attempt.
    pub(super) tried: BTreeSet<AtomId>,
}

/// Takes out of a flat tree what only a state has.
pub(super) fn take(root: &mut Node) -> LeftOut {
    let mut left = LeftOut::default();
    let graph = flat::member_mut(root, "work_graph");
    let atoms = graph.and_then(|graph| flat::member_mut(graph, "atoms"));
    if let Some(Value::Object(atoms)) = atoms.map(|atoms| &mut atoms.value) {
        atoms.iter_mut().for_each(|atom| left.take_of_atom(atom));
    }
    let bound = root.get("bindings").and_then(Node::as_object).unwrap_or_default();
    let bound: Vec<String> = bound.iter().map(|one| one.key.clone()).collect();
    left.tried.extend(bound.iter().map(|id| AtomId::new(id.as_str())));
    let trail = root.get("trail").and_then(Node::as_array).unwrap_or_default();
    let atoms = trail.iter().filter_map(|entry| entry.get("atom")?.as_str());
    left.tried.extend(atoms.map(AtomId::new));
    for key in STATE_KEYS {
        let ids = if key == "bindings" { bound.as_slice() } else { &[] };
        root.member(key).into_iter().for_each(|member| left.note(member, "", ids));
    }
    left
}

impl LeftOut {
    fn take_of_atom(&mut self, atom: &mut Member) {
        let choices = atom.node.get("choices").and_then(Node::as_array);
        let first = choices.and_then(|choices| choices.first()).cloned();
        let (at, id) = (doc::pointer_push("/work_graph/atoms", &atom.key), &atom.key);
        let Value::Object(members) = &mut atom.node.value else {
            return;
        };
        let programs = keys_of_program();
        members.retain(|member| {
            let (key, text) = (member.key.as_str(), member.node.as_str());
            if key == "selected" && first.is_some() {
                if text != first.as_ref().and_then(Node::as_str) {
                    self.note(member, &at, core::slice::from_ref(id));
                }
                return false;
            }
            let is_left = programs.contains(&key) && !MAY_BEGIN_WITH.contains(&key);
            if is_left && text != Some("pending") {
                self.note(member, &at, core::slice::from_ref(id));
                self.tried.extend((key == "status").then(|| AtomId::new(id.as_str())));
            }
            !is_left
        });
    }

    fn note(&mut self, member: &Member, at: &str, ids: &[String]) {
        if !says_something(&member.node) {
            return;
        }
        self.first.get_or_insert((doc::pointer_push(at, &member.key), member.key_span));
        match self.keys.iter_mut().find(|(key, _)| *key == member.key) {
            Some((_, known)) => known.extend_from_slice(ids),
            None => self.keys.push((member.key.clone(), ids.to_vec())),
        }
    }

    pub(super) fn warning(self) -> Option<Fault> {
        let (pointer, span) = self.first?;
        let keys = self.keys.iter().map(|(key, ids)| {
            let named = ids[..ids.len().min(NAMED_MAX)].join(", ");
            match ids.len().saturating_sub(NAMED_MAX) {
                0 if ids.is_empty() => format!("`{key}`"),
                0 => format!("`{key}` of {named}"),
                more => format!("`{key}` of {named} and {more} more"),
            }
        });
        let keys = keys.collect::<Vec<_>>().join("; ");
        let message = format!("only a state has it, left out: {keys}");
        Some(Fault { span, pointer, rule: "state-key", message, hint: None })
    }
}

/// Whether there is more in a value than flags that are not set.
fn says_something(node: &Node) -> bool {
    match &node.value {
        Value::Null => false,
        Value::Bool(flag) => *flag,
        Value::Array(items) => items.iter().any(says_something),
        Value::Object(members) => members.iter().any(|member| says_something(&member.node)),
        Value::Number(_) | Value::String(_) => true,
    }
}

/// Puts effects that may happen once only in doubt, by an attempt before the first.
pub(super) fn doubt(atoms: &mut BTreeMap<AtomId, Atom>, tried: &BTreeSet<AtomId>) {
    for id in tried {
        let task = atoms.get_mut(id).and_then(Atom::task_mut);
        if let Some(task) = task.filter(|task| task.spec.effect.is_once_only()) {
            task.status = AtomStatus::InDoubt(AttemptId::new(format!("{id}.0")));
        }
    }
}
