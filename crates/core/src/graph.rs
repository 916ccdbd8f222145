//! The work graph as an AND/OR graph: its structure, the order of atoms, and how many contexts each
//! can see. Contract §5; the definitions follow the executable reference of the search.
//!
//! Invariant: a `Graph` depends only on ids, their order, kinds, members, dependencies and
//! specifications; choices and results belong to `active`. Not here: faults of a graph that a
//! person wrote (`validate`).

pub mod active;
pub mod order;
pub mod overlap;
pub mod unjudged;
pub mod validate;

use crate::doc::prelude::*;
use num_bigint::BigUint;

pub use self::order::{AtomVec, Ix};
use crate::{
    id::{AtomId, Digest},
    state::{Atom, Body, Fragment, PlanningStep, Records, State, table::words},
};

words! {
    /// The kind of an atom
    pub enum NodeKind {
        Task = "task",
        /// A planning step: like an `all` of the parts of its active fragment, or a leaf without one
        Plan = "plan",
        All = "all",
        Any = "any",
    }
}

impl NodeKind {
    pub fn of(atom: &Atom) -> Self {
        match &atom.body {
            Body::Task(_) => Self::Task,
            Body::Plan(_) => Self::Plan,
            Body::All { .. } => Self::All,
            Body::Any { .. } => Self::Any,
        }
    }
}

#[derive(Debug)]
pub struct Vertex {
    pub kind: NodeKind,
    pub kids: Vec<Ix>,
    /// Its own dependencies.
    pub deps: Vec<Ix>,
    pub parent: Option<Ix>,
    /// The phases of a planning step, by their first parts.
    pub phases: Vec<PlannedPhase>,
    pub spec: Digest,
    /// Whether its context may contain a choice of some group.
    pub is_branching: bool,
    /// Whether its choices are tried in parallel.
    pub is_speculative: bool,
    /// Whether an agent's task is probed before it is tried.
    pub is_unknown: bool,
    /// Whether it was added or changed by a refiner, and nobody has looked at that yet.
    pub is_unjudged: bool,
    /// The number of ways to resolve it.
    pub configurations: BigUint,
    /// The number of contexts that it can see.
    pub contexts: BigUint,
}

impl Vertex {
    /// Whether it can be resolved in more than one way: by another choice, or by another plan.
    pub fn has_ways(&self) -> bool {
        matches!(self.kind, NodeKind::Any | NodeKind::Plan)
    }
}

/// The fragment of a planning step in one of its contexts.
#[derive(Debug)]
pub struct PlannedPhase {
    pub context: Digest,
    pub parts: Vec<Ix>,
    /// Parts that its budget left open: it is resolved without them.
    pub dropped: Vec<Ix>,
    /// Its budget is over and it accepts no partial result: the fragment counts for nothing any
    /// more.
    pub is_out: bool,
    /// Nothing of it starts before it was looked at.
    pub is_unjudged: bool,
}

impl PlannedPhase {
    /// The part whose id identifies this fragment in recorded choices.
    pub fn first(&self) -> Ix {
        self.parts[0]
    }

    /// The parts that must be resolved to resolve it.
    pub fn remaining(&self) -> Vec<Ix> {
        let stands = |part: &Ix| !self.dropped.contains(part);
        self.parts.iter().copied().filter(stands).collect()
    }
}

#[derive(Debug)]
pub struct Graph {
    ids: AtomVec<AtomId>,
    index: BTreeMap<AtomId, Ix>,
    vertices: AtomVec<Vertex>,
    roots: Vec<Ix>,
    /// The place of each in the order in which they were written.
    places: AtomVec<usize>,
    tasks: Vec<Ix>,
    /// The same in the order in which they were written.
    written: Vec<Ix>,
    groups: Vec<Ix>,
    plans: Vec<Ix>,
    unjudged: Vec<Ix>,
    /// For each atom, the atoms that name it in `depends_on`.
    needed_by: AtomVec<Vec<Ix>>,
    selections: BigUint,
    /// Dependencies and members come before the atoms that need them.
    order: Vec<Ix>,
}

