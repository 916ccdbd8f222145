//! Checks the form of a fragment: everything that needs no other part of the graph.

use alloc::{
    borrow::ToOwned,
    collections::BTreeMap,
    format,
    string::{String, ToString},
    vec::Vec,
};

use super::FragmentRequest;
use crate::state::limits::FRAGMENT_ATOMS_MAX;
use crate::{
    doc::{self, Fault, Node, Span},
    graph::validate,
    id::{AtomId, Lineage},
    law::blocks::{self, BlockedProposal},
    plan::{self, PlanReading},
    state::{Atom, FailureClass, State, TryEnd},
};

/// Words that are true of a state and of no answer.
pub(super) const KEPT_AS_IT_IS: &str = ", kept as it is";
/// Keys of an atom that only a person writes.
pub(super) const PERSONS: &[&str] = &["agent", "guidance", "interruptible"];

pub(super) fn fault(
    rule: &'static str,
    pointer: &str,
    message: String,
    hint: Option<&str>,
) -> Fault {
    Fault {
        span: Span::default(),
        pointer: pointer.to_owned(),
        rule,
        message,
        hint: hint.map(ToOwned::to_owned),
    }
}

/// Checks the keys at the top, and those that a planner may not write.
pub(super) fn check(node: &Node) -> Vec<Fault> {
    let Some(members) = node.as_object() else {
        let message = format!("expected an object with `atoms`, found {}", node.kind_name());
        return Vec::from([fault("wrong-type", "", message, None)]);
    };
    let mut faults = Vec::new();
    for member in members {
        let at = doc::pointer_push("", &member.key);
        match member.key.as_str() {
            "atoms" => faults.extend(plan::keys_of_others(&member.node, &at, PERSONS)),
            "reasoning" if member.node.as_str().is_none() => {
                let message = format!("expected a string, found {}", member.node.kind_name());
                faults.push(fault("wrong-type", &at, message, None));
            }
            "reasoning" | "notes" => {}
            key => {
                let message = format!("unknown key `{key}`");
                let hint = doc::did_you_mean(key, ["atoms", "reasoning"]);
                faults.push(fault("unknown-key", &at, message, hint.as_deref()));
            }
        }
    }
    if node.get("atoms").is_none() {
        let message = "the key `atoms` is missing".to_owned();
        faults.push(fault("missing-key", "", message, None));
    }
    faults
}

/// The faults of reading the atoms, and of comparing them with each other.
pub(super) fn faults_of(plan: &PlanReading, asked: FragmentRequest<'_>) -> Vec<Fault> {
    let mut faults = plan.faults.clone();
    // Nobody reads a warning here, and a mistyped key means a missing dependency or check.
    faults.extend(plan.warnings.iter().cloned());
    faults.extend(plan.atoms.iter().filter_map(|(id, atom)| too_slow(id, atom, asked.state)));
    let atoms = plan.atoms.iter();
    faults.extend(atoms.filter_map(|(id, atom)| too_much_context(id, atom, asked.state)));
    if let Some(root) = &plan.root {
        let state = alone(plan, asked);
        let mut found = validate::check(&state, root);
        plan.written.put_back(&mut found);
        faults.extend(found);
    }
    for fault in &mut faults {
        fault.message = fault.message.replace(KEPT_AS_IT_IS, "");
        fault.pointer = own_pointer(&fault.pointer).to_string();
        if fault.rule == "unknown-atom" {
            fault.hint = Some(hint_of_stranger(fault, asked));
        }
    }
    faults
}

/// An atom that takes more time than the agreement gives an attempt.
pub(super) fn too_slow(id: &AtomId, atom: &Atom, state: &State) -> Option<Fault> {
    let most = state.objective.constraints.attempt_timeout();
    let timeout = atom.task()?.spec.timeout.as_ref()?;
    let at = doc::pointer_push(&doc::pointer_push("/work_graph/atoms", id.as_str()), "timeout");
    let message =
        format!("{} is more than the {} that an attempt has", timeout.as_str(), most.as_str());
    (timeout.ms > most.ms).then(|| fault("too-slow", &at, message, Some("plan smaller steps")))
}

