//! The statuses that the file shows of atoms: of a group, what its members come to.
//!
//! Not here: the status of one open task (`atom::ends`).

use alloc::{collections::BTreeMap, vec::Vec};

use crate::{
    id::AtomId,
    state::{Atom, Body, ShownStatus, State},
};

/// The status that the file shows of each atom.
pub fn shown_statuses(state: &State) -> BTreeMap<AtomId, ShownStatus> {
    let groups = resolved_groups(state);
    let open = state.atoms.iter().map(|(id, atom)| {
        let of_group = groups.get(id).copied();
        (id.clone(), of_group.unwrap_or_else(|| ShownStatus::of_open(atom)))
    });
    let solved = state.bindings.keys().map(|id| (id.clone(), ShownStatus::Resolved));
    open.chain(solved).collect()
}

/// The groups all of whose needed members are resolved.
pub(super) fn resolved_groups(state: &State) -> BTreeMap<AtomId, ShownStatus> {
    let mut groups = BTreeMap::new();
    for (id, atom) in state.atoms.iter().filter(|(_, atom)| is_group(atom)) {
        let status = if is_resolved(state, atom, GROUPS_DEEP_MAX) {
            ShownStatus::Resolved
        } else {
            ShownStatus::of_open(atom)
        };
        groups.insert(id.clone(), status);
    }
    groups
}

/// More than groups nest in any graph that is admitted.
const GROUPS_DEEP_MAX: usize = 64;

fn is_group(atom: &Atom) -> bool {
    match &atom.body {
        Body::Task(_) => false,
        Body::Plan(plan) => plan.in_force().is_some(),
        Body::All { .. } | Body::Any { .. } => true,
    }
}

fn is_resolved(state: &State, atom: &Atom, deep: usize) -> bool {
    let member = |id: &AtomId| {
        let inner = state.atoms.get(id).filter(|inner| is_group(inner) && deep > 0);
        state.bindings.contains_key(id)
            || inner.is_some_and(|inner| is_resolved(state, inner, deep - 1))
    };
    match &atom.body {
        Body::Task(_) => false,
        Body::Plan(plan) => plan.in_force().is_some_and(|one| one.parts.iter().all(member)),
        Body::All { parts } => parts.iter().all(member),
        Body::Any { selected, .. } => selected.as_ref().is_some_and(member),
    }
}

/// The groups that are shown otherwise than before.
pub(super) fn changed_groups(
    before: &BTreeMap<AtomId, ShownStatus>,
    after: &BTreeMap<AtomId, ShownStatus>,
) -> Vec<AtomId> {
    let changed = after.iter().filter(|(id, status)| before.get(*id) != Some(*status));
    changed.map(|(id, _)| id.clone()).collect()
}