impl Graph {
    /// Builds the graph of a valid state, with resolved atoms. Invalid references are left out.
    pub fn of(state: &State) -> Self {
        let atoms = state.all_atoms();
        let ids: AtomVec<AtomId> = atoms.keys().map(|id| (*id).clone()).collect();
        let index: BTreeMap<AtomId, Ix> = ids.iter().map(|(x, id)| (id.clone(), x)).collect();
        let mut vertices: AtomVec<Vertex> =
            atoms.values().map(|atom| vertex(atom, &index)).collect();
        for ((_, vertex), atom) in vertices.iter_mut().zip(atoms.values()) {
            if let Some(plan) = atom.plan() {
                let grant = plan.grant(&state.objective.constraints);
                vertex.configurations = BigUint::from(grant.alternatives) * grant.rounds;
            }
        }
        adopt_kids(&mut vertices);
        let roots = roots_of(&vertices);
        let of_kinds = |kinds: &[NodeKind]| {
            vertices.indices().filter(|x| kinds.contains(&vertices[*x].kind)).collect()
        };
        let mut places: AtomVec<usize> = ids.iter().map(|_| 0).collect();
        for (place, id) in state.settled_order().iter().enumerate() {
            index.get(id).into_iter().for_each(|x| places[*x] = place);
        }
        let tasks: Vec<Ix> = of_kinds(&[NodeKind::Task, NodeKind::Plan]);
        let mut written = tasks.clone();
        written.sort_by_key(|x| places[*x]);
        let (groups, plans) = (of_kinds(&[NodeKind::Any]), of_kinds(&[NodeKind::Plan]));
        let order = order::topological(&vertices, &roots).unwrap_or_default();
        let mut needed_by: AtomVec<Vec<Ix>> = ids.iter().map(|_| Vec::new()).collect();
        for (x, vertex) in vertices.iter() {
            vertex.deps.iter().for_each(|dep| needed_by[*dep].push(x));
        }
        let mut graph = Self {
            unjudged: unjudged::tasks(&vertices, &tasks),
            ids,
            index,
            vertices,
            roots,
            places,
            tasks,
            written,
            groups,
            plans,
            needed_by,
            selections: BigUint::ZERO,
            order,
        };
        graph.count();
        let configurations =
            graph.roots.iter().map(|root| graph.vertices[*root].configurations.clone());
        graph.selections = configurations.product();
        graph
    }

    pub fn len(&self) -> usize {
        self.ids.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All atoms, in id order.
    pub fn atoms(&self) -> impl Iterator<Item = Ix> + use<> {
        self.ids.indices()
    }

    /// A vector with this value for each atom.
    pub(crate) fn filled<T: Clone>(&self, value: T) -> AtomVec<T> {
        core::iter::repeat_n(value, self.len()).collect()
    }

    pub fn id(&self, x: Ix) -> &AtomId {
        &self.ids[x]
    }

    pub fn ix(&self, id: &AtomId) -> Option<Ix> {
        self.index.get(id).copied()
    }

    /// A group and a choice by their ids.
    pub fn pair(&self, group: &AtomId, choice: &AtomId) -> Option<(Ix, Ix)> {
        Some((self.ix(group)?, self.ix(choice)?))
    }

    pub fn vertex(&self, x: Ix) -> &Vertex {
        &self.vertices[x]
    }

    pub fn roots(&self) -> &[Ix] {
        &self.roots
    }

    pub fn order(&self) -> &[Ix] {
        &self.order
    }

    /// Its place in the order in which the atoms were written.
    pub fn place(&self, x: Ix) -> usize {
        self.places[x]
    }

    /// Tasks and planning steps, in id order: attempts are made of these.
    pub fn tasks(&self) -> impl Iterator<Item = Ix> {
        self.tasks.iter().copied()
    }

    /// The same in the order in which they were written: in that they start, and nothing else depends on it.
    pub fn tasks_as_written(&self) -> impl Iterator<Item = Ix> {
        self.written.iter().copied()
    }

    /// The planning steps.
    pub fn plans(&self) -> impl Iterator<Item = Ix> {
        self.plans.iter().copied()
    }

    /// The fragment of a planning step that this atom is a part of.
    pub fn phase_of(&self, plan: Ix, part: Ix) -> Option<&PlannedPhase> {
        self.vertices[plan].phases.iter().find(|phase| phase.parts.contains(&part))
    }

    /// The innermost planning step that an atom was planned by.
    pub fn planned_by(&self, x: Ix) -> Option<Ix> {
        self.above(x).find(|y| self.vertices[*y].kind == NodeKind::Plan)
    }

    /// The planning steps above an atom, the innermost first, each with the fragment and the part
    /// that contain it.
    pub fn phases_above(&self, x: Ix) -> impl Iterator<Item = (Ix, &PlannedPhase, Ix)> {
        let mut below = x;
        self.above(x).filter_map(move |above| {
            let part = core::mem::replace(&mut below, above);
            Some((above, self.phase_of(above, part)?, part))
        })
    }

    /// Whether it is inside a part that a budget left open.
    pub fn is_dropped(&self, x: Ix) -> bool {
        self.phases_above(x).any(|(_, phase, part)| phase.dropped.contains(&part))
    }

    /// The atoms of a fragment, with all that is inside its parts.
    pub fn inside(&self, fragment: &Fragment) -> impl Iterator<Item = Ix> {
        let parts = fragment.parts.iter().filter_map(|id| self.ix(id));
        parts.flat_map(|x| self.subtree(x))
    }

    /// A digest of a plan as it stands: another one where a person changed something in it.
    pub fn plan_subject(&self, fragment: &Fragment) -> Digest {
        let mut text = format!("{}\n{}\n", fragment.digest, fragment.attempt);
        for x in self.inside(fragment) {
            text.push_str(self.ids[x].as_str());
            text.push_str(self.vertices[x].spec.as_str());
        }
        Digest::of(text.as_bytes())
    }

    /// The number of atoms that planners added, in fragments or by deltas.
    pub fn planned(&self, state: &State) -> u64 {
        let is_added =
            |x: &Ix| state.atom(&self.ids[*x]).is_some_and(|atom| atom.is_added_by_delta());
        self.atoms().filter(|x| self.planned_by(*x).is_some() || is_added(x)).count() as u64
    }

    /// Whether it is inside a plan that nobody looked at yet.
    pub fn is_behind_gate(&self, x: Ix) -> bool {
        self.vertices[x].is_unjudged || self.phases_above(x).any(|(_, phase, _)| phase.is_unjudged)
    }

    pub fn groups(&self) -> impl Iterator<Item = Ix> {
        self.groups.iter().copied()
    }

    /// The atoms that name it in `depends_on`.
    pub fn needed_by(&self, x: Ix) -> &[Ix] {
        &self.needed_by[x]
    }

    /// Pairs records with the indices of their atoms. Both are in id order, so nothing is looked
    /// up.
    pub fn paired<'g, T>(
        &'g self,
        records: &'g Records<T>,
    ) -> impl Iterator<Item = (Ix, &'g Arc<T>)> {
        let mut ids = self.ids.iter().peekable();
        records.iter().filter_map(move |(id, record)| {
            while ids.next_if(|(_, known)| *known < id).is_some() {}
            let (x, _) = ids.next_if(|(_, known)| *known == id)?;
            Some((x, record))
        })
    }

