//! Finds the faults of a graph that a person wrote, each with its place.

mod plans;

use super::{AtomVec, Graph, Ix, NodeKind, Vertex, order};
use crate::doc::prelude::*;
use crate::{
    doc::{self, Fault, Node},
    id::AtomId,
    state::{Body, Check, CheckKind, Leaf, State, VERSION, Workspace, decode},
};

pub use plans::{MissingPart, gate, missing_parts};

/// Checks everything that types cannot express. `names` holds every id in the file, readable or
/// not.
pub fn check(state: &State, root: &Node) -> Vec<Fault> {
    // Atoms added to a plan by flags are in no file.
    let mut known = names(root);
    known.extend(state.atoms.keys().map(ToString::to_string));
    let mut look = Validator { state, root, names: known, faults: Vec::new() };
    look.references();
    look.members();
    look.groups();
    look.graph();
    look.quality_leaves();
    look.agents_of_actions();
    look.faults
}

/// The same of a state that no file holds.
pub fn check_made(state: &State) -> Vec<Fault> {
    let atoms = state.settled_order();
    let atoms = atoms.iter().map(|id| (id.as_str(), Node::null()));
    let atoms = Node::object(Vec::from([("atoms", Node::object(atoms.collect()))]));
    check(state, &Node::object(Vec::from([("work_graph", atoms)])))
}

struct Validator<'a> {
    state: &'a State,
    root: &'a Node,
    names: BTreeSet<String>,
    faults: Vec<Fault>,
}

fn names(root: &Node) -> BTreeSet<String> {
    let atoms = root.get("work_graph").and_then(|graph| graph.get("atoms"));
    let members = atoms.and_then(Node::as_object).unwrap_or_default().iter();
    members.map(|member| member.key.clone()).collect()
}

fn pointer_of(id: &AtomId) -> String {
    doc::pointer_push("/work_graph/atoms", id.as_str())
}

/// A fault with its place in the file.
fn fault_in(
    root: &Node,
    rule: &'static str,
    pointer: &str,
    message: String,
    hint: Option<&str>,
) -> Fault {
    let span = decode::place_of(root, pointer);
    Fault { span, ..Fault::at(rule, pointer, message, hint) }
}

impl Validator<'_> {
    fn fault(&mut self, rule: &'static str, pointer: &str, message: String, hint: Option<&str>) {
        self.faults.push(fault_in(self.root, rule, pointer, message, hint));
    }

    fn references(&mut self) {
        for (id, atom) in self.state.all_atoms() {
            let kids_key = if matches!(atom.body, Body::Any { .. }) { "choices" } else { "parts" };
            for (key, list) in [("depends_on", atom.depends_on.as_slice()), (kids_key, atom.kids())]
            {
                let mut seen = BTreeSet::new();
                for (index, named) in list.iter().enumerate() {
                    let at = format!("{}/{key}/{index}", pointer_of(id));
                    self.reference(&at, named, id);
                    if !seen.insert(named) {
                        let message = format!("`{named}` stands in `{key}` twice");
                        self.fault("named-twice", &at, message, None);
                    }
                }
            }
        }
    }

    fn reference(&mut self, at: &str, named: &AtomId, by: &AtomId) {
        if named == by {
            self.fault("cycle", at, format!("`{by}` names itself"), None);
        } else if !self.names.contains(named.as_str()) {
            let hint = doc::did_you_mean(named.as_str(), self.names.iter().map(String::as_str));
            self.fault("unknown-atom", at, format!("there is no atom `{named}`"), hint.as_deref());
        }
    }

    fn members(&mut self) {
        let mut parents: BTreeMap<AtomId, AtomId> = BTreeMap::new();
        for (id, atom) in self.state.all_atoms() {
            let key = if matches!(atom.body, Body::Any { .. }) { "choices" } else { "parts" };
            for (index, kid) in atom.kids().iter().enumerate() {
                let first = parents.insert(kid.clone(), id.clone());
                if let Some(first) = first.filter(|first| first != id) {
                    let at = format!("{}/{key}/{index}", pointer_of(id));
                    let message = format!("`{kid}` is a member of `{first}` already");
                    let hint = Some("an atom is part or choice of one group at most");
                    self.fault("two-parents", &at, message, hint);
                }
            }
        }
    }

    fn groups(&mut self) {
        let state = self.state;
        for (id, atom) in state.all_atoms() {
            let Body::Any { speculative, .. } = &atom.body else { continue };
            if *speculative && state.objective.constraints.workspace == Some(Workspace::Shared) {
                let at = pointer_of(id) + "/speculative";
                let message =
                    "choices cannot be tried side by side in the workspace `shared`".to_owned();
                self.fault("speculative-shared", &at, message, None);
            }
        }
    }

    /// An action is done by the shell, so an agent beside it would never be asked.
    fn agents_of_actions(&mut self) {
        for (id, atom) in self.state.atoms.iter() {
            let spec = atom.task().map(|task| &task.spec);
            if spec.is_some_and(|spec| spec.agent.is_some() && spec.action.is_some()) {
                let at = doc::pointer_push(&pointer_of(id), "agent");
                let message = format!("`{id}` has an action, and an agent too");
                let hint = Some("take one of them out: an action needs no agent");
                self.fault("agent-beside-action", &at, message, hint);
            }
        }
    }

    /// Checks that need the whole structure: cycles, reach of dependencies, depth. It runs only if
    /// the references are valid.
    fn graph(&mut self) {
        let is_sound = self.faults.is_empty();
        if self.cycles_of_known() || !is_sound {
            return;
        }
        let graph = Graph::of(self.state);
        for x in graph.atoms() {
            self.dependencies_reach(&graph, x);
            self.depth(&graph, x);
        }
        self.plans(&graph);
    }

    fn cycles_of_known(&mut self) -> bool {
        let atoms = self.state.all_atoms();
        let ids: AtomVec<&AtomId> = atoms.keys().copied().collect();
        let index: BTreeMap<AtomId, Ix> = ids.iter().map(|(x, id)| ((*id).clone(), x)).collect();
        let mut vertices: AtomVec<Vertex> =
            atoms.values().map(|atom| super::vertex(atom, &index)).collect();
        for (x, vertex) in vertices.iter_mut() {
            vertex.deps.retain(|y| *y != x);
            vertex.kids.retain(|y| *y != x);
        }
        super::adopt_kids(&mut vertices);
        let Err(cycle) = order::topological(&vertices, &super::roots_of(&vertices)) else {
            return false;
        };
        let path: Vec<&str> = cycle.iter().map(|x| ids[*x].as_str()).collect();
        let at = pointer_of(ids[cycle[0]]);
        let message = format!("a cycle: {}", path.join(" → "));
        let hint = "each waits for the next; remove one of the arrows";
        self.fault("cycle", &at, message, Some(hint));
        true
    }

    /// A dependency must name a root, a part of the same `all`, or one of an ancestor.
    fn dependencies_reach(&mut self, graph: &Graph, x: Ix) {
        for (index, dep) in graph.vertex(x).deps.iter().copied().enumerate() {
            let parent = graph.vertex(dep).parent;
            let is_sibling = parent.is_none() || graph.above(x).any(|above| Some(above) == parent);
            let in_any = parent.is_some_and(|parent| graph.vertex(parent).kind == NodeKind::Any);
            let is_ancestor = graph.above(x).any(|above| above == dep);
            if is_sibling && !in_any && !is_ancestor {
                continue;
            }
            let (id, dep) = (graph.id(x), graph.id(dep));
            let at = format!("{}/depends_on/{index}", pointer_of(id));
            let (message, hint) = if is_ancestor {
                (format!("`{id}` is inside `{dep}` and cannot wait for it"), None)
            } else if in_any && is_sibling {
                (format!("`{dep}` is a choice beside `{id}`: they are never live together"), None)
            } else {
                let group = parent.map(|parent| graph.id(parent).to_string()).unwrap_or_default();
                (format!("`{dep}` is inside `{group}`"), Some(format!("depend on `{group}`")))
            };
            self.fault("dependency-out-of-reach", &at, message, hint.as_deref());
        }
    }

    fn depth(&mut self, graph: &Graph, x: Ix) {
        let depth_max = self.state.objective.constraints.planning.depth() as usize;
        let depth = graph.above(x).count();
        if depth == depth_max + 1 || (depth > depth_max && graph.vertex(x).kids.is_empty()) {
            let at = pointer_of(graph.id(x));
            let message =
                format!("`{}` stands {depth} deep, the limit is {depth_max}", graph.id(x));
            let hint = Some("nest less, or raise /objective/constraints/planning/depth");
            self.fault("too-deep", &at, message, hint);
        }
    }
}

