//! The subject of a prompt: an attempt, and the graph as it stands for that attempt.

use crate::{
    graph::{Ix, active::ActiveGraph},
    state::{Atom, Binding, Intent, Role, Task},
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
