//! Opens atoms again after a person's change: a raised limit, a status, another goal, another start.
//!
//! Invariant: no effect outside of the tree is repeated for another start. Not here: which results still apply (the loop
//! finds out when it rebuilds).

use super::{
    between,
    corrections::{lists, names},
    draft::{Draft, GRAPH_REOPENED},
};
use crate::doc::prelude::*;
use crate::{
    id::{AtomId, CommitId},
    state::{
        Atom, AtomStatus, Binding, Constraints, State, Task, Try, TryEnd, record::CorrectionType,
    },
};

impl Draft<'_> {
    /// Opens what ended by a limit that was raised since. If the old limits are unknown, opens whatever has budget left
    /// under the present ones.
    pub(super) fn open_within_limits(&mut self, before: Option<&Constraints>) {
        let now = self.state.objective.constraints.clone();
        let has_attempts = self.reopen_failed(|_, (tried, is_action)| {
            let most = |constraints: &Constraints| constraints.max_attempts(is_action);
            tried >= before.map_or(0, most) && tried < most(&now)
        });
        if has_attempts {
            self.follows("what a raised limit had ended is open again");
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
    pub(super) fn guidance_changed(&mut self, before: &State, changes: &[(AtomId, Vec<String>)]) {
        let mut said: BTreeMap<String, Vec<&AtomId>> = BTreeMap::new();
        let (mut guided, mut has_results) = (Vec::new(), false);
        for (id, words) in changes {
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
        self.follows_for("tried anew with these words", &guided);
        if has_results {
            self.follows(GRAPH_REOPENED);
        }
        let text = |(words, ids): (&String, &Vec<&AtomId>)| format!("{}: {words}", names(ids));
        let text = said.iter().map(text).collect::<Vec<String>>().join("; ");
        self.correct(CorrectionType::Guidance, text);
    }

    /// Forgets failures. `is_alone` if no other change counted the pass.
    pub(super) fn retry(&mut self, mut retried: Vec<AtomId>, is_alone: bool) {
        retried.dedup();
        retried.retain(|id| {
            let atom = self.state.atoms.get_mut(id);
            let Some(task) = atom.and_then(|atom| Arc::make_mut(atom).task_mut()) else {
                return false;
            };
            // A person is still asked about a doubt.
            if matches!(task.status, AtomStatus::InDoubt(_)) {
                return false;
            }
            let has_failed = task.tries.iter().any(Try::has_failed)
                || matches!(task.status, AtomStatus::NeedsGuidance);
            let was = core::mem::replace(&mut task.status, AtomStatus::Pending);
            open(task, &was);
            has_failed
        });
        let known = self.corrections();
        let texts = lists(&[("to be tried again:", retried.iter().collect())]);
        self.correct_all(CorrectionType::Resolution, texts);
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
                self.status_gives_way(id, word);
                return false;
            }
        }
        true
    }
}

/// Failures count no more, nor questions that nobody answered: those that ended a context, and those after which a task waited for guidance.
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
    if waited {
        task.questions.retain(|one| !one.assume.is_empty());
    }
}

/// Digits of a commit that tell it apart.
const COMMIT_CHARS: usize = 12;

impl Draft<'_> {
    pub(super) fn start_changed(&mut self, before: &State) {
        if !between::is_other_start(before, &self.state) {
            return;
        }
        let start = before.run.started_from.as_ref();
        let earlier = start.map(|start| start.commit.clone());
        let carried = "what is solved is carried onto the new start where it applies, and made again where not";
        self.follows(carried);
        self.reopen_all();
        let outside = self.move_records(earlier.as_ref());
        self.follows_for("not made again, for it happened outside", &outside);
        let (from, to) = (short(before), short(&self.state));
        let what = format!("the start moved from {from} to {to}");
        self.correct(CorrectionType::StartChange, what);
    }

    /// A failure is true of the trees that setup, links and variables made.
    pub(super) fn trees_changed(&mut self, before: &State) {
        let (old, new) = (&before.objective.constraints, &self.state.objective.constraints);
        if old.setup == new.setup && old.link == new.link && old.env == new.env {
            return;
        }
        self.reopen_all();
    }

    /// Opens every failed atom, and takes the refutations out of the trail: both are true of earlier trees alone.
    fn reopen_all(&mut self) {
        let trail = &mut self.state.trail;
        let has_refuted = trail.iter().any(|entry| entry.refuted().is_some());
        if has_refuted {
            trail.retain(|entry| entry.refuted().is_none());
        }
        if self.reopen_failed(|_, _| true) || has_refuted {
            self.follows("every failed atom is open again, and no selection counts as refuted");
        }
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
