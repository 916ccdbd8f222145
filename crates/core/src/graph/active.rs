//! The active graph: the atoms that are live under a selection, with their contexts.
//!
//! A context is a digest over the specification of a task, the specifications upstream and the
//! choices in force there. It never includes a digest of a result. An atom that waits for a
//! planning step also sees the atoms of its fragment.

use super::{AtomVec, Graph, Ix, NodeKind, PlannedPhase};
use crate::doc::prelude::*;
use crate::{
    id::{AtomId, Digest},
    state::{State, record::Choices},
};

/// The choice of each group, and the fragment of each planning step, identified by its first part.
pub type Selection = BTreeMap<Ix, Ix>;

/// The selection recorded in a state; an unknown choice counts as none. A planning step that a
/// person resolved has that result, and no fragment.
pub fn selection_of(graph: &Graph, state: &State) -> Selection {
    let chosen = |x: Ix| {
        let atom = state.atom(graph.id(x))?;
        let is_resolved = state.bindings.contains_key(graph.id(x));
        let in_force = || atom.plan().filter(|_| !is_resolved)?.in_force();
        let fragment = || in_force()?.first();
        let choice = graph.ix(atom.selected().or_else(fragment)?)?;
        graph.vertex(x).kids.contains(&choice).then_some((x, choice))
    };
    graph.groups().chain(graph.plans()).filter_map(chosen).collect()
}

#[derive(Debug, Default)]
pub struct ActiveGraph {
    pub selection: Selection,
    live: AtomVec<bool>,
    contexts: AtomVec<Option<Digest>>,
    /// For live planning steps, the index of the active fragment among their phases.
    phases: BTreeMap<Ix, usize>,
}

impl ActiveGraph {
    pub fn of(graph: &Graph, selection: Selection) -> Self {
        let has_plans = graph.plans().next().is_some();
        let none = BTreeMap::new();
        // Without planning steps, liveness depends on no context.
        let early = (!has_plans).then(|| live_by(graph, &selection, &none));
        let is_wanted = |x: Ix| early.as_ref().is_none_or(|live| live[x]);
        let mut seen = Contexts::default();
        for x in graph.order().iter().copied().filter(|x| is_wanted(*x)) {
            seen.add(graph, x, &selection);
        }
        let live = early.unwrap_or_else(|| live_by(graph, &selection, &seen.phases));
        let mut contexts: AtomVec<Option<Digest>> = graph.filled(None);
        for (x, context) in seen.own.into_iter().filter(|(x, _)| live[*x]) {
            contexts[x] = Some(context);
        }
        seen.phases.retain(|x, _| live[*x]);
        Self { selection, live, contexts, phases: seen.phases }
    }

    pub fn is_live(&self, x: Ix) -> bool {
        self.live[x]
    }

    /// The context of a live atom.
    pub fn context(&self, x: Ix) -> Option<&Digest> {
        self.contexts[x].as_ref()
    }