// Finds the faults of the leaves of checks, each with its place.

impl Validator<'_> {
    /// A judge rates what git shows, and only leaves that a person agreed to.
    fn quality_leaves(&mut self) {
        if self.state.version > VERSION {
            // A newer program may judge more; a later place reports if this one cannot go on.
            return;
        }
        let is_shared = self.state.objective.constraints.workspace() == Workspace::Shared;
        let mut found = Vec::new();
        every_leaf(self.state, &mut |check, at| {
            if let (Some(Leaf::Quality { .. }), true) = (check.leaf(), is_shared) {
                found.push((format!("{at}/quality"), check.title()));
            }
        });
        for (at, title) in found {
            let why = "a judge is shown what git tells of the work, and the workspace is `shared`";
            let hint = "leave out `workspace`, so that git tells trees apart";
            let message = format!("`{title}` cannot be rated here: {why}");
            self.fault("unsupported", &at, message, Some(hint));
        }
    }
}

const BASE_CASE: &str = "/objective/base_case";

/// Leaves whose limit is a baseline that was never measured; a state from `align` has none.
pub fn unmeasured(state: &State, root: &Node) -> Vec<Fault> {
    let mut faults = Vec::new();
    every_leaf(state, &mut |check, at| {
        let rule = check.leaf().and_then(Leaf::number);
        if rule.is_some_and(|rule| rule.has_baseline() && rule.baseline.is_none()) {
            let message = format!("the baseline of `{}` was never measured", check.title());
            let hint = "write the number beside it, such as \"baseline\": 211, or align again";
            faults.push(fault_in(root, "no-baseline", at, message, Some(hint)));
        }
    });
    faults
}

/// Every leaf of the base case and of the atoms, with its pointer.
fn every_leaf(state: &State, each: &mut impl FnMut(&Check, &str)) {
    if let Some(check) = &state.objective.base_case {
        below(check, BASE_CASE, each);
    }
    for (id, atom) in state.all_atoms() {
        if let Some(check) = atom.task().and_then(|task| task.spec.checks.as_ref()) {
            below(check, &(pointer_of(id) + "/checks"), each);
        }
    }
}

fn below(check: &Check, at: &str, each: &mut impl FnMut(&Check, &str)) {
    let (parts, key) = match &check.kind {
        CheckKind::Leaf(_) => return each(check, at),
        CheckKind::All(parts) => (parts, "all"),
        CheckKind::Any(parts) => (parts, "any"),
    };
    for (index, part) in parts.iter().enumerate() {
        let at: String = doc::pointer_push(&doc::pointer_push(at, key), &format!("{index}"));
        below(part, &at, each);
    }
}
