//! Speculation: the selections that differ from the one in force by another choice of an unresolved speculative group
//! (contract §9). The progress of candidates.
//!
//! Invariant: a result of a speculation is a result of its context like any other, parked until that context is in
//! force. Nothing here moves the head. So the measure counts the same attempts with and without speculation. Not here:
//! starting attempts (`dispatch`), and adopting a speculation (`advance`).

use super::{AttemptProgress, SpeculativeTree, results, session::Session};
use crate::doc::prelude::*;
use crate::{
    event::{AnswerDoubt, Merge, Outcome},
    graph::{
        AtomVec, Graph, Ix, NodeKind,
        active::{self, ActiveGraph, Selection},
    },
    id::{AtomId, CommitId},
    search::{self, Facts, SearchSpace},
    state::{AtomStatus, Intent, ResultCommit, State, Workspace},
    verdict::{Basis, CheckProgress, Verdict},
};

#[derive(Debug)]
pub struct Speculation {
    pub group: Ix,
    pub choice: Ix,
    pub active: Arc<ActiveGraph>,
    pub(crate) solved: AtomVec<bool>,
    /// The commits of its tree.
    pub(crate) line: Vec<ResultCommit>,
}

/// Ordered by group, and within one group by the plan.
pub(crate) fn all(seen: &Facts, solved: &AtomVec<bool>) -> Vec<Speculation> {
    let Facts { graph, state, .. } = seen;
    let is_open = |group: &Ix| graph.vertex(*group).is_speculative && seen.active.is_live(*group);
    let open: Vec<Ix> = graph.groups().filter(is_open).collect();
    let open: Vec<Ix> = open.into_iter().filter(|x| !solved[*x]).collect();
    if open.is_empty() || state.objective.constraints.workspace() == Workspace::Shared {
        return Vec::new();
    }
    let conflicts = search::conflicts(seen);
    let prefer = active::selection_of(graph, state);
    let mut found = Vec::new();
    for group in open {
        let in_force = seen.active.selection.get(&group);
        for choice in graph.vertex(group).kids.iter().filter(|kid| Some(*kid) != in_force) {
            let fixed = fixed(seen, group, *choice);
            let space = SearchSpace { fixed: Some(&fixed), ..seen.space(&conflicts, false) };
            let selection = search::choose(space, &prefer);
            found
                .extend(selection.map(|selection| speculation_at(seen, group, *choice, selection)));
        }
    }
    found
}

/// The group with that choice, and the live groups above it as they are.
fn fixed(seen: &Facts, group: Ix, choice: Ix) -> Selection {
    let above = seen.graph.above(group);
    let groups =
        above.filter(|x| matches!(seen.graph.vertex(*x).kind, NodeKind::Any | NodeKind::Plan));
    let pairs = groups.filter_map(|x| Some((x, *seen.active.selection.get(&x)?)));
    pairs.chain([(group, choice)]).collect()
}

fn speculation_at(seen: &Facts, group: Ix, choice: Ix, selection: Selection) -> Speculation {
    let Facts { graph, state, .. } = seen;
    let active = ActiveGraph::of(graph, selection);
    let result = |x: Ix| results::result_in(graph, state, &active, x);
    let solved = results::solved_by(graph, &active, |x| result(x).is_some());
    let line = results::line_of(graph, &solved, state, |x| result(x)?.commit.clone());
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
        let Some(context) = self.active.context(x) else { return false };
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
    pub(crate) fn head(&self, here: &LandingContext<'_>) -> Option<Option<CommitId>> {
        if let Some(head) = self.made_already(&here.facts.state) {
            return Some(head);
        }
        let staged = here.staged(self)?;
        (staged.is_whole && staged.line == self.line).then(|| Some(staged.head.clone()))
    }

    /// The head, if the result so far begins with these commits.
    fn made_already(&self, state: &State) -> Option<Option<CommitId>> {
        let run = &state.run;
        if !run.line.starts_with(&self.line) {
            return None;
        }
        let start = run.started_from.as_ref().map(|from| &from.commit);
        Some(self.line.last().map(|placed| &placed.commit).or(start).cloned())
    }

    /// The head to take results in on. All of its commits must still belong there, but some may be missing.
    fn landing(&self, here: &LandingContext<'_>) -> Option<Option<CommitId>> {
        if let Some(staged) = here.staged(self) {
            let belongs = |placed: &ResultCommit| self.line.contains(placed);
            if staged.is_whole && staged.line.iter().all(belongs) {
                return Some(Some(staged.head.clone()));
            }
        }
        self.made_already(&here.facts.state)
    }

    /// Whether its tree lacks something that it should hold, and was not found to be impossible.
    pub(crate) fn wants_staging(&self, here: &LandingContext<'_>) -> bool {
        let staged = here.staged(self);
        self.made_already(&here.facts.state).is_none()
            && staged.is_none_or(|staged| staged.line != self.line)
    }

    /// Whether an attempt is of a context in it.
    pub(crate) fn is_of(&self, graph: &Graph, intent: &Intent) -> bool {
        let context = graph.ix(&intent.atom).map(|x| self.active.context(x));
        context == Some(Some(&intent.context))
    }
}

/// The facts that decide where the result of an attempt may be taken in.
#[derive(Clone, Copy)]
pub(crate) struct LandingContext<'a> {
    pub(crate) facts: &'a Facts,
    pub(crate) speculations: &'a [Speculation],
    pub(crate) is_line_settled: bool,
    pub(crate) session: &'a Session,
    /// That of the tree in the workspace `shared`.
    pub(crate) serial: u64,
}

