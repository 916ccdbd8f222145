//! Opens atoms again after a person's edit: a raised limit, a status, another goal.

use alloc::{string::ToString, sync::Arc, vec::Vec};

use super::{Consequence, PersonEdit};
use crate::{
    doc,
    id::AtomId,
    state::{
        AtomStatus, Constraints, Extra, FailureClass, State, Task, Try, TryEnd, limits,
        record::{CorrectionType, LostValue, Winner},
    },
};

impl PersonEdit {
    pub(super) fn constraints(&mut self, before: &State) {
        let text = |state: &State| {
            let mut constraints = state.objective.constraints.clone();
            constraints.extra = Extra::default();
            doc::canonical(&constraints.node())
        };
        if text(before) == text(&self.state) {
            return;
        }
        self.kinds.push((
            CorrectionType::ConstraintChange,
            limits::difference(
                &before.objective.constraints,
                &self.state.objective.constraints,
            ),
        ));
        self.open_within_limits(Some(&before.objective.constraints));
    }

    /// Opens what ended by a limit that was raised since. If the old limits are unknown, opens whatever has budget left
    /// under the present ones.
    pub(super) fn open_within_limits(&mut self, before: Option<&Constraints>) {
        let now = self.state.objective.constraints.clone();
        let is_raised = |limit: fn(&Constraints) -> u32, used: u32| {
            used >= before.map_or(0, limit) && used < limit(&now)
        };
        let has_attempts = self.reopen_failed(|_, (tried, is_action)| {
            let limit = if is_action {
                |constraints: &Constraints| constraints.max_attempts(true)
            } else {
                |constraints: &Constraints| constraints.max_attempts(false)
            };
            is_raised(limit, tried)
        });
        let has_others = self.reopen_environmental(|task, tried| {
            // The repair that ended it was counted as well.
            let last = tried.repairs.checked_sub(1);
            let most = now.max_attempts(task.spec.action.is_some());
            let was_under_way = tried.attempts < most || tried.repairs > 0;
            let is_cut_off = task.interruptions > 0
                && was_under_way
                && is_raised(Constraints::max_interruptions, task.interruptions);
            is_cut_off || last.is_some_and(|last| is_raised(Constraints::max_repairs, last))
        });
        if has_attempts || has_others {
            self.effects.push(Consequence::LimitReopened);
        }
    }

    /// Opens contexts that ended for a reason outside the work, if `which` says so. They go on with the next repair, or
    /// with the attempt that was cut off.
    fn reopen_environmental(&mut self, which: impl Fn(&Task, &Try) -> bool) -> bool {
        let is_environmental = |tried: &Try| {
            matches!(
                tried.ended,
                Some(TryEnd::Failed(FailureClass::Environmental))
            )
        };
        let mut has_opened = false;
        for (_, atom) in self.state.atoms.iter_mut() {
            let Some(task) = atom.task() else { continue };
            let opens: Vec<bool> = task
                .tries
                .iter()
                .map(|tried| is_environmental(tried) && which(task, tried))
                .collect();
            if !opens.contains(&true) {
                continue;
            }
            let Some(task) = Arc::make_mut(atom).task_mut() else {
                continue;
            };
            for (tried, opens) in task.tries.iter_mut().zip(opens) {
                if opens {
                    tried.ended = None;
                }
            }
            task.status = AtomStatus::Pending;
            has_opened = true;
        }
        has_opened
    }

    /// Opens failed contexts for which `which` holds, given the atom and (attempts made, is a shell action). Returns
    /// whether there were any.
    pub(super) fn reopen_failed(&mut self, which: impl Fn(&AtomId, (u32, bool)) -> bool) -> bool {
        let mut has_opened = false;
        for (id, atom) in self.state.atoms.iter_mut() {
            let which = |tried| which(id, tried);
            let Some(task) = atom.task() else { continue };
            let is_action = task.spec.action.is_some();
            let opens = |tried: &Try| tried.has_failed() && which((tried.attempts, is_action));
            if !task.tries.iter().any(opens) {
                continue;
            }
            let Some(task) = Arc::make_mut(atom).task_mut() else {
                continue;
            };
            for tried in &mut task.tries {
                if tried.has_failed() && which((tried.attempts, is_action)) {
                    tried.ended = None;
                    tried.repairs = 0;
                    if tried.attempts > 0 && which((u32::MAX, is_action)) {
                        tried.attempts = 0;
                    }
                }
            }
            task.status = AtomStatus::Pending;
            has_opened = true;
        }
        has_opened
    }

    /// Retries a failed, invalid or doubtful atom that a person set to pending. Only the program decides whether an
    /// atom has come to its end: a status is no refutation.
    pub(super) fn statuses(&mut self, before: &State) {
        let (mut opened, mut asked) = (Vec::new(), Vec::new());
        for (id, atom) in self.state.atoms.iter_mut() {
            let before = before.atoms.get(id).and_then(|atom| atom.task());
            let (Some(old), Some(new)) = (before, atom.task()) else {
                continue;
            };
            if old.status == new.status {
                continue;
            }
            let (by_hand, word) = (new.status.clone(), atom.node().get("status").cloned());
            let Some(task) = Arc::make_mut(atom).task_mut() else {
                continue;
            };
            match by_hand {
                AtomStatus::Pending => {
                    open(task);
                    opened.push(id.to_string());
                }
                AtomStatus::InDoubt(_) => asked.push(id.to_string()),
                AtomStatus::Failed | AtomStatus::Invalid(_) | AtomStatus::NeedsGuidance => {
                    task.status = old.status.clone();
                    let lost = LostValue {
                        at: alloc::format!("/work_graph/atoms/{id}/status"),
                        kept: Winner::Program,
                        value: word,
                        extra: Extra::default(),
                    };
                    self.lost.push(lost);
                }
            }
        }
        for (what, ids) in [("to be tried again", opened), ("in doubt", asked)] {
            if !ids.is_empty() {
                self.kinds.push((
                    CorrectionType::Resolution,
                    alloc::format!("{what}: {}", ids.join(", ")),
                ));
            }
        }
    }
}

fn open(task: &mut Task) {
    let failed = |tried: &&mut Try| matches!(tried.ended, Some(TryEnd::Failed(_)));
    for tried in task.tries.iter_mut().filter(failed) {
        (tried.ended, tried.attempts, tried.repairs) = (None, 0, 0);
    }
}
