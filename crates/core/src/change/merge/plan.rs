//! Merges a plan that was edited into a state: base is the plan that was taken in last, ours the state, theirs the file.
//!
//! The file's own changes are taken from it; all else stays as the state has it. Only what the earlier plan named and
//! this one does not is taken out, with what a planner made below it.
//!
//! Not here: whether the outcome is valid, and what follows from it (`redirect`).

use super::tree::{self, Trees, same};
use crate::doc::prelude::*;
use crate::{
    doc::Node,
    id::AtomId,
    plan::{self, TakenPlan, Values},
    state::{
        Atom, Body, Check, Leaf, Objective, State,
        atom::atom_text::{ATOM, kind_of},
    },
};

/// A plan and a state as one.
pub(in crate::change) struct PlanMerge {
    pub(in crate::change) objective: Objective,
    /// The atoms that the file adds or changes.
    pub(in crate::change) atoms: BTreeMap<AtomId, Arc<Atom>>,
    pub(in crate::change) removed: BTreeSet<AtomId>,
    /// The order of the atoms in the file.
    pub(in crate::change) order: Arc<Vec<AtomId>>,
}

/// Without an earlier plan nothing is known to be removed: everything in the state then came from elsewhere.
pub(in crate::change) fn merge_plan(
    base: Option<TakenPlan>,
    ours: &State,
    theirs: &State,
) -> PlanMerge {
    let merging = Merging { base: &base.unwrap_or_else(TakenPlan::nothing), ours, theirs };
    let mut atoms = BTreeMap::new();
    for (id, wanted) in theirs.all_atoms() {
        if let Some(merged) = merging.atom(id, wanted) {
            atoms.insert(id.clone(), Arc::new(merged));
        }
    }
    let gone = merging.base.atoms();
    let gone = gone.filter(|id| theirs.atom(id).is_none() && ours.atom(id).is_some());
    let mut removed: BTreeSet<AtomId> = gone.collect();
    removed.extend(merging.orphans(&atoms, &removed));
    let order = theirs.settled_order();
    PlanMerge { objective: merging.objective(), atoms, removed, order }
}

struct Merging<'m> {
    base: &'m TakenPlan,
    ours: &'m State,
    theirs: &'m State,
}