impl<'a> LandingContext<'a> {
    fn staged(&self, one: &Speculation) -> Option<&'a SpeculativeTree> {
        self.session.staged.get(&one.name(&self.facts.graph))
    }

    /// Whether its context is that of the selection in force.
    pub(crate) fn is_in_force(&self, intent: &Intent) -> bool {
        self.facts.is_in_force(&intent.atom, &intent.context)
    }

    pub(crate) fn speculation_of(&self, intent: &Intent) -> Option<&'a Speculation> {
        self.speculations.iter().find(|speculation| speculation.is_of(&self.facts.graph, intent))
    }

    /// The head on which the result of an attempt may be taken in now. The outer `None`: on none yet.
    pub(crate) fn landing(&self, intent: &Intent) -> Option<Option<CommitId>> {
        if self.is_in_force(intent) {
            return self.is_line_settled.then(|| self.facts.state.run.head.clone());
        }
        self.speculation_of(intent)?.landing(self)
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

// The progress of a candidate's checks.

/// The progress of a candidate's checks on the present head; `None` if it has none to be judged.
pub(crate) fn of_candidate<'c>(
    here: &LandingContext<'c>,
    intent: &Intent,
) -> Option<(Basis, CheckProgress<'c>)> {
    let (state, session) = (&here.facts.state, here.session);
    let Some(AttemptProgress::Merged { onto, merge, .. }) = session.progress.get(&intent.id) else {
        return None;
    };
    let check = state.atoms.get(&intent.atom)?.task()?.spec.checks.as_ref();
    let check = check.filter(|_| here.landing(intent).as_ref() == Some(onto))?;
    let basis = basis_of(merge, here.serial);
    let evaluator = session.evaluator(state, &basis).of_candidate(intent);
    let progress = evaluator.judge(check);
    Some((basis, progress))
}

/// How far the checks of an attempt that says that it failed are measured on the tree that it began from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum BaseProgress {
    /// The tree of that commit is not known yet.
    Learn(CommitId),
    Measure(Basis, CommitId),
    /// They hold there: that they hold now tells nothing about the attempt.
    Holds,
}

/// The progress of the checks on that tree; `None` if they do not hold there, or need not be measured.
pub(crate) fn on_base(
    state: &State,
    session: &Session,
    intent: &Intent,
    outcome: &Outcome,
) -> Option<BaseProgress> {
    outcome.doubt().filter(AnswerDoubt::is_denied)?;
    let base = intent.base.as_ref()?;
    let check = state.atom(&intent.atom)?.task()?.spec.checks.as_ref()?;
    let Some(tree) = session.tree_of(state, base) else {
        return Some(BaseProgress::Learn(base.clone()));
    };
    // In a checkout of its own: what the candidate left behind would be measured too.
    let basis = Basis::Pristine(tree);
    match session.evaluator(state, &basis).judge(check) {
        CheckProgress::Measure(_) | CheckProgress::Again(_) => {
            Some(BaseProgress::Measure(basis, base.clone()))
        }
        CheckProgress::Decided(Verdict::Pass) => Some(BaseProgress::Holds),
        // A person or a judge tells it from the candidate.
        CheckProgress::Decided(_) | CheckProgress::Rate(_) | CheckProgress::Confirm(_) => None,
    }
}

/// The attempt whose result lands next, if one may. Results land in the order in which they finish, one at a time: the
/// next candidate is made on the head after it. Nothing lands while the tree or a result is being rebuilt. Speculative
/// results land last.
pub(crate) fn next_to_land<'c>(here: &LandingContext<'c>) -> Option<&'c Intent> {
    let (in_force, speculative) = by_force(here);
    let is_repair = |intent: &&&Intent| here.facts.is_repair(&intent.atom, &intent.context);
    let mut repairs = in_force.iter().filter(is_repair);
    let first = repairs.next().map(|intent| &intent.id);
    let gives_way =
        |intent: &Intent| first.is_some_and(|id| *id != intent.id) && here.is_in_force(intent);
    let may_land = |intent: &&Intent| {
        let seen = of_candidate(here, intent);
        here.session.progress.contains_key(&intent.id)
            && !matches!(seen, Some((_, CheckProgress::Confirm(_) | CheckProgress::Rate(_))))
            && !gives_way(intent)
            && here.landing(intent).is_some()
    };
    in_force.into_iter().chain(speculative).find(may_land)
}

/// The attempts in flight: those in the context in force, and speculative ones.
pub(crate) fn by_force<'c>(here: &LandingContext<'c>) -> (Vec<&'c Intent>, Vec<&'c Intent>) {
    here.facts.state.run.in_flight.iter().partition(|intent| here.is_in_force(intent))
}

/// That of the candidate with this work, while there is one.
pub(crate) fn basis_of_work(state: &State, session: &Session, work: &str) -> Option<Basis> {
    let intent = state.run.in_flight.iter().find(|intent| intent.work_name() == work)?;
    match session.progress.get(&intent.id)? {
        AttemptProgress::Merged { merge, .. } => Some(basis_of(merge, 0)),
        AttemptProgress::Finished(_) => None,
    }
}

/// The basis on which an attempt's own checks are measured.
pub(crate) fn basis_of(merge: &Merge, serial: u64) -> Basis {
    match merge {
        Merge::Clean { tree, .. } | Merge::Unchanged { tree: Some(tree) } => {
            Basis::Warm(tree.clone())
        }
        Merge::Unchanged { tree: None } | Merge::Conflict(_) | Merge::Broken(_) => {
            Basis::Serial(serial)
        }
    }
}
