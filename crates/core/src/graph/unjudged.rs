//! Plans that nobody has looked at yet: fragments of planning steps, and the tasks of a refiner's change.
//!
//! Not here: who looks, and what follows (`step/gate`).

use super::{AtomVec, Graph, Ix, Vertex};
use crate::doc::prelude::*;
use crate::{
    id::{AtomId, Digest},
    state::State,
};

/// The place of an issue of the whole plan.
pub const WHOLE_PLAN: &str = "plan";

/// A plan of which nothing starts before it was looked at.
#[derive(Debug)]
pub struct UnjudgedPlan {
    /// The planning step; none of a refiner's change.
    pub step: Option<Ix>,
    /// The planning step, or the first task of the change.
    pub atom: AtomId,
    /// All that it consists of.
    pub atoms: Vec<AtomId>,
    pub subject: Digest,
}

impl UnjudgedPlan {
    /// Whether an issue at that place concerns it: an atom of it, its step, or all of it.
    pub fn is_of_it(&self, id: &str) -> bool {
        id == WHOLE_PLAN || self.atoms.iter().chain([&self.atom]).any(|atom| atom.as_str() == id)
    }
}

/// Hardly ever is there one.
pub fn all(graph: &Graph, state: &State) -> Vec<UnjudgedPlan> {
    graph.plans().filter_map(|x| fragment(graph, state, x)).chain(change(graph)).collect()
}

/// The one that a question is about.
pub fn find(graph: &Graph, state: &State, subject: &Digest) -> Option<UnjudgedPlan> {
    all(graph, state).into_iter().find(|plan| plan.subject == *subject)
}

fn fragment(graph: &Graph, state: &State, x: Ix) -> Option<UnjudgedPlan> {
    let fragment = state.atoms.get(graph.id(x))?.plan()?.in_force()?;
    if !fragment.unjudged {
        return None;
    }
    Some(UnjudgedPlan {
        step: Some(x),
        atom: graph.id(x).clone(),
        atoms: graph.inside(fragment).map(|x| graph.id(x).clone()).collect(),
        subject: graph.plan_subject(fragment),
    })
}

/// The tasks that a refiner added or changed, and nobody looked at.
pub(super) fn tasks(vertices: &AtomVec<Vertex>, tasks: &[Ix]) -> Vec<Ix> {
    tasks.iter().copied().filter(|x| vertices[*x].is_unjudged).collect()
}

/// The tasks of changes: those of a choice that is not in force may be of an earlier one.
fn change(graph: &Graph) -> Option<UnjudgedPlan> {
    let tasks = graph.unjudged.iter().copied();
    let mut text = String::new();
    let atoms = tasks.map(|x| {
        text.push_str(graph.id(x).as_str());
        text.push_str(graph.vertex(x).spec.as_str());
        graph.id(x).clone()
    });
    let atoms: Vec<AtomId> = atoms.collect();
    let first = atoms.first()?.clone();
    Some(UnjudgedPlan { step: None, atom: first, atoms, subject: Digest::of(text.as_bytes()) })
}
