//! Marks of atoms that a person should look at, and questions about them, for those who look at a run.

use alloc::{string::String, vec::Vec};
use serde::Serialize;

use crate::{
    id::AtomId,
    state::{Atom, AtomStatus, State, atom::AttentionCause},
};

/// A mark that asks a person to look at an atom: it decides nothing
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AttentionView {
    pub atom: AtomId,
    pub cause: AttentionCause,
    pub because: String,
}

/// Something that is unclear about a task, and the answer that is assumed
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UnclearView {
    pub atom: AtomId,
    pub question: String,
    /// Empty once a person has said something to the task.
    pub assume: String,
    /// Whether the task waits for a person's answer.
    pub waits: bool,
}

/// All marks, in the order of the atoms.
pub fn marks(state: &State) -> Vec<AttentionView> {
    let all = state.all_atoms().into_iter();
    all.filter_map(|(id, atom)| mark(id, atom)).collect()
}

pub(super) fn mark(id: &AtomId, atom: &Atom) -> Option<AttentionView> {
    let mark = atom.task()?.attention.as_ref()?;
    Some(AttentionView { atom: id.clone(), cause: mark.because, because: mark.text.clone() })
}

/// All questions, in the order of the atoms.
pub fn questions(state: &State) -> Vec<UnclearView> {
    let all = state.all_atoms().into_iter();
    all.flat_map(|(id, atom)| of_atom(state, id, atom)).collect()
}

pub(super) fn of_atom(state: &State, id: &AtomId, atom: &Atom) -> Vec<UnclearView> {
    let Some(task) = atom.task() else {
        return Vec::new();
    };
    let is_open = !state.bindings.contains_key(id);
    let waits = is_open && task.status == AtomStatus::NeedsGuidance;
    let view = |one: &crate::state::atom::TaskQuestion| UnclearView {
        atom: id.clone(),
        question: one.question.clone(),
        assume: one.assume.clone(),
        waits,
    };
    task.questions.iter().map(view).collect()
}