impl Merging<'_> {
    fn objective(&self) -> Objective {
        let bare = |state: &State| {
            let mut objective = (*state.objective).clone();
            objective.base_case = objective.base_case.as_ref().map(Check::unmeasured);
            objective
        };
        let (ours, theirs) = (bare(self.ours), bare(self.theirs));
        let nodes = [ours.node(), theirs.node()];
        let rule = tree::rules((Objective::RULE.fields)());
        let merged = three(self.base.objective(), nodes, rule);
        let read = tree::read(&merged, Objective::read);
        // A merge of readable records can be read; were it not so, the file's stands.
        let mut merged = read.unwrap_or(theirs);
        let known = &self.ours.objective;
        if merged.raw_input.is_empty() {
            merged.raw_input.clone_from(&known.raw_input);
        }
        if let Some(check) = &mut merged.base_case {
            measure(check, &leaves_of(&known.base_case));
        }
        merged
    }

    /// An atom of the file; `None` where the state stays as it is.
    fn atom(&self, id: &AtomId, wanted: &Atom) -> Option<Atom> {
        let known = self.ours.atom(id);
        let merged = match known {
            Some(present) => self.both(id, present, wanted),
            // A person took it out since, and the file says of it what it said then.
            None if self.is_as_it_was(id, wanted) => return None,
            None => plan::unmeasured(wanted),
        };
        let mut merged = self.measured(merged, known);
        // A choice that the group no longer has is taken back.
        if let Body::Any { choices, selected, .. } = &mut merged.body {
            selected.take_if(|choice| !choices.contains(choice));
        }
        let is_other = known.is_none_or(|present| !is_same(present, &merged));
        is_other.then_some(merged)
    }

    fn is_as_it_was(&self, id: &AtomId, atom: &Atom) -> bool {
        let node = plan::unmeasured(atom).node();
        let digested = Values::default().digested(&node);
        same(self.base.atom(id), Some(&digested))
    }

    /// If one side changed the kind, all of that side is taken: the parts of a group mean nothing to a task.
    fn both(&self, id: &AtomId, ours: &Atom, theirs: &Atom) -> Atom {
        let [ours, theirs] = [ours, theirs].map(plan::unmeasured);
        let nodes = [&ours, &theirs].map(Atom::node);
        let base = self.base.atom(id);
        // Only a planning step says its kind, and the base holds digests of words.
        let kind = |node: &Node| (kind_of(node), node.get("kind").cloned());
        let [of_ours, of_theirs] =
            nodes.each_ref().map(|node| kind(&Values::default().digested(node)));
        if of_ours != of_theirs {
            let was = base.map(kind);
            return if was == Some(of_theirs) { ours } else { theirs };
        }
        let merged = three(base, nodes, tree::rules(ATOM.all_fields()));
        // A merge of two readable atoms of one kind can be read; were it not so, the file's stands.
        tree::read(&merged, Atom::read).unwrap_or(theirs)
    }

    /// The atom with the values that stand for `"baseline"` in the checks that it had already.
    fn measured(&self, mut atom: Atom, known: Option<&Arc<Atom>>) -> Atom {
        let known = known.and_then(|atom| atom.task());
        let mut leaves = known.map_or_else(Vec::new, |task| leaves_of(&task.spec.checks));
        leaves.extend(leaves_of(&self.ours.objective.base_case));
        if let Some(task) = atom.task_mut().filter(|task| task.spec.checks.is_some()) {
            let checks = Arc::make_mut(&mut task.spec).checks.as_mut();
            checks.into_iter().for_each(|check| measure(check, &leaves));
        }
        atom
    }

    /// Atoms that a planner made for a step which goes, or is no step any more.
    fn orphans(
        &self,
        atoms: &BTreeMap<AtomId, Arc<Atom>>,
        removed: &BTreeSet<AtomId>,
    ) -> BTreeSet<AtomId> {
        let goes = |id: &AtomId| {
            self.base.atom(id).is_none()
                && self.theirs.atom(id).is_none()
                && self.ours.atom(id).is_some_and(|atom| is_planned(atom))
        };
        let was_step = |id: &AtomId| self.ours.atom(id).is_some_and(|atom| atom.plan().is_some());
        let no_steps = atoms.iter().filter(|(id, atom)| was_step(id) && atom.plan().is_none());
        let tops = removed.iter().chain(no_steps.map(|(id, _)| id));
        let mut open: Vec<AtomId> = tops.cloned().collect();
        let mut found = BTreeSet::new();
        while let Some(id) = open.pop() {
            let kids = self.ours.atom(&id).map_or(&[][..], |atom| atom.kids());
            for kid in kids.iter().filter(|kid| goes(kid)) {
                if found.insert(kid.clone()) {
                    open.push(kid.clone());
                }
            }
        }
        found
    }
}

/// Merges two records of one kind with what the earlier plan said there.
fn three(base: Option<&Node>, nodes: [Node; 2], rule: impl Fn(&str) -> tree::Rule) -> Node {
    let mut values = Values::default();
    let [ours, theirs] = nodes.each_ref().map(|node| values.digested(node));
    // A plan that said nothing is a base too.
    let merged = Trees::new(true).record([base, Some(&ours), Some(&theirs)], "", rule);
    values.restored(&merged.unwrap_or(theirs))
}

fn is_planned(atom: &Atom) -> bool {
    let by = atom.origin.as_ref().and_then(|origin| origin.get("by"));
    by.and_then(Node::as_str) == Some("planner")
}

/// Whether two atoms say the same, whatever was tried or measured.
fn is_same(one: &Atom, other: &Atom) -> bool {
    let node = |atom: &Atom| plan::unmeasured(atom).node();
    same(Some(&node(one)), Some(&node(other)))
}

fn leaves_of(check: &Option<Check>) -> Vec<Check> {
    let leaves = check.iter().flat_map(Check::leaves);
    leaves.cloned().collect()
}

/// Gives each limit that says "baseline" the value that it has in the same leaf of `known`.
fn measure(check: &mut Check, known: &[Check]) {
    let has_baseline = |leaf: &&Check| {
        let rule = leaf.leaf().and_then(Leaf::number);
        rule.is_some_and(|rule| rule.has_baseline())
    };
    let written = check.clone();
    let leaves = written.leaves().into_iter().filter(has_baseline);
    for (rule, leaf) in check.baselines_mut().into_iter().zip(leaves) {
        let mut same = known.iter().filter(|known| known.unmeasured() == *leaf);
        let value = same.find_map(|known| known.leaf()?.number()?.baseline.clone());
        rule.baseline = value;
    }
}
