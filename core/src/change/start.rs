//! Another start: the person's tree moved on, and the result is made anew from there.
//!
//! Invariant: no effect outside of the tree is repeated for it. Not here: which results still apply (the loop finds out
//! when it rebuilds).

use alloc::{string::String, sync::Arc, vec::Vec};

use super::{Consequence, draft::Draft};
use crate::{
    id::{AtomId, CommitId},
    state::{Atom, AtomStatus, Binding, StartedFrom, State, Try, TryEnd, record::CorrectionType},
};

/// Digits of a commit that tell it apart.
const COMMIT_CHARS: usize = 12;

/// Puts the run on that start. The tree is the start's until the loop has rebuilt it.
pub(super) fn set(state: &mut State, start: &StartedFrom) {
    let run = Arc::make_mut(&mut state.run);
    run.head = Some(start.commit.clone());
    run.started_from = Some(start.clone());
    run.line = Default::default();
    run.delivered = None;
    // Verdicts are on trees of the earlier start: none of them may be delivered.
    run.verdicts = Default::default();
}

/// Whether both states have a start, and not the same one.
pub(super) fn is_other(before: &State, after: &State) -> bool {
    let (before, after) = (&before.run.started_from, &after.run.started_from);
    let both = before.as_ref().zip(after.as_ref());
    both.is_some_and(|(before, after)| before.commit != after.commit)
}

/// Takes the refutations out of the trail: they are true of their own start alone. Returns whether there were any.
pub(super) fn forget_refutations(state: &mut State) -> bool {
    let is_refuted = state.trail.iter().any(|entry| entry.refuted().is_some());
    if is_refuted {
        state.trail.retain(|entry| entry.refuted().is_none());
    }
    is_refuted
}

impl Draft<'_> {
    pub(super) fn start_changed(&mut self, before: &State) {
        if !is_other(before, &self.state) {
            return;
        }
        let start = before.run.started_from.as_ref();
        let earlier = start.map(|start| start.commit.clone());
        self.effects.push(Consequence::ResultCarried);
        let has_refuted = forget_refutations(&mut self.state);
        if self.reopen_failed(|_, _| true) || has_refuted {
            self.effects.push(Consequence::FailuresForgotten);
        }
        let outside = self.move_records(earlier.as_ref());
        if !outside.is_empty() {
            self.effects.push(Consequence::OutsideDone(outside));
        }
        let (from, to) = (short(before), short(&self.state));
        let what = alloc::format!("the start moved from {from} to {to}");
        self.correct(CorrectionType::StartChange, what);
    }

    /// Gives every repair back, and settles what happened outside of the tree. Gives the atoms of these.
    fn move_records(&mut self, earlier: Option<&CommitId>) -> Vec<AtomId> {
        let mut outside = Vec::new();
        for (_, atom) in self.state.atoms.iter_mut() {
            if needs_move(atom) {
                move_atom(Arc::make_mut(atom), earlier, 1);
            }
        }
        for (id, binding) in self.state.bindings.iter_mut() {
            let is_outside = is_outside(&binding.of);
            let binding = Arc::make_mut(binding);
            move_result(binding, is_outside, earlier);
            if needs_move(&binding.of) {
                move_atom(Arc::make_mut(&mut binding.of), earlier, 0);
            }
            if is_outside {
                outside.push(id.clone());
            }
        }
        outside
    }
}

fn short(state: &State) -> String {
    let start = state.run.started_from.as_ref();
    let digits = start.into_iter().flat_map(|start| start.commit.as_str().chars());
    digits.take(COMMIT_CHARS).collect()
}

fn is_outside(atom: &Atom) -> bool {
    atom.task().is_some_and(|task| !task.spec.effect.is_in_tree())
}

fn needs_move(atom: &Atom) -> bool {
    let touches = |tried: &Try| tried.repairs > 0 || matches!(tried.ended, Some(TryEnd::Parked(_)));
    atom.task().is_some_and(|task| task.tries.iter().any(touches))
}

/// `kept`: the repairs that tell of an open atom that it is under repair.
fn move_atom(atom: &mut Atom, earlier: Option<&CommitId>, kept: u32) {
    let is_outside = is_outside(atom);
    let Some(task) = atom.task_mut() else { return };
    let is_pending = task.status == AtomStatus::Pending;
    for tried in &mut task.tries {
        let kept = if is_pending && tried.ended.is_none() { kept } else { 0 };
        tried.repairs = tried.repairs.min(kept);
        if let Some(TryEnd::Parked(parked)) = &mut tried.ended {
            move_result(Arc::make_mut(parked), is_outside, earlier);
        }
    }
}

/// A change that was in the earlier start already is no commit of the result. An effect outside is not made again because
/// it was made from other results.
fn move_result(result: &mut Binding, is_outside: bool, earlier: Option<&CommitId>) {
    result.commit.take_if(|commit| Some(&*commit) == earlier);
    if is_outside {
        result.inputs = None;
    }
}
