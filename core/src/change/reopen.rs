//! Opens atoms again after a person's edit: a raised limit, a status, another goal.

use alloc::{borrow::ToOwned, collections::BTreeMap, string::String, sync::Arc, vec::Vec};

use super::{Change, Consequence, draft::Draft};
use crate::{
    id::AtomId,
    state::{
        AtomStatus, Constraints, Extra, State, Task, Try, TryEnd,
        record::{CorrectionType, LostValue, Winner},
    },
};

impl Draft<'_> {
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
        if has_attempts {
            self.effects.push(Consequence::LimitReopened);
        }
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
                        tried.forget_failures();
                    }
                }
            }
            // A person is still asked about a doubt.
            if !matches!(task.status, AtomStatus::InDoubt(_)) {
                task.status = AtomStatus::Pending;
            }
            has_opened = true;
        }
        has_opened
    }

    /// Tries tasks anew that a person says something else to. Their context is another one by that.
    pub(super) fn guidance_changed(&mut self, before: &State, changes: &[Change<'_>]) {
        let mut said: BTreeMap<String, Vec<&AtomId>> = BTreeMap::new();
        let (mut guided, mut has_results) = (Vec::new(), false);
        for change in changes {
            let Change::Guidance(id, words) = change else {
                continue;
            };
            let atom = self.state.atoms.get_mut(id);
            if let Some(task) = atom.and_then(|atom| Arc::make_mut(atom).task_mut()) {
                if task.status == AtomStatus::NeedsGuidance {
                    task.status = AtomStatus::Pending;
                }
                // A person's words stand for what was assumed.
                for question in &mut task.questions {
                    question.assume.clear();
                }
                if !matches!(task.status, AtomStatus::InDoubt(_)) {
                    guided.push(id.clone());
                }
            } else {
                has_results = true;
            }
            let known = before.atom(id).and_then(|atom| atom.task());
            let known = known.map_or(&[][..], |task| &task.spec.guidance);
            let new = words.iter().filter(|word| !known.contains(word));
            let new: Vec<&str> = new.map(String::as_str).collect();
            let new =
                if new.is_empty() { "guidance taken out".to_owned() } else { new.join(" / ") };
            said.entry(new).or_default().push(id);
        }
        if said.is_empty() {
            return;
        }
        for ids in said.values() {
            ids.iter().for_each(|id| self.take_mark(id));
        }
        if !guided.is_empty() {
            self.effects.push(Consequence::Guided(guided));
        }
        if has_results {
            self.effects.push(Consequence::GraphReopened);
        }
        let texts = said.iter().map(|(words, ids)| {
            let ids: Vec<&str> = ids.iter().map(|id| id.as_str()).collect();
            alloc::format!("{}: {words}", ids.join(", "))
        });
        let text = texts.collect::<Vec<String>>().join("; ");
        self.correct(CorrectionType::Guidance, text);
    }

    /// Forgets failures, as changes ask for. `is_alone` if no other change counted the pass.
    pub(super) fn retry(&mut self, changes: &[Change<'_>], is_alone: bool) {
        let retried = changes.iter().filter_map(|change| {
            let Change::Retry(id) = change else {
                return None;
            };
            Some(id)
        });
        let mut retried: Vec<&AtomId> = retried.collect();
        retried.dedup();
        retried.retain(|id| {
            let atom = self.state.atoms.get_mut(*id);
            let Some(task) = atom.and_then(|atom| Arc::make_mut(atom).task_mut()) else {
                return false;
            };
            let has_failed = task.tries.iter().any(Try::has_failed)
                || matches!(task.status, AtomStatus::NeedsGuidance);
            let was = core::mem::replace(&mut task.status, AtomStatus::Pending);
            open(task, &was);
            has_failed
        });
        let known = self.corrections();
        let lists = [("to be tried again:", retried)];
        self.correct_atoms(CorrectionType::Resolution, &lists);
        if is_alone {
            self.count_pass(known);
        }
    }

    /// Takes a status that a person wrote. Gives false for one that only the program may write: the old one stays.
    pub(super) fn set_by_hand(&mut self, before: &State, id: &AtomId, status: &AtomStatus) -> bool {
        let old = before.atoms.get(id).and_then(|atom| atom.task());
        let (Some(old), Some(atom)) = (old, self.state.atoms.get_mut(id)) else {
            return false;
        };
        let word = atom.node().get("status").cloned();
        let Some(task) = Arc::make_mut(atom).task_mut() else {
            return false;
        };
        match status {
            AtomStatus::Pending => open(task, &old.status),
            AtomStatus::InDoubt(_) => {}
            AtomStatus::Failed | AtomStatus::Invalid(_) | AtomStatus::NeedsGuidance => {
                task.status = old.status.clone();
                self.lost.push(LostValue {
                    at: alloc::format!("/work_graph/atoms/{id}/status"),
                    kept: Winner::Program,
                    value: word,
                    extra: Extra::default(),
                });
                return false;
            }
        }
        true
    }
}

/// Failures count no more: those that ended a context, and those after which a task waited for guidance.
fn open(task: &mut Task, was: &AtomStatus) {
    let waited = *was == AtomStatus::NeedsGuidance;
    let counts = |tried: &&mut Try| match tried.ended {
        Some(TryEnd::Failed(_)) => true,
        Some(TryEnd::Parked(_)) => false,
        None => waited,
    };
    for tried in task.tries.iter_mut().filter(counts) {
        tried.forget_failures();
    }
}
