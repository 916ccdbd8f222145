//! The search over selections: which conflicts are known, and the next selection that contains none.
//!
//! Invariant: complete whatever the ranking. A conflict is a set of choices under which something failed for good;
//! `choose` finds a selection that contains none of them, or there is none.

use alloc::{
    collections::{BTreeMap, BTreeSet},
    vec::Vec,
};

use crate::{
    graph::{
        Graph, Ix, Kind,
        standing::{self, Selection, Standing},
    },
    id::{AtomId, Digest},
    state::{EntryKind, State, Try, record::Choices},
};

/// Contexts of tries that are contexts of today's graph: counts of any other are history.
pub type Fits = BTreeSet<(Ix, Digest)>;

/// Looks at every try of every task.
pub fn fits(graph: &Graph, standing: &Standing, state: &State) -> Fits {
    let mut fits = Fits::new();
    for x in graph.tasks() {
        for tried in tries(state, graph.id(x)) {
            if fits_now(graph, standing, x, &tried.context, &tried.choices) {
                fits.insert((x, tried.context.clone()));
            }
        }
    }
    fits
}

/// Whether a context is what today's specifications make of its choices.
pub fn fits_now(
    graph: &Graph,
    standing: &Standing,
    x: Ix,
    context: &Digest,
    choices: &Choices,
) -> bool {
    standing.context(x) == Some(context)
        || standing::context_under(graph, x, choices).as_ref() == Some(context)
}

pub fn tries<'s>(state: &'s State, id: &AtomId) -> &'s [Try] {
    state
        .atom(id)
        .and_then(|atom| atom.task())
        .map_or(&[], |task| task.tries.as_slice())
}

/// The choices that a failure of `x` in a context is due to: those of the context and of the groups above.
pub fn conflict(graph: &Graph, x: Ix, choices: &Choices) -> Choices {
    let mut conflict = choices.clone();
    let mut below = x;
    for above in graph.above(x) {
        if graph.vertex(above).kind == Kind::Any {
            conflict.insert(graph.id(above).clone(), graph.id(below).clone());
        }
        below = above;
    }
    conflict
}

/// Every recorded conflict whose choices still exist: tasks that failed for good in a context, and whole
/// selections that the base case refuted.
pub fn conflicts(graph: &Graph, state: &State, fits: &Fits, refuted: &[Choices]) -> Vec<Choices> {
    let mut conflicts = Vec::new();
    for x in graph.tasks() {
        let failed = tries(state, graph.id(x))
            .iter()
            .filter(|tried| tried.has_failed());
        let failed = failed.filter(|tried| fits.contains(&(x, tried.context.clone())));
        conflicts.extend(failed.map(|tried| conflict(graph, x, &tried.choices)));
    }
    conflicts.extend_from_slice(refuted);
    conflicts
}

/// The selections that the base case refuted, as far as what was judged then is what would be judged now.
pub fn refuted(graph: &Graph, state: &State) -> Vec<Choices> {
    let mut refuted: BTreeSet<&Choices> = BTreeSet::new();
    for entry in state.trail.iter() {
        if let EntryKind::Refuted { conflict, context } = &entry.kind
            && context.is_some()
            && *context == whole_context(graph, state, conflict)
        {
            refuted.insert(conflict);
        }
    }
    refuted.into_iter().cloned().collect()
}

/// What a verdict on a whole selection depends on: the base case, every live specification, and the results that
/// a person gave.
pub fn whole_context(graph: &Graph, state: &State, choices: &Choices) -> Option<Digest> {
    let pairs = choices
        .iter()
        .map(|(group, choice)| Some((graph.ix(group)?, graph.ix(choice)?)));
    let selection: Selection = pairs.collect::<Option<_>>()?;
    let live = standing::live(graph, &selection);
    let mut text = alloc::string::String::new();
    if let Some(base_case) = &state.objective.base_case {
        text.push_str(&crate::doc::canonical(&base_case.node()));
    }
    for x in graph.tasks().filter(|x| live[*x]) {
        text.push('\n');
        text.push_str(graph.id(x).as_str());
        text.push(' ');
        text.push_str(graph.vertex(x).spec.as_str());
        if let Some(binding) = state.bindings.get(graph.id(x)).filter(|b| b.is_by_person()) {
            text.push_str(binding.result_digest().as_str());
        }
    }
    Some(Digest::of(text.as_bytes()))
}

/// A selection that contains no conflict, or `None`.
///
/// Groups are decided in the order of `rank` (absent: first), each keeping what `prefer` says as long as it can: so
/// the group ranked last changes first.
pub fn choose(
    graph: &Graph,
    conflicts: &[Choices],
    prefer: &Selection,
    rank: &BTreeMap<Ix, usize>,
) -> Option<Selection> {
    search(Walk::new(graph, conflicts, prefer, rank)?)
}

/// The same in which these groups have these choices.
pub fn choose_with(
    graph: &Graph,
    conflicts: &[Choices],
    prefer: &Selection,
    fixed: &Selection,
) -> Option<Selection> {
    let (prefer, rank) = (
        prefer.clone().into_iter().chain(fixed.clone()),
        BTreeMap::new(),
    );
    let prefer = prefer.collect();
    let mut walk = Walk::new(graph, conflicts, &prefer, &rank)?;
    walk.fixed = Some(fixed);
    search(walk)
}

