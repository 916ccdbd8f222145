//! The search over selections: the known conflicts, and the next selection that contains none.
//!
//! Invariant: complete whatever the ranking. A conflict is a set of choices under which something
//! failed for good. `choose` finds a selection that contains no conflict, if there is one.

pub mod ranking;

use crate::doc::prelude::*;
use immutable_chunkmap::set::Set;
use ranking::RememberedChoices;

use crate::{
    graph::{
        Graph, Ix, NodeKind,
        active::{self, ActiveGraph, Selection},
    },
    id::{AtomId, Digest},
    state::{
        EntryKind, PlanningStep, State, Task, Try,
        record::{Choices, RefutedEntry},
    },
};

/// Contexts of tries that today's graph still has; counts of any other are history. A changed copy shares nearly all of
/// it.
pub type ValidContexts = Set<(Ix, Digest), 64>;

/// A state, and the values derived from it that the search and the measure need.
#[derive(Debug, Clone)]
pub struct Facts {
    pub state: State,
    pub graph: Arc<Graph>,
    pub active: Arc<ActiveGraph>,
    pub valid_contexts: Arc<ValidContexts>,
    /// Whole selections that the base case refuted.
    pub refuted: Arc<Vec<Choices>>,
}

impl Facts {
    pub fn of(state: State) -> Self {
        let graph = Graph::of(&state);
        let active = ActiveGraph::of(&graph, active::selection_of(&graph, &state));
        let valid_contexts = valid_contexts(&graph, &active, &state);
        let refuted = refuted(&graph, &state);
        Self {
            state,
            graph: Arc::new(graph),
            active: Arc::new(active),
            valid_contexts: Arc::new(valid_contexts),
            refuted: Arc::new(refuted),
        }
    }

    /// Whether an atom has this context under the selection in force.
    pub fn is_in_force(&self, atom: &AtomId, context: &Digest) -> bool {
        self.graph.ix(atom).and_then(|x| self.active.context(x)) == Some(context)
    }

    /// Whether an attempt there would make a result again.
    pub fn is_repair(&self, atom: &AtomId, context: &Digest) -> bool {
        let task = self.state.atoms.get(atom).and_then(|atom| atom.task());
        let tried = task.and_then(|task| task.tried(context));
        tried.is_some_and(|tried| tried.repairs > 0)
    }

    /// The work of a task or a planning step, open or resolved.
    pub fn task(&self, x: Ix) -> Option<&Task> {
        self.state.atom(self.graph.id(x))?.task()
    }

    /// The planning step, open or resolved.
    pub fn plan(&self, x: Ix) -> Option<&PlanningStep> {
        self.state.atom(self.graph.id(x))?.plan()
    }

    pub fn space<'a>(&'a self, conflicts: &'a [Choices], plans_again: bool) -> SearchSpace<'a> {
        let (graph, state) = (&*self.graph, &self.state);
        SearchSpace { graph, state, conflicts, plans_again, rank: None, fixed: None }
    }
}

/// Collects the valid contexts of every task's tries.
pub fn valid_contexts(graph: &Graph, active: &ActiveGraph, state: &State) -> ValidContexts {
    let mut valid_contexts = ValidContexts::new();
    for x in graph.tasks() {
        for tried in tries(state, graph.id(x)) {
            if is_valid_now(graph, active, x, &tried.context, &tried.choices) {
                valid_contexts.insert_cow((x, tried.context.clone()));
            }
        }
    }
    valid_contexts
}

/// Whether a context is the one that today's specifications give for its choices.
pub fn is_valid_now(
    graph: &Graph,
    active: &ActiveGraph,
    x: Ix,
    context: &Digest,
    choices: &Choices,
) -> bool {
    active.context(x) == Some(context)
        || active::context_under(graph, x, choices).as_ref() == Some(context)
}

pub fn tries<'s>(state: &'s State, id: &AtomId) -> &'s [Try] {
    state.atom(id).and_then(|atom| atom.task()).map_or(&[], |task| task.tries.as_slice())
}