    /// Its ancestors, the nearest first.
    pub fn above(&self, x: Ix) -> impl Iterator<Item = Ix> {
        core::iter::successors(self.vertices[x].parent, |x| self.vertices[*x].parent)
    }

    /// Everything that it waits for: its own dependencies and those of every ancestor.
    pub fn waits_for(&self, x: Ix) -> impl Iterator<Item = Ix> {
        core::iter::once(x).chain(self.above(x)).flat_map(|y| self.vertices[y].deps.iter().copied())
    }

    /// The atom and everything inside it.
    pub fn subtree(&self, x: Ix) -> Vec<Ix> {
        let mut seen = Vec::from([x]);
        let mut next = 0;
        while next < seen.len() {
            let kids = &self.vertices[seen[next]].kids;
            seen.extend(kids);
            next += 1;
        }
        seen
    }

    /// The number of whole selections: the product over the roots.
    pub fn selections(&self) -> &BigUint {
        &self.selections
    }

    /// Computes the values that need the topological order.
    fn count(&mut self) {
        let one = BigUint::from(1u8);
        for x in self.order.clone() {
            let parts =
                self.vertices[x].kids.iter().map(|kid| self.vertices[*kid].configurations.clone());
            self.vertices[x].configurations = match self.vertices[x].kind {
                NodeKind::Task => one.clone(),
                // Granted in advance, whatever was planned so far.
                NodeKind::Plan => continue,
                NodeKind::All => parts.product(),
                NodeKind::Any => parts.sum(),
            };
        }
        let reach = self.reach();
        for x in self.atoms() {
            let targets = union(self.waits_for(x).map(|d| &reach[d].as_target));
            // A fragment belongs to one context of its step: for its atoms everything outside is
            // decided.
            let within = self.planned_by(x);
            let is_within = |d: &Ix| within.is_none_or(|plan| self.above(*d).any(|y| y == plan));
            let targets: BTreeSet<Ix> = targets.iter().copied().filter(is_within).collect();
            let maximal =
                targets.iter().filter(|d| !self.above(**d).any(|above| targets.contains(&above)));
            self.vertices[x].contexts =
                maximal.map(|d| self.vertices[*d].configurations.clone()).product();
            self.vertices[x].is_branching = reach[x].is_branching;
        }
    }