    /// The active fragment of a live planning step.
    pub fn phase<'g>(&self, graph: &'g Graph, x: Ix) -> Option<&'g PlannedPhase> {
        graph.vertex(x).phases.get(*self.phases.get(&x)?)
    }

    /// Whether attempts are made of it now; for a planning step only while it has no active
    /// fragment.
    pub fn is_leaf(&self, graph: &Graph, x: Ix) -> bool {
        match graph.vertex(x).kind {
            NodeKind::Task => true,
            NodeKind::Plan => !self.phases.contains_key(&x),
            NodeKind::All | NodeKind::Any => false,
        }
    }

    /// The members of a group or planning step that must be resolved to resolve it.
    pub fn members(&self, graph: &Graph, x: Ix) -> Vec<Ix> {
        match graph.vertex(x).kind {
            NodeKind::Task => Vec::new(),
            NodeKind::Plan => self.phase(graph, x).map_or_else(Vec::new, PlannedPhase::remaining),
            NodeKind::All => graph.vertex(x).kids.clone(),
            NodeKind::Any => self.selection.get(&x).copied().into_iter().collect(),
        }
    }

    /// The choices of which a live task's context consists: those in its prerequisites, and in theirs. A group inside
    /// an alternative that is not selected is not among them.
    pub fn choices(&self, graph: &Graph, x: Ix) -> Choices {
        let mut seen: BTreeSet<Ix> = BTreeSet::new();
        let mut todo: Vec<Ix> = graph.waits_for(x).collect();
        while let Some(y) = todo.pop() {
            if graph.vertex(y).is_branching && seen.insert(y) {
                todo.extend(made_of(graph, y, &self.selection));
                todo.extend(self.phase(graph, y).into_iter().flat_map(PlannedPhase::remaining));
            }
        }
        self.pairs(graph, seen.into_iter())
    }

    /// The choices in force of these groups and planning steps, if they are live.
    pub fn pairs(&self, graph: &Graph, groups: impl Iterator<Item = Ix>) -> Choices {
        let in_force = groups.filter(|group| self.live[*group]);
        let choice = |x: Ix| match graph.vertex(x).kind {
            NodeKind::Any => self.selection.get(&x).copied(),
            NodeKind::Plan => self.phase(graph, x).map(PlannedPhase::first),
            NodeKind::Task | NodeKind::All => None,
        };
        let pairs = in_force.filter_map(|group| Some((group, choice(group)?)));
        pairs.map(|(group, choice)| (graph.id(group).clone(), graph.id(choice).clone())).collect()
    }

    /// The whole selection: all choices in force.
    pub fn whole(&self, graph: &Graph) -> Choices {
        self.pairs(graph, graph.groups().chain(graph.plans()))
    }
}

/// The atoms that every `any` above has selected, and that are in the active fragment of every
/// planning step above.
fn live_by(graph: &Graph, selection: &Selection, phases: &BTreeMap<Ix, usize>) -> AtomVec<bool> {
    let mut live = graph.filled(false);
    let mut todo = graph.roots().to_vec();
    while let Some(x) = todo.pop() {
        live[x] = true;
        let vertex = graph.vertex(x);
        match vertex.kind {
            NodeKind::Any => todo.extend(selection.get(&x)),
            NodeKind::Plan => {
                let phase = phases.get(&x).and_then(|place| vertex.phases.get(*place));
                todo.extend(phase.into_iter().flat_map(PlannedPhase::remaining));
            }
            NodeKind::Task | NodeKind::All => todo.extend(&vertex.kids),
        }
    }
    live
}

/// The contexts found so far; each comes after those that it is made of.
#[derive(Default)]
struct Contexts {
    own: BTreeMap<Ix, Digest>,
    /// The context that dependents see.
    seen: BTreeMap<Ix, Digest>,
    phases: BTreeMap<Ix, usize>,
}

impl Contexts {
    fn add(&mut self, graph: &Graph, x: Ix, selection: &Selection) {
        let of = |y: Ix| self.seen.get(&y).or_else(|| self.own.get(&y));
        let own = context(graph, x, selection, of);
        let phases = graph.vertex(x).phases.iter();
        let chosen = selection.get(&x);
        let in_force = phases
            .enumerate()
            .find(|(_, phase)| Some(&phase.first()) == chosen && phase.context == own);
        if let Some((place, phase)) = in_force {
            let text = digest_of("plan ".to_owned() + own.as_str(), graph, &phase.remaining(), of);
            self.seen.insert(x, text);
            self.phases.insert(x, place);
        }
        self.own.insert(x, own);
    }
}

/// Whether an atom is in a tree that was made under these choices: no group above it has another choice.
pub fn is_under(graph: &Graph, x: Ix, choices: &Choices) -> bool {
    core::iter::once(x).chain(graph.above(x)).all(|y| {
        let group = graph.vertex(y).parent;
        let chosen = group.and_then(|group| graph.ix(choices.get(graph.id(group))?));
        chosen.is_none_or(|chosen| chosen == y || graph.vertex(chosen).parent != group)
    })
}