/// The choices that caused a failure of `x` in a context: those of the context, and of the groups
/// and planning steps above.
pub fn conflict(graph: &Graph, x: Ix, choices: &Choices) -> Choices {
    let above = graph.choices_above(x);
    let above = above.map(|(group, choice)| (graph.id(group).clone(), graph.id(choice).clone()));
    choices.clone().into_iter().chain(above).collect()
}

/// Every recorded conflict whose choices still exist: tasks that failed for good in a context or rest there, and
/// whole selections that the base case refuted. A step that could not be planned is no conflict,
/// since it has nothing to choose (`ranking`).
pub fn conflicts(facts: &Facts) -> Vec<Choices> {
    conflicts_of(facts, Try::is_set_aside)
}

/// The same without tasks that rest: whatever rests may still succeed.
pub fn lasting_conflicts(facts: &Facts) -> Vec<Choices> {
    conflicts_of(facts, Try::has_failed)
}

fn conflicts_of(facts: &Facts, counts: fn(&Try) -> bool) -> Vec<Choices> {
    let Facts { state, graph, valid_contexts, refuted, .. } = facts;
    let mut conflicts = Vec::new();
    // Nothing waits for a part that a budget left open: its earlier failure no longer matters.
    let is_task = |x: &Ix| graph.vertex(*x).kind == NodeKind::Task && !graph.is_dropped(*x);
    for x in graph.tasks().filter(is_task) {
        let gone = tries(state, graph.id(x)).iter().filter(|tried| counts(tried));
        let gone = gone.filter(|tried| valid_contexts.contains(&(x, tried.context.clone())));
        conflicts.extend(gone.map(|tried| conflict(graph, x, &tried.choices)));
    }
    conflicts.extend_from_slice(refuted);
    conflicts
}

/// The selections that the base case refuted, as far as the same would be judged now.
pub fn refuted(graph: &Graph, state: &State) -> Vec<Choices> {
    let mut refuted: BTreeSet<&Choices> = BTreeSet::new();
    for entry in state.trail.iter() {
        if let EntryKind::Refuted(RefutedEntry { conflict, context, .. }) = &entry.kind
            && context.is_some()
            && *context == whole_context(graph, state, conflict)
        {
            refuted.insert(conflict);
        }
    }
    refuted.into_iter().cloned().collect()
}

/// The context of a verdict on a whole selection: the base case, the context of everything live,
/// and the results that a person gave. So a refutation counts only while everything then live has
/// the same context.
pub fn whole_context(graph: &Graph, state: &State, choices: &Choices) -> Option<Digest> {
    let pairs = choices.iter().map(|(group, choice)| graph.pair(group, choice));
    let selection: Selection = pairs.collect::<Option<_>>()?;
    let active = ActiveGraph::of(graph, selection);
    let mut text = alloc::string::String::new();
    if let Some(base_case) = &state.objective.base_case {
        text.push_str(&crate::doc::canonical(&base_case.node()));
    }
    for x in graph.tasks().filter(|x| active.is_live(*x)) {
        text.push('\n');
        text.push_str(graph.id(x).as_str());
        text.push(' ');
        text.push_str(active.context(x)?.as_str());
        if let Some(binding) = state.bindings.get(graph.id(x)).filter(|b| b.is_by_person()) {
            text.push_str(binding.result_digest().as_str());
        }
    }
    Some(Digest::of(text.as_bytes()))
}

/// The inputs of the search.
#[derive(Debug, Clone, Copy)]
pub struct SearchSpace<'a> {
    pub graph: &'a Graph,
    pub state: &'a State,
    pub conflicts: &'a [Choices],
    /// Whether a planning step that has its fragments may begin another round.
    pub plans_again: bool,
    /// The places of groups in the order of decisions.
    pub rank: Option<&'a BTreeMap<Ix, usize>>,
    /// The choices of these groups are fixed.
    pub fixed: Option<&'a Selection>,
}

