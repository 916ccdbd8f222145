//! An edit that began at an older state is merged, field by field, into the last commit.
//!
//! A field that only one side changed is taken from that side. If both did, the person wins on what is wanted, the
//! program on what happened. Records are told apart by their ids, never by their places.
//!
//! Invariants: every id stands once; the graph of the outcome is valid if both sides' graphs are. Everything that a
//! person typed is in the outcome or among the lost values.

mod graph;
pub(super) mod plan;
mod run;
mod tree;

use crate::doc::prelude::*;

pub(super) use graph::AtomEntry;
use tree::{Rule, Trees};

use crate::{
    doc::{self, Node},
    graph::validate,
    id::{AtomId, Serial},
    state::{
        Control, Objective, State, atom_order,
        encode::{StateText, shown_statuses},
        record::LostValue,
    },
};

pub use tree::{LOST_MAX, lost_lines};

/// The outcome of an edit: the state that holds it, before it is counted as a commit, and the lost values.
#[derive(Debug, Clone)]
pub struct MergeOutcome {
    pub state: State,
    pub lost: Vec<LostValue>,
    /// Unresolved atoms that the edit took out. They are not results that a person forgot.
    pub removed: BTreeSet<AtomId>,
    /// The serial of an edit that is older than the last commit and changes nothing of it.
    pub saved_again: Option<Serial>,
}

impl From<State> for MergeOutcome {
    fn from(state: State) -> Self {
        Self { state, lost: Vec::new(), removed: BTreeSet::new(), saved_again: None }
    }
}

/// Merges an edit into the last commit.
///
/// `base` is the state that the person started from, `ours` the newest committed one. Without a base every difference
/// is reported; without `ours` the edit is all there is.
pub fn merge(base: Option<&State>, ours: Option<&State>, theirs: &State) -> MergeOutcome {
    let Some(ours) = ours else {
        return MergeOutcome::from(theirs.clone());
    };
    let ours = newer(base, ours);
    let base = base_of(base, ours, theirs);
    let mut trees = Trees::new(base.is_some());
    let sides = Sides { base, ours, theirs };
    let mut merged = MergeOutcome::from(theirs.clone());
    head(&sides, &mut trees, &mut merged.state);
    records(&sides, &mut trees, &mut merged.state);
    run::notebook(&sides, &mut trees, &mut merged.state);
    run::trail(&sides, &mut trees, &mut merged.state);
    run::corrections(&sides, &mut trees, &mut merged.state);
    graph::graph(&sides, &mut trees, &mut merged);
    order(&sides, &mut merged.state);
    make_valid(&sides, &mut trees, &mut merged);
    said(base, &mut merged.state);
    merged.lost = tree::capped(trees.lost);
    let seal = |state: &State| StateText::of(state).seal(state);
    let is_as_ours = || seal(&merged.state) == seal(ours);
    merged.saved_again = (theirs.serial < ours.serial && is_as_ours()).then_some(theirs.serial);
    merged
}

/// Atoms keep the order of the edit, if it moved any.
fn order(sides: &Sides<'_>, merged: &mut State) {
    let base = sides.base.map(State::settled_order);
    let base = base.as_ref().map(|order| order.as_slice());
    let (ours, theirs) = (sides.ours.settled_order(), sides.theirs.settled_order());
    merged.order = Arc::new(atom_order::merged(base, &ours, &theirs));
}

/// Keeps the statuses that the person wrote: one that was there before is no word of theirs. Without a base a result
/// wins, and a word on a group says nothing.
fn said(base: Option<&State>, merged: &mut State) {
    let before = base.map(shown_statuses);
    let mut said = core::mem::take(&mut merged.said);
    said.retain(|id, status| match &before {
        Some(before) => before.get(id) != Some(status),
        None => merged.atoms.get(id).is_some_and(|atom| atom.kids().is_empty()),
    });
    merged.said = said;
}

/// The three states that are walked side by side.
struct Sides<'s> {
    base: Option<&'s State>,
    ours: &'s State,
    theirs: &'s State,
}

