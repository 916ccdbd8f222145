//! Takes tasks out of a plan, with their place in the group or plan that they are a part of.
//!
//! Invariant: nothing that stays waits for what goes, and no group or plan is left without a part. Not here: which task
//! may go (`delta`).

use alloc::{collections::BTreeMap, format, string::String, vec::Vec};

use super::{AcceptedDelta, DeltaRequest};
use crate::{
    doc::Fault,
    fragment::form::fault,
    id::AtomId,
    state::{Atom, Body},
};

/// Takes the tasks out of their parents.
pub(super) fn take_out(
    asked: DeltaRequest<'_>,
    removed: &BTreeMap<AtomId, String>,
    taken: &mut AcceptedDelta,
) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (id, at) in removed {
        let parent = asked.graph.ix(id).and_then(|x| asked.graph.above(x).next());
        let Some(parent) = parent.map(|x| asked.graph.id(x)) else {
            continue;
        };
        let known = asked.state.atom(parent).map(|atom| Atom::clone(atom));
        let known = taken.atoms.get(parent).cloned().or(known);
        let Some(mut atom) = known else { continue };
        match without(&mut atom, id) {
            Ok(()) => {
                taken.atoms.insert(parent.clone(), atom);
            }
            Err(why) => {
                let message = format!("`{id}` {why} `{parent}`");
                let hint = Some("change it instead");
                faults.push(fault("not-to-remove", at, message, hint));
            }
        }
    }
    faults.extend(waited_for(asked, removed, taken));
    faults
}

fn without(parent: &mut Atom, id: &AtomId) -> Result<(), &'static str> {
    let kids = match &mut parent.body {
        Body::Task(_) => return Ok(()),
        // Its first part is what a plan is known by.
        Body::Plan(plan) => {
            let is_out = plan.remove_part(id);
            return is_out.then_some(()).ok_or("stands for the plan of");
        }
        Body::All { parts } => parts,
        Body::Any { choices, selected, .. } => {
            *selected = selected.take().filter(|one| one != id);
            choices
        }
    };
    kids.retain(|kid| kid != id);
    if kids.is_empty() { Err("is the last of") } else { Ok(()) }
}

/// Faults of tasks that something waits for that stays.
fn waited_for(
    asked: DeltaRequest<'_>,
    removed: &BTreeMap<AtomId, String>,
    taken: &AcceptedDelta,
) -> Vec<Fault> {
    let mut faults = Vec::new();
    let kept = asked.state.all_atoms();
    let kept = kept.iter().map(|(id, atom)| (*id, taken.atoms.get(*id).unwrap_or(atom)));
    let new = taken.added.iter();
    let new = new.filter_map(|id| Some((id, taken.atoms.get(id)?)));
    for (id, atom) in kept.chain(new).filter(|(id, _)| !removed.contains_key(*id)) {
        let target = atom.plan().and_then(|plan| plan.convergence_target.as_ref());
        for needed in atom.depends_on.iter().chain(target) {
            if let Some(at) = removed.get(needed) {
                let message = format!("`{id}` waits for `{needed}`");
                let hint = Some("change or take out what waits for it too");
                faults.push(fault("waited-for", at, message, hint));
            }
        }
    }
    faults
}