/// A selection that contains no conflict, or `None`.
///
/// Groups are decided in the order of their rank (absent: first), and each keeps the choice in `prefer`
/// as long as it can. So the group ranked last changes first. A planning step is decided as soon as
/// its context is. If it is live and in no pair of the answer, it is to be planned.
pub fn choose(space: SearchSpace<'_>, prefer: &Selection) -> Option<Selection> {
    let mut walk = SearchWalk::new(space, prefer)?;
    let mut frames: Vec<Frame> = Vec::new();
    loop {
        match walk.next() {
            None => return Some(walk.selection),
            Some(group) => frames.push(walk.frame(group)),
        }
        while !walk.take_next(frames.last_mut()?) {
            let spent = frames.pop()?;
            walk.open_again(spent.group);
            // Backjumps to the newest decision involved in the conflict: changing any later one
            // could not help.
            while frames.last().is_some_and(|frame| !spent.blame.contains(&frame.group)) {
                let mut innocent = frames.pop()?;
                walk.undo(&mut innocent);
                walk.open_again(innocent.group);
            }
            let to_blame = frames.last_mut()?;
            to_blame.blame.extend(spent.blame.into_iter().filter(|group| *group != to_blame.group));
        }
    }
}

/// A group or a planning step under decision, with the choices not tried yet (the next one last).
/// `None` is a fragment that is still to be planned.
struct Frame {
    group: Ix,
    options: Vec<Option<Ix>>,
    opened: Vec<Ix>,
    /// The decided groups to blame: with other choices there, it would have more options, or need
    /// no decision.
    blame: BTreeSet<Ix>,
}

struct SearchWalk<'a> {
    space: SearchSpace<'a>,
    graph: &'a Graph,
    prefer: &'a Selection,
    remembered: RememberedChoices,
    /// Live groups and planning steps without a decision, by rank.
    open: BTreeSet<(usize, Ix)>,
    selection: Selection,
    /// For each pair, the conflicts that contain it.
    holding: BTreeMap<(Ix, Ix), Vec<usize>>,
    /// For each conflict, how many of its pairs are not selected.
    missing: Vec<usize>,
    /// For each conflict, its groups.
    groups: Vec<Vec<Ix>>,
}

impl<'a> SearchWalk<'a> {
    fn new(space: SearchSpace<'a>, prefer: &'a Selection) -> Option<Self> {
        let SearchSpace { graph, state, conflicts, .. } = space;
        let mut holding: BTreeMap<(Ix, Ix), Vec<usize>> = BTreeMap::new();
        let (mut missing, mut groups) = (Vec::new(), Vec::new());
        for conflict in conflicts {
            let pairs = conflict.iter().map(|(group, choice)| graph.pair(group, choice));
            let Some(pairs) = pairs.collect::<Option<Vec<_>>>() else { continue };
            if pairs.is_empty() {
                return None;
            }
            pairs.iter().for_each(|pair| holding.entry(*pair).or_default().push(missing.len()));
            missing.push(pairs.len());
            groups.push(pairs.into_iter().map(|(group, _)| group).collect());
        }
        let mut walk = Self {
            space,
            graph,
            prefer,
            remembered: RememberedChoices::of(graph, state),
            open: BTreeSet::new(),
            selection: Selection::new(),
            holding,
            missing,
            groups,
        };
        walk.open_below(graph.roots());
        Some(walk)
    }

    fn rank_of(&self, group: Ix) -> usize {
        self.space.rank.and_then(|rank| rank.get(&group)).map_or(0, |rank| rank + 1)
    }

    fn open_again(&mut self, group: Ix) {
        self.open.insert((self.rank_of(group), group));
    }

    /// The next decision. A planning step comes as soon as everything upstream is decided, so that
    /// its fragments are tried before its context changes.
    fn next(&mut self) -> Option<Ix> {
        if self.graph.plans().next().is_none() {
            return self.open.pop_first().map(|(_, group)| group);
        }
        let is_plan = |x: &Ix| self.graph.vertex(*x).kind == NodeKind::Plan;
        let plans = self.open.iter().filter(|(_, x)| is_plan(x));
        let mut plans = plans.filter(|(_, x)| self.is_settled(*x));
        let groups = || self.open.iter().find(|(_, x)| !is_plan(x));
        let next = *plans.next().or_else(groups)?;
        self.open.remove(&next);
        Some(next.1)
    }