/// A step whose planner would be told more than the agreement allows.
fn too_much_context(id: &AtomId, atom: &Atom, state: &State) -> Option<Fault> {
    let most = state.objective.constraints.planning.context().chars();
    let chars = atom.plan()?.context.as_ref()?.chars?;
    let at = ["work_graph", "atoms", id.as_str(), "context", "chars"];
    let at = at.iter().fold(String::new(), |at, key| doc::pointer_push(&at, key));
    let message = format!("{chars} characters are more than the {most} that a planner is told");
    let hint = "leave it out: the step has as many then";
    (chars > most).then(|| fault("context", &at, message, Some(hint)))
}

/// The faults of what the control law blocks, at the places that the planner gave.
pub(super) fn blocked(
    state: &State,
    atoms: &BTreeMap<AtomId, Atom>,
    names: &BTreeMap<AtomId, AtomId>,
) -> Vec<Fault> {
    let refused = blocks::refused(state, atoms).into_iter();
    refused.map(|one| refusal(one, names)).collect()
}

/// A part that may not come again, at the place that the planner gave.
pub(super) fn refusal(one: BlockedProposal, names: &BTreeMap<AtomId, AtomId>) -> Fault {
    let proposed = |own: &AtomId| {
        let known = names.iter().find(|(_, known)| *known == own);
        known.map_or_else(|| own.clone(), |(id, _)| id.clone())
    };
    let id = one.atom.as_ref().map(proposed);
    let at = id.map_or_else(|| "/atoms".to_owned(), |id| doc::pointer_push("/atoms", id.as_str()));
    fault("blocked", &at, one.message, Some(one.hint))
}

/// Whether the work of an attempt was wrong.
pub(super) fn has_failed_logically(atom: &Atom) -> bool {
    let tries = atom.task().map_or(&[][..], |task| &task.tries);
    let mut ends = tries.iter().filter_map(|tried| tried.ended.as_ref());
    ends.any(|end| matches!(end, TryEnd::Failed(FailureClass::Logical)))
}

/// The place in the planner's output for a place in the plan that it was read as.
pub(super) fn own_pointer(pointer: &str) -> &str {
    pointer.strip_prefix("/work_graph").unwrap_or(pointer)
}

fn hint_of_stranger(fault: &Fault, asked: FragmentRequest<'_>) -> String {
    let named = fault.message.split('`').nth(1).unwrap_or_default();
    match asked.state.atom(&AtomId::new(named)) {
        Some(_) => {
            "a fragment names its own atoms alone: what its step waited for is done before".into()
        }
        None => fault.hint.clone().unwrap_or_else(|| "name an atom of the fragment".into()),
    }
}

/// The fragment as a graph of its own. Its depth is checked later.
fn alone(plan: &PlanReading, asked: FragmentRequest<'_>) -> State {
    let mut objective = (*asked.state.objective).clone();
    objective.constraints.planning.depth = Some(u32::MAX);
    objective.base_case = None;
    let atoms = plan.atoms.iter();
    let atoms = atoms.map(|(id, atom)| (id.clone(), alloc::sync::Arc::new(atom.clone())));
    let mut state = crate::plan::read(b"{}").into_state(Lineage::new(""));
    state.objective = alloc::sync::Arc::new(objective);
    for (id, atom) in atoms {
        state.atoms.insert(id, atom);
    }
    state
}

/// Checks the number of atoms, in this fragment and in total.
pub(super) fn count(atoms: usize, asked: FragmentRequest<'_>) -> Vec<Fault> {
    let constraints = &asked.state.objective.constraints;
    let mut faults = Vec::new();
    let mut limit = |most: usize, message: String, hint| {
        if atoms > most {
            faults.push(fault("too-many-atoms", "/atoms", message, Some(hint)));
        }
    };
    let of_one = FRAGMENT_ATOMS_MAX as usize;
    limit(
        of_one,
        format!("{atoms} atoms, the limit of a fragment is {of_one}"),
        "plan in larger steps, or leave a part to a planning step of its own",
    );
    let before = usize::try_from(asked.graph.planned(asked.state)).unwrap_or(usize::MAX);
    let of_all = constraints.planning.atoms() as usize;
    limit(
        of_all.saturating_sub(before),
        format!("{atoms} atoms after {before} that were planned before: the limit is {of_all}"),
        "plan in larger steps",
    );
    if atoms == 0 {
        let message = "a fragment without atoms".to_owned();
        let hint = "name what is to be done; nothing to do is a task that does nothing";
        faults.push(fault("empty-fragment", "/atoms", message, Some(hint)));
    }
    faults
}
