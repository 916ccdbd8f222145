//! Makes typed changes on a state. Their consequences are drawn afterwards (`draft`).

use alloc::{sync::Arc, vec::Vec};

use super::{Change, ChangeRefusal, ConstraintChange, start};
use crate::state::limits;
use crate::{
    id::AtomId,
    state::{Atom, Body, Constraints, State, fields::Findings},
};

/// Gives the number of changes that were made here.
pub(super) fn set(state: &mut State, changes: &[Change<'_>]) -> Result<usize, ChangeRefusal> {
    let mut made = constraints(state, changes)?;
    for change in changes {
        made += usize::from(one(state, change)?);
    }
    Ok(made)
}

/// All of them at once, since they may be valid only together.
fn constraints(state: &mut State, changes: &[Change<'_>]) -> Result<usize, ChangeRefusal> {
    let changes = changes.iter().filter_map(|change| {
        let Change::Constraint(change) = change else {
            return None;
        };
        Some(change)
    });
    let changes: Vec<&ConstraintChange> = changes.collect();
    let made = changes.len();
    if made == 0 {
        return Ok(0);
    }
    let before = &state.objective.constraints;
    let after = constraints_with(before, changes)?;
    if state.run.id.is_some() && after.workspace() != before.workspace() {
        return Err(ChangeRefusal::WorkspaceIsFixed);
    }
    Arc::make_mut(&mut state.objective).constraints = after;
    Ok(made)
}

/// Constraints with changes applied; the last change of a key counts.
pub fn constraints_with<'c>(
    constraints: &Constraints,
    changes: impl IntoIterator<Item = &'c ConstraintChange>,
) -> Result<Constraints, ChangeRefusal> {
    let mut node = constraints.node();
    for change in changes {
        node = limits::with(&node, &change.key, change.value.clone());
    }
    let read = Constraints::read(&node, "", &mut Findings::default());
    read.ok_or(ChangeRefusal::Unreadable)
}

/// Whether it is a change of this kind.
fn one(state: &mut State, change: &Change<'_>) -> Result<bool, ChangeRefusal> {
    match change {
        Change::Objective(objective) => {
            let mut objective = (**objective).clone();
            objective.constraints = state.objective.constraints.clone();
            state.objective = Arc::new(objective);
        }
        Change::Atom(id, Some(atom)) => match state.bindings.get_mut(id) {
            Some(binding) => Arc::make_mut(binding).of = Arc::clone(atom),
            None => drop(state.atoms.insert(id.clone(), Arc::clone(atom))),
        },
        Change::Atom(id, None) | Change::Removal(id) => {
            state.atoms.remove(id);
            state.bindings.remove(id);
        }
        Change::Choice(group, to) => {
            let atom = atom_mut(state, group)?;
            if let Body::Any { selected, .. } = &mut atom.body {
                selected.clone_from(to);
            }
        }
        Change::Binding(id, Some(binding)) => {
            state.atoms.remove(id);
            state.bindings.insert(id.clone(), Arc::clone(binding));
        }
        Change::Binding(id, None) => {
            let result = state.bindings.remove(id);
            state.atoms.extend(result.map(|result| (id.clone(), Arc::clone(&result.of))));
        }
        Change::Plan(plan) => state.plan = Some(Arc::clone(plan)),
        Change::Start(start) => start::set(state, start),
        Change::Guidance(id, words) => {
            if let Some(task) = atom_mut(state, id)?.task_mut() {
                Arc::make_mut(&mut task.spec).guidance.clone_from(words);
            }
        }
        Change::Status(id, status) => {
            if let Some(task) = atom_mut(state, id)?.task_mut() {
                task.status = status.clone();
            }
        }
        Change::Constraint(_)
        | Change::Retry(_)
        | Change::Unblock(_)
        | Change::Answer(_)
        | Change::Resolution(..)
        | Change::Undo(_) => {
            return Ok(false);
        }
    }
    Ok(true)
}

/// An atom where it stands: by itself, or in its result.
pub(super) fn atom_mut<'s>(
    state: &'s mut State,
    id: &AtomId,
) -> Result<&'s mut Atom, ChangeRefusal> {
    if let Some(atom) = state.atoms.get_mut(id) {
        return Ok(Arc::make_mut(atom));
    }
    match state.bindings.get_mut(id) {
        Some(binding) => Ok(Arc::make_mut(&mut Arc::make_mut(binding).of)),
        None => Err(ChangeRefusal::NoAtom(id.clone())),
    }
}