impl<'s> Sides<'s> {
    fn each<T>(&self, of: impl Fn(&'s State) -> T) -> [Option<T>; 3] {
        [self.base.map(&of), Some(of(self.ours)), Some(of(self.theirs))]
    }
}

/// The edit may have begun from a commit of another process that nobody saw yet.
fn newer<'s>(base: Option<&'s State>, ours: &'s State) -> &'s State {
    base.filter(|base| base.serial > ours.serial && base.lineage == ours.lineage).unwrap_or(ours)
}

/// How far ahead of the known serial the commits of other processes can be.
const AHEAD_MAX: u64 = 1_000;

/// Whether no other process can have made the commits from `known` to `serial`: a person wrote that number.
pub fn is_out_of_reach(serial: Serial, known: Serial) -> bool {
    serial.0.saturating_sub(known.0) > AHEAD_MAX
}

/// Finds the base of an edit: its seal names it. The serial counts only for a file without a seal. Two commits can have
/// had the same serial, one of which did not stay.
fn base_of<'s>(base: Option<&'s State>, ours: &'s State, theirs: &State) -> Option<&'s State> {
    let is_sealed_so = |state: &State| state.seal.is_some() && state.seal == theirs.seal;
    match base {
        Some(base) if is_sealed_so(base) => Some(base),
        _ if is_sealed_so(ours) => Some(ours),
        _ if theirs.seal.is_none() && theirs.serial == ours.serial => Some(ours),
        base => base,
    }
}

/// Fields that identify the file are the program's alone. Unknown keys beside them are the person's.
fn head(sides: &Sides<'_>, trees: &mut Trees, merged: &mut State) {
    let (ours, theirs) = (sides.ours, sides.theirs);
    let is_ahead = theirs.serial > ours.serial && !is_out_of_reach(theirs.serial, ours.serial);
    merged.serial = if is_ahead && sides.base.is_none() { theirs.serial } else { ours.serial };
    merged.lineage = ours.lineage.clone();
    merged.seal = ours.seal.clone();
    if sides.base.is_some_and(|base| base.version == theirs.version) {
        merged.version = ours.version;
    }
    if let Some(base) = sides.base {
        if base.serial != theirs.serial {
            trees.program("/internal/serial", Some(Node::uint(theirs.serial.0)));
        }
        if base.seal != theirs.seal {
            let seal = theirs.seal.as_ref();
            trees.program("/internal/seal", seal.map(|seal| Node::string(seal.as_str())));
        }
    }
    if ours.lineage != theirs.lineage {
        trees.program("/internal/lineage", Some(Node::string(theirs.lineage.as_str())));
    }
    plan_taken(sides, trees, merged);
    merged.extra = trees.extra(sides.each(|state| &state.extra), "");
    merged.work_graph_extra =
        trees.extra(sides.each(|state| &state.work_graph_extra), "/work_graph");
}

/// The plan that was taken in last is a fact; the next one is compared with it.
fn plan_taken(sides: &Sides<'_>, trees: &mut Trees, merged: &mut State) {
    merged.plan.clone_from(&sides.ours.plan);
    let theirs = sides.theirs.plan.as_deref();
    let is_as_in = |state: &State| tree::same(state.plan.as_deref(), theirs);
    if !is_as_in(sides.ours) && !sides.base.is_some_and(is_as_in) {
        trees.program("/internal/plan", theirs.cloned());
    }
}

/// The kind of workspace is fixed by the first start: the files of one kind do not exist in another.
fn keep_workspace(sides: &Sides<'_>, trees: &mut Trees, merged: &mut State) {
    let ours = &sides.ours.objective.constraints;
    let wanted = merged.objective.constraints.workspace();
    if sides.ours.run.id.is_none() || wanted == ours.workspace() {
        return;
    }
    let wanted = Node::string(wanted.word());
    trees.program("/objective/constraints/workspace", Some(wanted));
    Arc::make_mut(&mut merged.objective).constraints.workspace = ours.workspace;
}

/// Merges the objective and the control record, which are the person's.
fn records(sides: &Sides<'_>, trees: &mut Trees, merged: &mut State) {
    let rule = tree::rules((Objective::RULE.fields)());
    let nodes = sides.each(|state| state.objective.node());
    let node = trees.record(nodes.each_ref().map(Option::as_ref), "/objective", rule);
    let read = node.and_then(|node| tree::read(&node, Objective::read));
    // A merge of two valid records can always be read; were it not so, the person's stands.
    merged.objective = read.map_or_else(|| Arc::clone(&sides.theirs.objective), Arc::new);
    keep_workspace(sides, trees, merged);
    let nodes = sides.each(|state| state.control.node());
    let node = trees.record(nodes.each_ref().map(Option::as_ref), "/control", |_| Rule::EDIT);
    let read = node.and_then(|node| tree::read(&node, Control::read));
    merged.control = read.map_or_else(|| Arc::clone(&sides.theirs.control), Arc::new);
}

fn make_valid(sides: &Sides<'_>, trees: &mut Trees, merged: &mut MergeOutcome) {
    if validate::check_made(&merged.state).is_empty() {
        return;
    }
    put_back(sides, trees, merged);
    if validate::check_made(&merged.state).is_empty() {
        return;
    }
    graph_of_ours(sides, trees, merged);
    if !validate::check_made(&merged.state).is_empty() {
        limits_of_ours(sides, trees, &mut merged.state);
    }
}

/// Brings back an atom that one side took out and the other came to need.
fn put_back(sides: &Sides<'_>, trees: &mut Trees, merged: &mut MergeOutcome) {
    let there = |id: &AtomId| {
        let mut sides = [sides.ours, sides.theirs].into_iter();
        sides.find_map(|state| AtomEntry::of(state, id))
    };
    // Each round restores an atom that no earlier round did.
    loop {
        let missing = missing(&merged.state).into_iter();
        let found: Vec<_> = missing.filter_map(|id| Some((there(&id)?, id))).collect();
        if found.is_empty() {
            return;
        }
        for (entry, id) in found {
            entry.place(&id, &mut merged.state);
            merged.removed.remove(&id);
            trees.program(&doc::pointer_push("/work_graph/atoms", id.as_str()), None);
        }
    }
}

/// Ids that are named but missing.
fn missing(state: &State) -> BTreeSet<AtomId> {
    let all = state.all_atoms();
    let named = all.values().flat_map(|atom| atom.depends_on.iter().chain(atom.kids()));
    named.filter(|id| !all.contains_key(id)).cloned().collect()
}

/// Takes the committed graph whole, and reports all differences of the edit.
fn graph_of_ours(sides: &Sides<'_>, trees: &mut Trees, merged: &mut MergeOutcome) {
    let base = sides.base.unwrap_or(sides.ours);
    let at = |id: &AtomId| doc::pointer_push("/work_graph/atoms", id.as_str());
    for (id, edited) in sides.theirs.all_atoms() {
        let edited = edited.node();
        let is_known = |state: &State| state.atom(id).is_some_and(|it| it.node() == edited);
        if !is_known(base) && !is_known(sides.ours) {
            trees.program(&at(id), Some(edited));
        }
    }
    for (id, binding) in sides.theirs.bindings.iter() {
        let edited = binding.node();
        let is_known = |state: &State| state.bindings.get(id).is_some_and(|it| it.node() == edited);
        if !is_known(base) && !is_known(sides.ours) {
            trees.program(&doc::pointer_push("/bindings", id.as_str()), Some(edited));
        }
    }
    let all = base.all_atoms().into_keys();
    let gone = all.filter(|id| sides.theirs.atom(id).is_none());
    gone.for_each(|id| trees.program(&at(id), None));
    merged.removed.clear();
    merged.state.atoms.clone_from(&sides.ours.atoms);
    merged.state.bindings.clone_from(&sides.ours.bindings);
    merged.state.order.clone_from(&sides.ours.order);
}

/// Takes the committed limits if the graph does not fit the edit's: its depth, its workspace.
fn limits_of_ours(sides: &Sides<'_>, trees: &mut Trees, state: &mut State) {
    let edited = state.objective.constraints.node();
    trees.program("/objective/constraints", Some(edited));
    let constraints = sides.ours.objective.constraints.clone();
    Arc::make_mut(&mut state.objective).constraints = constraints;
}
