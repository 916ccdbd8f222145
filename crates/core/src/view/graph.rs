//! The work graph as nodes and edges, for every renderer, and the choices of its groups.

use crate::doc::prelude::*;
use serde::Serialize;

use super::status_word;
use crate::{
    graph::{Graph, Ix, NodeKind},
    id::AtomId,
    search,
    state::{EntryKind, PhaseBudget, TryEnd, atom::AttentionCause},
    world::World,
};

/// The work graph: `descent graph --json`
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GraphView {
    pub schema: &'static str,
    pub goal: String,
    /// Each group before its members, members in the order of the plan.
    pub nodes: Vec<NodeView>,
    pub edges: Vec<EdgeView>,
}

#[serde_with::skip_serializing_none]
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NodeView {
    pub id: AtomId,
    /// `task`, `plan`, `all` or `any`.
    pub kind: &'static str,
    pub description: String,
    /// As in `why`: `resolved`, `running`, `failed`, `pending`, `open`, `not chosen`, `resting`, `dropped` …
    pub state: String,
    /// Its end under choices that are not in force: `failed` or `parked`.
    pub tried: Option<&'static str>,
    pub parent: Option<AtomId>,
    /// The choice of an `any`.
    pub selected: Option<AtomId>,
    /// Whether its group has selected it.
    pub is_selected: bool,
    pub depends_on: Vec<AtomId>,
    /// The number of groups above it.
    pub depth: usize,
    /// For a planning step, the budget of each of its plans, in words.
    pub budget: Option<String>,
    /// Whether a planning step is resolved without the parts that its budget left open.
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    pub partial: bool,
    /// Why a person should look at it.
    pub attention: Option<AttentionCause>,
    /// Whether it waits until its plan was judged.
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    pub waits_for_judge: bool,
    /// Whether something is inside it; a planning step is empty until it was planned.
    #[serde(skip)]
    pub is_group: bool,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EdgeView {
    pub from: AtomId,
    pub to: AtomId,
    /// `part` and `choice` lead from a group to a member, `before` from a dependency to its
    /// dependent.
    pub kind: &'static str,
}

pub fn graph(world: &World) -> GraphView {
    let graph = &world.graph;
    let mut view = GraphView {
        schema: "descent/graph/1",
        goal: world.state.objective.goal.clone(),
        nodes: Vec::with_capacity(graph.len()),
        edges: Vec::new(),
    };
    let mut todo: Vec<(Ix, usize)> = roots(graph).into_iter().rev().map(|x| (x, 0)).collect();
    while let Some((x, depth)) = todo.pop() {
        let vertex = graph.vertex(x);
        let id = graph.id(x);
        view.nodes.push(node(world, x, depth));
        let member = if vertex.kind == NodeKind::Any { "choice" } else { "part" };
        let edge = |from: &AtomId, to: &AtomId, kind| EdgeView {
            from: from.clone(),
            to: to.clone(),
            kind,
        };
        view.edges.extend(vertex.kids.iter().map(|kid| edge(id, graph.id(*kid), member)));
        view.edges.extend(vertex.deps.iter().map(|dep| edge(graph.id(*dep), id, "before")));
        todo.extend(vertex.kids.iter().rev().map(|kid| (*kid, depth + 1)));
    }
    view
}

/// The atoms in no group. An atom follows those that it waits for, else those written before it.
fn roots(graph: &Graph) -> Vec<Ix> {
    let root_of = |x: Ix| graph.above(x).last().unwrap_or(x);
    let mut waits: BTreeMap<Ix, BTreeSet<Ix>> = BTreeMap::new();
    for x in graph.atoms() {
        let of = waits.entry(root_of(x)).or_default();
        of.extend(graph.vertex(x).deps.iter().map(|dep| root_of(*dep)));
    }
    let mut open: Vec<Ix> = waits.keys().copied().collect();
    open.sort_by_key(|x| graph.place(*x));
    let mut placed = BTreeSet::new();
    let mut roots = Vec::with_capacity(open.len());
    while !open.is_empty() {
        let is_free = |x: &Ix| waits[x].iter().all(|dep| dep == x || placed.contains(dep));
        // Members of two groups may wait for each other.
        let next = open.remove(open.iter().position(is_free).unwrap_or(0));
        placed.insert(next);
        roots.push(next);
    }
    roots
}

fn node(world: &World, x: Ix, depth: usize) -> NodeView {
    let graph = &world.graph;
    let vertex = graph.vertex(x);
    let name = |y: Ix| graph.id(y).clone();
    let selected = |x: Ix| {
        let is_group = graph.vertex(x).kind == NodeKind::Any;
        world.active.selection.get(&x).filter(|_| is_group)
    };
    let atom = world.state.atom(graph.id(x));
    let is_selected = vertex.parent.is_some_and(|above| selected(above) == Some(&x));
    let is_live = world.active.is_live(x);
    let state = status_word(world, x).to_owned();
    let is_aside = !is_live && state != "resting";
    let attention = atom.and_then(|atom| atom.task()?.attention.as_ref());
    NodeView {
        id: name(x),
        kind: vertex.kind.word(),
        description: atom.map(|atom| atom.description.clone()).unwrap_or_default(),
        state,
        tried: is_aside.then(|| tried(world, x)).flatten(),
        parent: vertex.parent.map(name),
        selected: selected(x).map(|choice| name(*choice)),
        is_selected,
        depends_on: vertex.deps.iter().map(|dep| name(*dep)).collect(),
        depth,
        budget: atom.and_then(|atom| atom.plan()?.budget.as_ref()).map(budget),
        partial: world.active.phase(graph, x).is_some_and(|phase| !phase.dropped.is_empty()),
        attention: attention.map(|mark| mark.because),
        waits_for_judge: is_live && graph.is_behind_gate(x),
        is_group: !vertex.kids.is_empty(),
    }
}

fn budget(budget: &PhaseBudget) -> String {
    let attempts = budget.attempts.map(|count| match count {
        1 => "1 attempt".to_owned(),
        count => format!("{count} attempts"),
    });
    let time = budget.time.as_ref().map(|time| time.as_str().to_owned());
    let limits: Vec<String> = attempts.into_iter().chain(time).collect();
    limits.join(" and ")
}

fn tried(world: &World, x: Ix) -> Option<&'static str> {
    let tries = search::tries(&world.state, world.graph.id(x));
    tries.iter().rev().find_map(|tried| match &tried.ended {
        Some(TryEnd::Failed(_)) => Some("failed"),
        Some(TryEnd::Parked(_)) => Some("parked"),
        None => None,
    })
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChoiceView {
    pub group: AtomId,
    pub selected: Option<AtomId>,
    pub failed: Vec<AtomId>,
    /// Choices in a whole selection under which the base case did not hold.
    pub refuted: Vec<AtomId>,
    pub untried: Vec<AtomId>,
}

pub(super) fn choices(world: &World) -> Vec<ChoiceView> {
    let mut groups: Vec<Ix> = world.graph.groups().collect();
    groups.sort_by_key(|group| world.graph.place(*group));
    groups.into_iter().map(|group| choice_view(world, group)).collect()
}

/// Choices of a group in refuted selections, in the order in which that happened.
fn refuted(world: &World, group: &AtomId) -> Vec<AtomId> {
    let mut refuted: Vec<AtomId> = Vec::new();
    for entry in world.state.trail.iter() {
        if let EntryKind::Refuted(one) = &entry.kind
            && let Some(choice) = one.conflict.get(group)
            && !refuted.contains(choice)
        {
            refuted.push(choice.clone());
        }
    }
    refuted
}

pub(super) fn choice_view(world: &World, group: Ix) -> ChoiceView {
    let graph = &world.graph;
    let mut view = ChoiceView {
        group: graph.id(group).clone(),
        selected: world.active.selection.get(&group).map(|choice| graph.id(*choice).clone()),
        failed: Vec::new(),
        refuted: refuted(world, graph.id(group)),
        untried: Vec::new(),
    };
    for kid in &graph.vertex(group).kids {
        let is_task = |x: &Ix| matches!(graph.vertex(*x).kind, NodeKind::Task | NodeKind::Plan);
        let tasks = graph.subtree(*kid).into_iter().filter(is_task);
        let tasks: Vec<&AtomId> = tasks.map(|x| graph.id(x)).collect();
        let tries = |id| search::tries(&world.state, id);
        if tasks.iter().any(|id| tries(id).iter().any(|tried| tried.has_failed())) {
            view.failed.push(graph.id(*kid).clone());
        } else if tasks
            .iter()
            .all(|id| tries(id).is_empty() && !world.state.bindings.contains_key(*id))
        {
            view.untried.push(graph.id(*kid).clone());
        }
    }
    view
}