    /// For every vertex, whether a group is in it or upstream of its inside. Also the vertices with
    /// more than one configuration that its inside depends on.
    fn reach(&self) -> AtomVec<Reach> {
        let mut reach: AtomVec<Reach> = self.atoms().map(|_| Reach::default()).collect();
        for x in self.order.iter().copied() {
            let vertex = &self.vertices[x];
            let is_branching = match vertex.kind {
                NodeKind::Task => self.waits_for(x).any(|y| reach[y].is_branching),
                NodeKind::All => vertex.kids.iter().any(|kid| reach[*kid].is_branching),
                NodeKind::Any | NodeKind::Plan => true,
            };
            let inside = vertex.kids.iter().map(|kid| &reach[*kid].inside);
            let inside = union(inside.chain(vertex.deps.iter().map(|dep| &reach[*dep].as_target)));
            let mut as_target = inside.clone();
            if vertex.configurations > BigUint::from(1u8) {
                insert(&mut as_target, x);
            }
            reach[x] = Reach { is_branching, inside, as_target };
        }
        reach
    }
}

/// A set equal to one of its parts is shared with it, so a long chain costs nothing.
#[derive(Debug, Default)]
struct Reach {
    is_branching: bool,
    inside: Arc<Vec<Ix>>,
    as_target: Arc<Vec<Ix>>,
}

fn union<'a>(sets: impl Iterator<Item = &'a Arc<Vec<Ix>>>) -> Arc<Vec<Ix>> {
    let mut whole: Arc<Vec<Ix>> = Arc::default();
    for set in sets {
        if set.is_empty() || Arc::ptr_eq(set, &whole) {
            continue;
        }
        if whole.is_empty() {
            whole = Arc::clone(set);
            continue;
        }
        let merged: BTreeSet<Ix> = whole.iter().chain(set.iter()).copied().collect();
        whole = Arc::new(merged.into_iter().collect());
    }
    whole
}

fn insert(set: &mut Arc<Vec<Ix>>, x: Ix) {
    if let Err(place) = set.binary_search(&x) {
        Arc::make_mut(set).insert(place, x);
    }
}

fn known(index: &BTreeMap<AtomId, Ix>, ids: &[AtomId]) -> Vec<Ix> {
    ids.iter().filter_map(|id| index.get(id).copied()).collect()
}

fn vertex(atom: &Atom, index: &BTreeMap<AtomId, Ix>) -> Vertex {
    let kind = NodeKind::of(atom);
    let mut kids = known(index, atom.kids());
    if kind == NodeKind::Plan {
        // The active fragment does not affect the order.
        kids.sort_unstable();
    }
    Vertex {
        kind,
        kids,
        deps: known(index, &atom.depends_on),
        parent: None,
        phases: phases(atom, index),
        spec: match kind {
            NodeKind::Task | NodeKind::Plan => atom.spec_digest(),
            NodeKind::All | NodeKind::Any => Digest::new(""),
        },
        is_branching: false,
        is_speculative: matches!(atom.body, Body::Any { speculative: true, .. }),
        is_unknown: is_unknown(atom),
        is_unjudged: atom.task().is_some_and(|task| task.unjudged),
        configurations: BigUint::from(1u8),
        contexts: BigUint::from(1u8),
    }
}

fn phases(atom: &Atom, index: &BTreeMap<AtomId, Ix>) -> Vec<PlannedPhase> {
    let Some(plan) = atom.plan() else { return Vec::new() };
    let phases = plan.fragments().map(|one| phase(plan, one, index));
    let mut phases: Vec<PlannedPhase> = phases.filter(|phase| !phase.parts.is_empty()).collect();
    phases.sort_unstable_by_key(PlannedPhase::first);
    phases
}

fn phase(plan: &PlanningStep, fragment: &Fragment, index: &BTreeMap<AtomId, Ix>) -> PlannedPhase {
    let end = plan.end_of(fragment);
    PlannedPhase {
        context: fragment.context.clone(),
        parts: known(index, &fragment.parts),
        dropped: end.map_or_else(Vec::new, |end| known(index, &end.missing)),
        is_out: end.is_some_and(|end| end.has_failed),
        is_unjudged: fragment.unjudged,
    }
}

/// An action is known; only an agent's task is probed.
pub fn is_unknown(atom: &Atom) -> bool {
    match &atom.body {
        Body::Task(task) => task.unknown && task.spec.action.is_none(),
        Body::Any { unknown, .. } => *unknown,
        Body::Plan(_) | Body::All { .. } => false,
    }
}

/// The atoms without a parent.
fn roots_of(vertices: &AtomVec<Vertex>) -> Vec<Ix> {
    let is_root = |x: &Ix| vertices[*x].parent.is_none();
    vertices.indices().filter(is_root).collect()
}

fn adopt_kids(vertices: &mut AtomVec<Vertex>) {
    for x in vertices.indices() {
        for kid in vertices[x].kids.clone() {
            vertices[kid].parent = Some(x);
        }
    }
}
