//! An edit that began at an older state is merged, record by record, into what was committed last.

use alloc::{
    collections::BTreeSet,
    string::{String, ToString},
    sync::Arc,
    vec::Vec,
};

use crate::{
    doc::{self, Node},
    id::AtomId,
    state::{Correction, Run, State},
};

/// A place where both the person and the loop changed something since the edit began.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clash {
    pub pointer: String,
    pub message: String,
}

/// Merges an edit, record by record, into what was committed last.
///
/// `base` is the state that the person started from, `ours` the newest committed one; `None` where it is not kept any
/// more. A record that only one of the two changed is taken from that one; the run's own records are the program's.
pub fn merge(
    base: Option<&State>,
    ours: Option<&State>,
    theirs: &State,
) -> Result<State, Vec<Clash>> {
    let Some(ours) = ours else {
        return Ok(theirs.clone());
    };
    let Some(base) = base else {
        return if theirs.serial == ours.serial {
            Ok(keep_facts(ours, theirs, ours.corrections.len()))
        } else {
            Err(unknown_base(theirs))
        };
    };
    let mut clashes = Vec::new();
    let mut merged = keep_facts(ours, theirs, base.corrections.len());
    let pick =
        |name: &str, base: String, ours: String, theirs: String, clashes: &mut Vec<Clash>| {
            if theirs != base && ours != base && ours != theirs {
                clashes.push(Clash {
                    pointer: name.to_string(),
                    message: "changed by the edit and by the loop since the edit began".to_string(),
                });
            }
            theirs == base
        };
    let text = |node: Node| doc::canonical(&node);
    if pick(
        "/objective",
        text(base.objective.node()),
        text(ours.objective.node()),
        text(theirs.objective.node()),
        &mut clashes,
    ) {
        merged.objective = Arc::clone(&ours.objective);
    }
    if pick(
        "/control",
        text(base.control.node()),
        text(ours.control.node()),
        text(theirs.control.node()),
        &mut clashes,
    ) {
        merged.control = Arc::clone(&ours.control);
    }
    let ids: BTreeSet<&AtomId> = [base, ours, theirs]
        .into_iter()
        .flat_map(|state| state.atoms.keys().chain(state.bindings.keys()))
        .collect();
    for id in ids {
        let place = |state: &State| {
            let atom = state
                .atoms
                .get(id)
                .map(|atom| text(atom.node()))
                .unwrap_or_default();
            let binding = state
                .bindings
                .get(id)
                .map(|binding| text(binding.node()))
                .unwrap_or_default();
            atom + "\n" + &binding
        };
        let pointer = doc::pointer_push("/work_graph/atoms", id.as_str());
        if pick(
            &pointer,
            place(base),
            place(ours),
            place(theirs),
            &mut clashes,
        ) {
            take(&mut merged, ours, id);
        }
    }
    if clashes.is_empty() {
        Ok(merged)
    } else {
        Err(clashes)
    }
}

fn unknown_base(theirs: &State) -> Vec<Clash> {
    Vec::from([Clash {
        pointer: "/serial".to_string(),
        message: alloc::format!(
            "the edit began at serial {}, which is not kept any more",
            theirs.serial.0
        ),
    }])
}

/// The person's file with the program's own facts: run, trail, serial, lineage. Of the corrections the first `known`
/// stood there when the edit began.
fn keep_facts(ours: &State, theirs: &State, known: usize) -> State {
    let mut merged = theirs.clone();
    merged.run = Arc::new(notebook(&ours.run, &theirs.run));
    merged.trail.clone_from(&ours.trail);
    merged.serial = ours.serial;
    merged.lineage = ours.lineage.clone();
    let added: Vec<Arc<Correction>> = theirs.corrections.iter().skip(known).cloned().collect();
    merged.corrections.clone_from(&ours.corrections);
    merged.corrections.extend(added);
    merged
}

/// The loop's own notebook, with what the person wrote beside its facts.
fn notebook(ours: &Run, theirs: &Run) -> Run {
    let mut run = ours.clone();
    run.extra = theirs.extra.clone();
    run.spent.extra = theirs.spent.extra.clone();
    if let (Some(ours), Some(theirs)) = (&mut run.measure, &theirs.measure) {
        ours.extra = theirs.extra.clone();
    }
    if let (Some(ours), Some(theirs)) = (&mut run.started_from, &theirs.started_from) {
        ours.extra = theirs.extra.clone();
    }
    for placed in &mut run.line {
        if let Some(edited) = theirs.line.iter().find(|edited| *edited == placed) {
            placed.extra = edited.extra.clone();
        }
    }
    for intent in &mut run.in_flight {
        if let Some(edited) = theirs
            .in_flight
            .iter()
            .find(|edited| edited.id == intent.id)
        {
            intent.extra = edited.extra.clone();
        }
    }
    run
}

fn take(merged: &mut State, from: &State, id: &AtomId) {
    match from.atoms.get(id) {
        Some(atom) => drop(merged.atoms.insert(id.clone(), Arc::clone(atom))),
        None => drop(merged.atoms.remove(id)),
    }
    match from.bindings.get(id) {
        Some(binding) => drop(merged.bindings.insert(id.clone(), Arc::clone(binding))),
        None => drop(merged.bindings.remove(id)),
    }
}
