//! The differences of two states, kind by kind. A difference of no kind decides nothing.

use crate::doc::prelude::*;
use alloc::borrow::Cow;

use super::ConstraintChange;
use crate::{
    doc,
    id::AtomId,
    state::{Atom, AtomStatus, Binding, Extra, State, limits},
};

/// Whether anything of the objective but its constraints is another.
pub(super) fn is_other_objective(before: &State, after: &State) -> bool {
    let bare = |state: &State| {
        let mut objective = (*state.objective).clone();
        objective.constraints = Default::default();
        objective.extra = Extra::default();
        doc::canonical(&objective.node().without_notes())
    };
    bare(before) != bare(after)
}

/// The constraints that every attempt works under: another one ends all of them. A group stands for all its keys.
const OF_EVERY_ATTEMPT: [&str; 6] = ["workspace", "protected", "link", "env", "setup", "warm"];

/// Whether the change concerns every attempt: what is asked for, where the run starts, or what its trees are made of.
pub(super) fn ends_all(before: &State, after: &State) -> bool {
    let is_of_all = |one: &ConstraintChange| {
        let group = one.key.split('.').next().unwrap_or_default();
        OF_EVERY_ATTEMPT.contains(&group)
    };
    is_other_objective(before, after)
        || is_other_start(before, after)
        || constraints(before, after).iter().any(is_of_all)
}

/// Whether both states have a start, and not the same one.
pub(super) fn is_other_start(before: &State, after: &State) -> bool {
    let (before, after) = (&before.run.started_from, &after.run.started_from);
    let both = before.as_ref().zip(after.as_ref());
    both.is_some_and(|(before, after)| before.commit != after.commit)
}

pub(super) fn constraints(before: &State, after: &State) -> Vec<ConstraintChange> {
    let nodes = [before, after].map(|state| state.objective.constraints.node());
    let rules = limits::all().into_iter();
    let changed = rules.filter_map(|rule| {
        let [old, new] = nodes.each_ref().map(|node| limits::at(node, &rule.key));
        let is_other = old.map(doc::canonical) != new.map(doc::canonical);
        is_other.then(|| ConstraintChange { key: rule.key, value: new.cloned() })
    });
    changed.collect()
}

/// Atoms with other results; `None` takes one out.
pub(super) fn bindings(before: &State, after: &State) -> Vec<(AtomId, Option<Arc<Binding>>)> {
    let ids = after.bindings.keys().chain(before.bindings.keys());
    let ids: BTreeSet<&AtomId> = ids.collect();
    let is_other = |id: &&AtomId| match (before.bindings.get(*id), after.bindings.get(*id)) {
        (Some(old), Some(new)) => {
            !Arc::ptr_eq(old, new) && old.result_digest() != new.result_digest()
        }
        (old, new) => old.is_some() != new.is_some(),
    };
    let changed = ids.into_iter().filter(is_other);
    changed.map(|id| (id.clone(), after.bindings.get(id).cloned())).collect()
}

/// The words to tasks that stand in both.
pub(super) fn guidance(before: &State, after: &State) -> Vec<(AtomId, Vec<String>)> {
    let old = before.all_atoms();
    let changed = after.all_atoms().into_iter().filter_map(|(id, atom)| {
        let was = &old.get(id)?.task()?.spec.guidance;
        let is = &atom.task()?.spec.guidance;
        (was != is).then(|| (id.clone(), is.clone()))
    });
    changed.collect()
}

/// Atoms that differ. Words of a person to an atom are no change of it.
pub(super) fn graph(before: &State, after: &State) -> Vec<AtomId> {
    let (old, new) = (before.all_atoms(), after.all_atoms());
    let ids: BTreeSet<&AtomId> = old.keys().chain(new.keys()).copied().collect();
    let is_other = |id: &&AtomId| match (old.get(*id), new.get(*id)) {
        (Some(was), Some(is)) => !Arc::ptr_eq(was, is) && shape(was) != shape(is),
        _ => true,
    };
    ids.into_iter().filter(is_other).cloned().collect()
}

/// Whether two records of an atom differ in known keys, beside what was tried and a person's words to it.
pub(super) fn other_keys(was: &Atom, is: &Atom) -> bool {
    let bare = |atom: &Atom| {
        let mut bare = atom.clone();
        bare.extra = Extra::default();
        if let Some(task) = bare.task_mut() {
            task.tries.clear();
            (task.interruptions, task.status) = (0, AtomStatus::Pending);
            Arc::make_mut(&mut task.spec).guidance.clear();
        }
        doc::canonical(&bare.node().without_notes())
    };
    bare(was) != bare(is)
}

/// Everything of an atom that decides, but for a person's words to it.
fn shape(atom: &Atom) -> impl PartialEq + '_ {
    let mut bare = Cow::Borrowed(atom);
    if atom.task().is_some_and(|task| !task.spec.guidance.is_empty())
        && let Some(task) = bare.to_mut().task_mut()
    {
        Arc::make_mut(&mut task.spec).guidance.clear();
    }
    (bare.spec_digest(), &atom.depends_on, atom.kids(), atom.selected())
}

pub(super) fn statuses(before: &State, after: &State) -> Vec<(AtomId, AtomStatus)> {
    let changed = after.atoms.iter().filter_map(|(id, atom)| {
        let old = before.atoms.get(id)?.task()?;
        let new = atom.task()?;
        (old.status != new.status).then(|| (id.clone(), new.status.clone()))
    });
    changed.collect()
}
