//! Speculation: the selections that differ from the one in force by another choice of an unresolved speculative group
//! (contract §9).
//!
//! Invariant: a result of a speculation is a result of its context like any other, parked until that context is in
//! force. Nothing here moves the head. So the measure counts the same attempts with and without speculation. Not here:
//! starting attempts (`dispatch`), and adopting a speculation (`advance`).

use alloc::{collections::BTreeMap, sync::Arc, vec::Vec};

use super::{result_commits, results, session::Session};
use crate::{
    graph::{
        AtomVec, Graph, Ix, NodeKind,
        active::{self, ActiveGraph, Selection},
    },
    id::{AtomId, CommitId},
    search::{self, ValidContexts},
    state::{AtomStatus, Intent, ResultCommit, State, Workspace, record::Choices},
};

#[derive(Debug)]
pub struct Speculation {
    pub group: Ix,
    pub choice: Ix,
    pub(crate) active: Arc<ActiveGraph>,
    pub(crate) solved: AtomVec<bool>,
    /// The commits of its tree.
    pub(crate) line: Vec<ResultCommit>,
}

/// The input from which speculations are found.
#[derive(Clone, Copy)]
pub(crate) struct SpeculationInputs<'a> {
    pub(crate) graph: &'a Graph,
    pub(crate) active: &'a ActiveGraph,
    pub(crate) state: &'a State,
    pub(crate) valid_contexts: &'a ValidContexts,
    pub(crate) refuted: &'a [Choices],
    pub(crate) solved: &'a AtomVec<bool>,
}

/// Ordered by group, and within one group by the plan.
pub(crate) fn all(seen: SpeculationInputs<'_>) -> Vec<Speculation> {
    let SpeculationInputs { graph, state, .. } = seen;
    let is_open = |group: &Ix| graph.vertex(*group).is_speculative && seen.active.is_live(*group);
    let open: Vec<Ix> = graph.groups().filter(is_open).collect();
    let open: Vec<Ix> = open.into_iter().filter(|x| !seen.solved[*x]).collect();
    if open.is_empty() || state.objective.constraints.workspace() == Workspace::Shared {
        return Vec::new();
    }
    let conflicts = search::conflicts(graph, state, seen.valid_contexts, seen.refuted);
    let prefer = active::selection_of(graph, state);
    let mut found = Vec::new();
    for group in open {
        let in_force = seen.active.selection.get(&group);
        let others = graph.vertex(group).kids.iter();
        for choice in others.filter(|kid| Some(*kid) != in_force) {
            let fixed = fixed(seen, group, *choice);
            let space =
                search::SearchSpace { graph, state, conflicts: &conflicts, plans_again: false };
            let selection = search::choose_with(space, &prefer, &BTreeMap::new(), &fixed);
            found
                .extend(selection.map(|selection| speculation_at(seen, group, *choice, selection)));
        }
    }
    found
}

/// The group with that choice, and the live groups above it as they are.
fn fixed(seen: SpeculationInputs<'_>, group: Ix, choice: Ix) -> Selection {
    let above = seen.graph.above(group);
    let groups =
        above.filter(|x| matches!(seen.graph.vertex(*x).kind, NodeKind::Any | NodeKind::Plan));
    let pairs = groups.filter_map(|x| Some((x, *seen.active.selection.get(&x)?)));
    pairs.chain([(group, choice)]).collect()
}

fn speculation_at(
    seen: SpeculationInputs<'_>,
    group: Ix,
    choice: Ix,
    selection: Selection,
) -> Speculation {
    let SpeculationInputs { graph, state, .. } = seen;
    let active = ActiveGraph::of(graph, selection);
    let result = |x: Ix| results::result_in(graph, state, &active, x);
    let solved = results::solved_by(graph, &active, |x| result(x).is_some());
    let line = result_commits::line_of(graph, &solved, state, |x| result(x)?.commit.clone());
    Speculation { group, choice, solved, line, active: Arc::new(active) }
}

impl Speculation {
    pub(crate) fn name(&self, graph: &Graph) -> (AtomId, AtomId) {
        (graph.id(self.group).clone(), graph.id(self.choice).clone())
    }

    /// The first choice that is solved is adopted. A choice that another group has won stays won. Otherwise two groups
    /// that conflicts tie together would undo each other for ever.
    pub(crate) fn is_won(&self, graph: &Graph, solved: &AtomVec<bool>) -> bool {
        let is_inside = |x: Ix| graph.above(x).any(|y| y == self.group);
        let groups = graph.groups().chain(graph.plans());
        let mut others = groups.filter(|x| solved[*x] && !is_inside(*x));
        self.solved[self.group] && others.all(|x| self.solved[x])
    }