    /// Whether the context of a planning step is decided.
    fn is_settled(&self, plan: Ix) -> bool {
        let is_open = |x: &Ix| self.open.contains(&(self.rank_of(*x), *x));
        let upstream = active::upstream(self.graph, plan, &self.selection);
        !upstream.iter().any(is_open)
    }

    fn frame(&self, group: Ix) -> Frame {
        let is_choice = |y: &Ix| self.graph.vertex(*y).has_ways();
        let mut blame: BTreeSet<Ix> = self.graph.above(group).filter(is_choice).collect();
        if self.graph.vertex(group).kind == NodeKind::Plan {
            let upstream = active::upstream(self.graph, group, &self.selection);
            blame.extend(upstream.into_iter().filter(is_choice));
        }
        Frame { group, options: self.options(group), opened: Vec::new(), blame }
    }

    fn options(&self, group: Ix) -> Vec<Option<Ix>> {
        if let Some(choice) = self.space.fixed.and_then(|fixed| fixed.get(&group)) {
            return Vec::from([Some(*choice)]);
        }
        if self.graph.vertex(group).kind == NodeKind::Plan {
            let context = active::context_in(self.graph, group, &self.selection);
            let options = |context| {
                ranking::options(self.graph, self.space.state, group, &context, self.prefer)
            };
            let mut options = context.map(options).unwrap_or_default();
            // Another round is the last resort, so it stands first.
            if !self.space.plans_again && options.len() > 1 && options[0].is_none() {
                options.remove(0);
            }
            return options;
        }
        let kids = &self.graph.vertex(group).kids;
        let preferred = self.prefer.get(&group).filter(|choice| kids.contains(choice));
        let mut others: Vec<&Ix> = kids.iter().filter(|kid| Some(*kid) != preferred).collect();
        // A choice that an earlier run, the law or a probe speaks for comes first, whatever the plan says; else its order counts.
        others.sort_by_cached_key(|kid| self.remembered.rank(self.graph, self.space.state, **kid));
        others.into_iter().rev().chain(preferred).copied().map(Some).collect()
    }

    /// Collects the new decisions below these live atoms, and returns them.
    fn open_below(&mut self, start: &[Ix]) -> Vec<Ix> {
        let mut opened = Vec::new();
        let mut todo = start.to_vec();
        while let Some(y) = todo.pop() {
            match self.graph.vertex(y).kind {
                NodeKind::Any | NodeKind::Plan => opened.push(y),
                NodeKind::Task | NodeKind::All => todo.extend(&self.graph.vertex(y).kids),
            }
        }
        for group in &opened {
            self.open.insert((self.rank_of(*group), *group));
        }
        opened
    }

    /// Moves a group to its next choice that completes no conflict; `false` if it has none.
    fn take_next(&mut self, frame: &mut Frame) -> bool {
        self.undo(frame);
        while let Some(option) = frame.options.pop() {
            let Some(choice) = option else { return true };
            self.selection.insert(frame.group, choice);
            let pair = (frame.group, choice);
            let mut completed: Option<usize> = None;
            for conflict in self.holding.get(&pair).into_iter().flatten() {
                self.missing[*conflict] -= 1;
                if self.missing[*conflict] == 0 {
                    completed = completed.or(Some(*conflict));
                }
            }
            if let Some(conflict) = completed {
                self.undo(frame);
                let others = self.groups[conflict].iter().filter(|group| **group != frame.group);
                frame.blame.extend(others);
                continue;
            }
            frame.opened = match self.graph.phase_of(frame.group, choice) {
                Some(phase) => self.open_below(&phase.remaining()),
                None => self.open_below(&[choice]),
            };
            return true;
        }
        false
    }

    fn undo(&mut self, frame: &mut Frame) {
        let Some(choice) = self.selection.remove(&frame.group) else { return };
        for conflict in self.holding.get(&(frame.group, choice)).into_iter().flatten() {
            self.missing[*conflict] += 1;
        }
        for group in frame.opened.drain(..) {
            self.open.remove(&(self.rank_of(group), group));
        }
    }
}

#[cfg(test)]
mod tests;
