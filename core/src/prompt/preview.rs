//! The attempt that would be made of an atom now, for a person who looks at its prompt.
//!
//! Invariant: nothing is decided here. An atom that could not start is told as if it could.

use alloc::{sync::Arc, vec::Vec};

use crate::{
    graph::{Graph, Ix, NodeKind, active::ActiveGraph},
    id::{AtomId, AttemptId},
    state::{AtomStatus, Intent, Role, SideEffect, Task},
    world::World,
};

/// The next attempt of an atom, in the world that it would be made in.
#[derive(Debug)]
pub struct NextAttempt {
    pub world: World,
    pub intent: Intent,
    pub standing: Standing,
}

/// Whether the atom can start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    Ready,
    Waits(Vec<AtomId>),
    /// Another choice of this group is in force.
    NotChosen(AtomId),
    Solved,
    /// No attempt is left, or a person is asked first.
    Closed,
}

/// `None` for a group, and for an atom that does not exist.
pub fn next_attempt(world: &World, id: &AtomId) -> Option<NextAttempt> {
    let x = world.graph.ix(id)?;
    let task = world.state.atom(id)?.task()?;
    let active = if world.active.is_live(x) {
        Arc::clone(&world.active)
    } else {
        chosen(&world.graph, &world.active, x)
    };
    let world = World { active, ..world.clone() };
    let intent = intent(&world, x, task);
    let standing = standing(&world, x, task);
    Some(NextAttempt {
        intent,
        standing: match not_chosen(&world, x) {
            Some(group) => Standing::NotChosen(group),
            None => standing,
        },
        world,
    })
}

/// The active graph if all groups above an atom had chosen it.
fn chosen(graph: &Graph, active: &ActiveGraph, x: Ix) -> Arc<ActiveGraph> {
    let mut selection = active.selection.clone();
    let mut below = x;
    for above in graph.above(x) {
        match graph.vertex(above).kind {
            NodeKind::Any => drop(selection.insert(above, below)),
            NodeKind::Plan => {
                let phase = graph.phase_of(above, below);
                selection.extend(phase.map(|phase| (above, phase.first())));
            }
            NodeKind::Task | NodeKind::All => {}
        }
        below = above;
    }
    Arc::new(ActiveGraph::of(graph, selection))
}

fn intent(world: &World, x: Ix, task: &Task) -> Intent {
    let (graph, run) = (&world.graph, &world.state.run);
    let atom = graph.id(x).clone();
    let context = world.active.context(x).cloned().unwrap_or_default();
    let tried = task.tried(&context).map_or(0, |tried| tried.attempts);
    let is_plan = graph.vertex(x).kind == NodeKind::Plan;
    Intent {
        role: if is_plan { Role::Planner } else { Role::Worker },
        id: AttemptId::new(alloc::format!("{atom}.{}", run.attempts_started + 1)),
        choices: world.active.choices(graph, x),
        epoch: run.epoch,
        n: tried + 1,
        effect: if is_plan { SideEffect::Tree } else { task.spec.effect },
        base: run.head.clone(),
        atom,
        context,
        ..Intent::default()
    }
}

fn standing(world: &World, x: Ix, task: &Task) -> Standing {
    let (graph, solved) = (&world.graph, world.solved());
    if world.state.bindings.contains_key(graph.id(x)) {
        return Standing::Solved;
    }
    if task.status != AtomStatus::Pending {
        return Standing::Closed;
    }
    let waits = graph.waits_for(x).filter(|dep| !solved[*dep]);
    let mut waits: Vec<AtomId> = waits.map(|dep| graph.id(dep).clone()).collect();
    waits.sort_by(AtomId::cmp_naturally);
    waits.dedup();
    if waits.is_empty() { Standing::Ready } else { Standing::Waits(waits) }
}

/// The nearest group above of which another choice is in force, or will be: without one the first is chosen.
fn not_chosen(world: &World, x: Ix) -> Option<AtomId> {
    let graph = &world.graph;
    let mut below = x;
    for above in graph.above(x) {
        let atom = world.state.atom(graph.id(above));
        let is_any = graph.vertex(above).kind == NodeKind::Any;
        let choice = atom.filter(|_| is_any);
        let choice = choice.and_then(|atom| atom.selected().or(atom.kids().first()));
        if choice.is_some_and(|choice| choice != graph.id(below)) {
            return Some(graph.id(above).clone());
        }
        below = above;
    }
    None
}