    /// Live here, not solved, not given up, with all its prerequisites solved. A task with effects outside of the tree
    /// is not tried on speculation, and nothing is planned on it.
    pub(crate) fn is_startable(&self, graph: &Graph, state: &State, x: Ix) -> bool {
        let Some(task) = state.atoms.get(graph.id(x)).and_then(|atom| atom.task()) else {
            return false;
        };
        let Some(context) = self.active.context(x) else {
            return false;
        };
        let has_ended = || task.tried(context).is_some_and(|one| one.ended.is_some());
        task.spec.effect.is_in_tree()
            && !graph.is_behind_gate(x)
            && graph.vertex(x).kind == NodeKind::Task
            && matches!(
                task.status,
                AtomStatus::Pending | AtomStatus::Failed | AtomStatus::Invalid(_)
            )
            && graph.waits_for(x).all(|dep| self.solved[dep])
            && !has_ended()
    }

    /// The head to start new work on, of exactly the results solved here. The outer `None`: it is not made yet.
    pub(crate) fn head(&self, landing_context: &LandingContext<'_>) -> Option<Option<CommitId>> {
        if let Some(head) = self.made_already(landing_context.state) {
            return Some(head);
        }
        let staged = landing_context.session.staged.get(&self.name(landing_context.graph))?;
        (staged.is_whole && staged.line == self.line).then(|| Some(staged.head.clone()))
    }

    /// The head, if the result so far begins with these commits.
    fn made_already(&self, state: &State) -> Option<Option<CommitId>> {
        let run = &state.run;
        if !run.line.starts_with(&self.line) {
            return None;
        }
        let start = || run.started_from.as_ref().map(|from| from.commit.clone());
        Some(match self.line.last() {
            Some(placed) => Some(placed.commit.clone()),
            None => start(),
        })
    }

    /// The head to take results in on. All of its commits must still belong there, but some may be missing.
    fn landing(&self, landing_context: &LandingContext<'_>) -> Option<Option<CommitId>> {
        if let Some(staged) = landing_context.session.staged.get(&self.name(landing_context.graph))
        {
            let belongs = |placed: &ResultCommit| self.line.contains(placed);
            if staged.is_whole && staged.line.iter().all(belongs) {
                return Some(Some(staged.head.clone()));
            }
        }
        self.made_already(landing_context.state)
    }

    /// Whether its tree lacks something that it should hold, and was not found to be impossible.
    pub(crate) fn wants_staging(&self, landing_context: &LandingContext<'_>) -> bool {
        let staged = landing_context.session.staged.get(&self.name(landing_context.graph));
        self.made_already(landing_context.state).is_none()
            && staged.is_none_or(|staged| staged.line != self.line)
    }

    fn is_of(&self, graph: &Graph, intent: &Intent) -> bool {
        let context = graph.ix(&intent.atom).map(|x| self.active.context(x));
        context == Some(Some(&intent.context))
    }
}

/// The facts that decide where the result of an attempt may be taken in.
#[derive(Clone, Copy)]
pub(crate) struct LandingContext<'a> {
    pub(crate) graph: &'a Graph,
    pub(crate) active: &'a ActiveGraph,
    pub(crate) state: &'a State,
    pub(crate) speculations: &'a [Speculation],
    pub(crate) is_line_settled: bool,
    pub(crate) session: &'a Session,
}

impl<'a> LandingContext<'a> {
    /// Whether its context is that of the selection in force.
    pub(crate) fn is_in_force(&self, intent: &Intent) -> bool {
        let x = self.graph.ix(&intent.atom);
        x.and_then(|x| self.active.context(x)) == Some(&intent.context)
    }

    pub(crate) fn speculation_of(&self, intent: &Intent) -> Option<&'a Speculation> {
        let mut all = self.speculations.iter();
        all.find(|speculation| speculation.is_of(self.graph, intent))
    }

    /// The head on which the result of an attempt may be taken in now. The outer `None`: on none yet.
    pub(crate) fn landing(&self, intent: &Intent) -> Option<Option<CommitId>> {
        if self.is_in_force(intent) {
            return self.is_line_settled.then(|| self.state.run.head.clone());
        }
        self.speculation_of(intent)?.landing(self)
    }

    /// The existing commit at the beginning of a speculation's commits, and those to be applied after it.
    pub(crate) fn stages(
        &self,
        speculation: &Speculation,
    ) -> Option<(CommitId, Vec<ResultCommit>)> {
        let run = &self.state.run;
        let start = run.started_from.as_ref()?.commit.clone();
        let pairs = speculation.line.iter().zip(run.line.iter());
        let same = pairs.take_while(|(wanted, is)| wanted == is).count();
        let (stays, keep) = speculation.line.split_at(same);
        let from = stays.last().map_or(start, |placed| placed.commit.clone());
        Some((from, keep.to_vec()))
    }
}

/// Forgets the trees of speculations that no longer exist.
pub(crate) fn forget_staged(
    session: &mut Session,
    graph: &Graph,
    speculations: &Arc<Vec<Speculation>>,
) {
    if session.staged.is_empty() {
        return;
    }
    let names: Vec<_> = speculations.iter().map(|one| one.name(graph)).collect();
    session.staged.retain(|name, _| names.contains(name));
}
