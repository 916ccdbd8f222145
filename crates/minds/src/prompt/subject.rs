//! The subject of a prompt: an attempt, and the graph as it stands for it; the next attempt, for a person who looks.

use descent_core::doc::prelude::*;
use descent_core::{
    graph::{Graph, Ix, NodeKind, active::ActiveGraph},
    id::{AtomId, AttemptId},
    state::{Atom, AtomStatus, Binding, Intent, Role, SideEffect, Task},
    world::{World, results},
};

#[derive(Debug, Clone, Copy)]
pub(super) struct PromptSubject<'a> {
    pub(super) world: &'a World,
    pub(super) intent: &'a Intent,
    pub(super) x: Option<Ix>,
    /// The graph under the selection that the attempt is made in.
    pub(super) active: &'a ActiveGraph,
}

impl<'a> PromptSubject<'a> {
    pub(super) fn of(world: &'a World, intent: &'a Intent) -> Self {
        let x = world.graph.ix(&intent.atom);
        let is_its =
            |active: &&ActiveGraph| x.and_then(|x| active.context(x)) == Some(&intent.context);
        let beside = world.speculations.iter().map(|one| &*one.active);
        let mut all = core::iter::once(&*world.active).chain(beside);
        Self { world, intent, x, active: all.find(is_its).unwrap_or(&world.active) }
    }

    pub(super) fn atom(&self) -> Option<&'a Atom> {
        self.world.state.atom(&self.intent.atom).map(|atom| &**atom)
    }

    pub(super) fn task(&self) -> Option<&'a Task> {
        self.atom()?.task()
    }

    pub(super) fn is_plan(&self) -> bool {
        self.atom().is_some_and(|atom| atom.plan().is_some())
    }

    /// Whether it finds out if the task can be done, and does not do it.
    pub(super) fn is_probe(&self) -> bool {
        self.intent.role == Role::Probe
    }

    /// Whether it shall give a value that fits a schema.
    pub(super) fn is_shaped(&self) -> bool {
        let has_schema = self.task().is_some_and(|task| task.spec.output_schema.is_some());
        has_schema && !self.is_plan() && !self.is_probe()
    }

    /// The result of a task that this attempt may build on.
    pub(super) fn result(&self, x: Ix) -> Option<&'a Binding> {
        let state = &self.world.state;
        let bound = || state.bindings.get(self.world.graph.id(x));
        results::result_in(&self.world.graph, state, self.active, x)
            .or_else(|| bound().map(|binding| &**binding))
    }
}

// The attempt that would be made of an atom now, for a person who looks at its prompt.
//
// Invariant: nothing is decided here. An atom that could not start is told as if it could.

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
    let mut world = world.clone();
    world.facts.active = active;
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
        id: AttemptId::new(format!("{atom}.{}", run.attempts_started + 1)),
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