/// The context that a task had under `choices`, by today's specifications. It tells whether a try of that time still
/// counts. `None` if a choice no longer exists.
pub fn context_under(graph: &Graph, x: Ix, choices: &Choices) -> Option<Digest> {
    let named = |id: &AtomId| graph.ix(id);
    let mut selection = Selection::new();
    for (group, choice) in choices {
        let (group, choice) = (named(group)?, named(choice)?);
        if !graph.vertex(group).kids.contains(&choice) {
            return None;
        }
        selection.insert(group, choice);
    }
    context_in(graph, x, &selection)
}

/// An atom's context under a partial selection; only its upstream needs to be selected.
pub fn context_in(graph: &Graph, x: Ix, selection: &Selection) -> Option<Digest> {
    let mut contexts = Contexts::default();
    for y in upstream_first(graph, x, selection) {
        contexts.add(graph, y, selection);
    }
    contexts.own.remove(&x)
}

/// `x` and everything that its context is made of, in the order of dependency.
fn upstream_first(graph: &Graph, x: Ix, selection: &Selection) -> Vec<Ix> {
    let mut done: BTreeMap<Ix, bool> = BTreeMap::new();
    let mut order = Vec::new();
    let mut todo = Vec::from([(x, false)]);
    while let Some((y, is_closed)) = todo.pop() {
        if is_closed {
            if done.insert(y, true) != Some(true) {
                order.push(y);
            }
            continue;
        }
        if done.contains_key(&y) {
            continue;
        }
        done.insert(y, false);
        todo.push((y, true));
        todo.extend(made_of(graph, y, selection).into_iter().map(|z| (z, false)));
        if y != x {
            todo.extend(named_phase(graph, y, selection).into_iter().map(|z| (z, false)));
        }
    }
    order
}

/// The atoms whose contexts the context of `x` is made of.
fn made_of(graph: &Graph, x: Ix, selection: &Selection) -> Vec<Ix> {
    let vertex = graph.vertex(x);
    match vertex.kind {
        NodeKind::Task | NodeKind::Plan => graph.waits_for(x).collect(),
        NodeKind::All => vertex.kids.clone(),
        NodeKind::Any => selection.get(&x).copied().into_iter().collect(),
    }
}

/// The parts of the fragment that a selection names, whether or not it is of this context.
fn named_phase(graph: &Graph, x: Ix, selection: &Selection) -> Vec<Ix> {
    let mut phases = graph.vertex(x).phases.iter();
    let phase = phases.find(|phase| selection.get(&x) == Some(&phase.first()));
    phase.map_or_else(Vec::new, PlannedPhase::remaining)
}

/// The atoms upstream of `x` under a selection, as far as that determines them.
pub fn upstream(graph: &Graph, x: Ix, selection: &Selection) -> BTreeSet<Ix> {
    let mut seen = BTreeSet::new();
    let mut todo: Vec<Ix> = graph.waits_for(x).collect();
    while let Some(y) = todo.pop() {
        if seen.insert(y) {
            todo.extend(made_of(graph, y, selection));
            todo.extend(named_phase(graph, y, selection));
        }
    }
    seen
}

fn context<'c>(
    graph: &Graph,
    x: Ix,
    selection: &Selection,
    of: impl Fn(Ix) -> Option<&'c Digest>,
) -> Digest {
    let vertex = graph.vertex(x);
    let text = match vertex.kind {
        NodeKind::Task | NodeKind::Plan => "task ".to_owned() + vertex.spec.as_str(),
        NodeKind::All => "all".to_owned(),
        NodeKind::Any => {
            let choice = selection.get(&x).map_or("", |choice| graph.id(*choice).as_str());
            "any ".to_owned() + graph.id(x).as_str() + " " + choice
        }
    };
    digest_of(text, graph, &made_of(graph, x, selection), of)
}

/// The digest of a text and the contexts of these atoms.
fn digest_of<'c>(
    mut text: String,
    graph: &Graph,
    parts: &[Ix],
    of: impl Fn(Ix) -> Option<&'c Digest>,
) -> Digest {
    let mut parts = parts.to_vec();
    parts.sort_unstable();
    parts.dedup();
    for part in parts {
        text.push('\n');
        text.push_str(graph.id(part).as_str());
        text.push(' ');
        text.push_str(of(part).map_or("", Digest::as_str));
    }
    Digest::of(text.as_bytes())
}
