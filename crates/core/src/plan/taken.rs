//! The plan that a state keeps: the digests of its values, as they were written, by their places.
//!
//! Digests are enough to tell what the next plan changed. The texts themselves stand once in a state, so that nobody
//! edits the wrong ones.
//!
//! Not here: what follows where the next plan differs (`change`).

use crate::doc::prelude::*;
use crate::{
    doc::{self, Node, Value},
    id::{AtomId, Digest},
    state::{Atom, Check, Objective, State},
};

/// Digits of a digest: enough to tell two values of one place apart.
const DIGITS: usize = 8;

/// A plan that was taken in, with digests in the place of values.
#[derive(Debug)]
pub struct TakenPlan(Node);

impl TakenPlan {
    /// The plan that a state keeps; `None` where it keeps none.
    pub fn of(state: &State) -> Option<Self> {
        state.plan.as_ref().map(|plan| Self((**plan).clone()))
    }

    /// A plan that says nothing.
    pub fn nothing() -> Self {
        Self(Node::object(Vec::<(String, Node)>::new()))
    }

    /// Whether the plan had that goal.
    pub fn has_goal(&self, goal: &str) -> bool {
        let known = self.objective().and_then(|objective| objective.get("goal"));
        known.and_then(Node::as_str) == Some(&digest(&Node::string(goal)))
    }

    pub(crate) fn objective(&self) -> Option<&Node> {
        self.0.get("objective")
    }

    pub(crate) fn atom(&self, id: &AtomId) -> Option<&Node> {
        self.0.get("atoms")?.get(id.as_str())
    }

    pub(crate) fn atoms(&self) -> impl Iterator<Item = AtomId> {
        let atoms = self.0.get("atoms").and_then(Node::as_object);
        let members = atoms.unwrap_or_default().iter();
        members.map(|member| AtomId::new(member.key.as_str()))
    }
}

/// The values of some trees, by their digests.
#[derive(Debug, Default)]
pub(crate) struct Values(BTreeMap<String, Node>);

impl Values {
    /// The tree with digests in the place of values: of each item of a list, and of whatever is neither list nor object.
    pub(crate) fn digested(&mut self, node: &Node) -> Node {
        match &node.value {
            Value::Object(members) => {
                let members = members.iter();
                let members = members.map(|one| (one.key.clone(), self.digested(&one.node)));
                Node::object(members.collect())
            }
            Value::Array(items) => Node::array(items.iter().map(|item| self.one(item)).collect()),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => self.one(node),
        }
    }

    fn one(&mut self, node: &Node) -> Node {
        let digest = digest(node);
        self.0.entry(digest.clone()).or_insert_with(|| node.clone());
        Node::string(digest)
    }

    /// The tree with its values again.
    pub(crate) fn restored(&self, node: &Node) -> Node {
        match &node.value {
            Value::Object(members) => {
                let members = members.iter();
                let members = members.map(|one| (one.key.clone(), self.restored(&one.node)));
                Node::object(members.collect())
            }
            Value::Array(items) => {
                Node::array(items.iter().map(|item| self.restored(item)).collect())
            }
            Value::String(digest) => self.0.get(digest).cloned().unwrap_or_else(Node::null),
            Value::Null | Value::Bool(_) | Value::Number(_) => node.clone(),
        }
    }
}

/// The plan as a state keeps it.
pub(super) fn node(objective: &Objective, atoms: &BTreeMap<AtomId, Atom>) -> Node {
    let mut objective = objective.clone();
    objective.base_case = objective.base_case.as_ref().map(Check::unmeasured);
    let atoms = atoms.iter().map(|(id, atom)| (id.to_string(), unmeasured(atom).node()));
    let tree = Node::object(Vec::from([
        ("objective", objective.node()),
        ("atoms", Node::object(atoms.collect())),
    ]));
    Values::default().digested(&tree)
}

fn digest(node: &Node) -> String {
    let digest = Digest::of(doc::canonical(node).as_bytes());
    digest.as_str().chars().take(DIGITS).collect()
}

/// The atom without values that `align` measured.
pub(crate) fn unmeasured(atom: &Atom) -> Atom {
    let mut atom = atom.clone();
    if let Some(task) = atom.task_mut().filter(|task| task.spec.checks.is_some()) {
        let spec = Arc::make_mut(&mut task.spec);
        spec.checks = spec.checks.as_ref().map(Check::unmeasured);
    }
    atom
}