fn search(mut walk: Walk<'_>) -> Option<Selection> {
    let mut frames: Vec<Frame> = Vec::new();
    loop {
        match walk.open.pop_first() {
            None => return Some(walk.selection),
            Some((_, group)) => frames.push(walk.frame(group)),
        }
        while !walk.take_next(frames.last_mut()?) {
            let spent = frames.pop()?;
            walk.open_again(spent.group);
            // Straight back to the newest decision that has to do with it: no other could help.
            while frames
                .last()
                .is_some_and(|frame| !spent.blame.contains(&frame.group))
            {
                let mut innocent = frames.pop()?;
                walk.undo(&mut innocent);
                walk.open_again(innocent.group);
            }
            let to_blame = frames.last_mut()?;
            to_blame.blame.extend(
                spent
                    .blame
                    .into_iter()
                    .filter(|group| *group != to_blame.group),
            );
        }
    }
}

/// A group under decision, with the choices not yet looked at (the next one last).
struct Frame {
    group: Ix,
    options: Vec<Ix>,
    opened: Vec<Ix>,
    /// Decided groups without whose choices it would have more to choose from, or need not choose.
    blame: BTreeSet<Ix>,
}

struct Walk<'a> {
    graph: &'a Graph,
    prefer: &'a Selection,
    rank: &'a BTreeMap<Ix, usize>,
    fixed: Option<&'a Selection>,
    /// Live groups without a decision, by rank.
    open: BTreeSet<(usize, Ix)>,
    selection: Selection,
    /// For each pair, the conflicts that it stands in.
    holding: BTreeMap<(Ix, Ix), Vec<usize>>,
    /// For each conflict, how many of its pairs are not selected.
    missing: Vec<usize>,
    /// For each conflict, its groups.
    groups: Vec<Vec<Ix>>,
}

impl<'a> Walk<'a> {
    fn new(
        graph: &'a Graph,
        conflicts: &[Choices],
        prefer: &'a Selection,
        rank: &'a BTreeMap<Ix, usize>,
    ) -> Option<Self> {
        let mut holding: BTreeMap<(Ix, Ix), Vec<usize>> = BTreeMap::new();
        let (mut missing, mut groups) = (Vec::new(), Vec::new());
        for conflict in conflicts {
            let pairs = conflict
                .iter()
                .map(|(group, choice)| Some((graph.ix(group)?, graph.ix(choice)?)));
            let Some(pairs) = pairs.collect::<Option<Vec<_>>>() else {
                continue;
            };
            if pairs.is_empty() {
                return None;
            }
            pairs
                .iter()
                .for_each(|pair| holding.entry(*pair).or_default().push(missing.len()));
            missing.push(pairs.len());
            groups.push(pairs.into_iter().map(|(group, _)| group).collect());
        }
        let (open, selection) = (BTreeSet::new(), Selection::new());
        let mut walk = Self {
            graph,
            prefer,
            rank,
            fixed: None,
            open,
            selection,
            holding,
            missing,
            groups,
        };
        for root in graph.roots() {
            walk.open_below(*root);
        }
        Some(walk)
    }

    fn rank_of(&self, group: Ix) -> usize {
        self.rank.get(&group).map_or(0, |rank| rank + 1)
    }

    fn open_again(&mut self, group: Ix) {
        self.open.insert((self.rank_of(group), group));
    }

    fn frame(&self, group: Ix) -> Frame {
        let above = self
            .graph
            .above(group)
            .filter(|y| self.graph.vertex(*y).kind == Kind::Any);
        Frame {
            group,
            options: self.options(group),
            opened: Vec::new(),
            blame: above.collect(),
        }
    }

    fn options(&self, group: Ix) -> Vec<Ix> {
        if let Some(choice) = self.fixed.and_then(|fixed| fixed.get(&group)) {
            return Vec::from([*choice]);
        }
        let kids = &self.graph.vertex(group).kids;
        let preferred = self
            .prefer
            .get(&group)
            .filter(|choice| kids.contains(choice));
        let others = kids.iter().rev().filter(|kid| Some(*kid) != preferred);
        others.chain(preferred).copied().collect()
    }

    /// Opens the groups that are live once `x` is; returns them.
    fn open_below(&mut self, x: Ix) -> Vec<Ix> {
        let mut opened = Vec::new();
        let mut todo = Vec::from([x]);
        while let Some(y) = todo.pop() {
            match self.graph.vertex(y).kind {
                Kind::Any => opened.push(y),
                Kind::Task | Kind::All => todo.extend(&self.graph.vertex(y).kids),
            }
        }
        for group in &opened {
            self.open.insert((self.rank_of(*group), *group));
        }
        opened
    }

    /// Moves a group to its next choice that completes no conflict; false when it has none.
    fn take_next(&mut self, frame: &mut Frame) -> bool {
        self.undo(frame);
        while let Some(choice) = frame.options.pop() {
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
                let others = self.groups[conflict]
                    .iter()
                    .filter(|group| **group != frame.group);
                frame.blame.extend(others);
                continue;
            }
            frame.opened = self.open_below(choice);
            return true;
        }
        false
    }

    fn undo(&mut self, frame: &mut Frame) {
        let Some(choice) = self.selection.remove(&frame.group) else {
            return;
        };
        for conflict in self
            .holding
            .get(&(frame.group, choice))
            .into_iter()
            .flatten()
        {
            self.missing[*conflict] += 1;
        }
        for group in frame.opened.drain(..) {
            self.open.remove(&(self.rank_of(group), group));
        }
    }
}

#[cfg(test)]
mod tests;
