//! A person's edit of the file becomes corrections (contract §8). A status that it writes is a wish, never a fact.

use super::{Adoption, MergeOutcome, draft::Draft, kinds::task_mut, redirect};
use crate::doc::prelude::*;
use crate::{
    difference,
    doc::Node,
    id::{AtomId, Serial, UnixMillis},
    state::{
        AtomStatus, Extra, ShownStatus, State,
        atom::binding::SKIPPED,
        record::{CorrectionType, LostValue, Winner},
    },
};

/// Records a person's changes and draws the consequences.
///
/// `before` is the last committed state, if it is known. Without it, only the fact of an edit can be recorded.
pub fn adopt(
    before: Option<&State>,
    merged: impl Into<MergeOutcome>,
    by: &str,
    now: UnixMillis,
) -> Adoption {
    let merged: MergeOutcome = merged.into();
    let mut draft = Draft::new(merged.state, by, now);
    draft.removed = merged.removed;
    draft.lost = merged.lost;
    match before {
        None => draft.follow_unknown(),
        Some(before) => draft.follow(before),
    }
    if draft.is_unchanged() && !draft.lost.is_empty() {
        let what = match describe_text(before, &draft.state, None) {
            what if what == AS_WRITTEN => "nothing of the edit is kept".into(),
            what => what,
        };
        draft.correct(CorrectionType::Resolution, what);
        draft.count_pass(0);
    }
    let text = if draft.is_unchanged() {
        describe_text(before, &draft.state, merged.saved_again)
    } else {
        draft.description()
    };
    draft.close(None, text)
}

/// Describes an edit that no correction stands for: a request, a remark, a summary, a count.
fn describe_text(before: Option<&State>, after: &State, saved_again: Option<Serial>) -> String {
    let requests = |state: &State| {
        let control = &state.control;
        (control.stop_requested, control.redirect_requested)
    };
    if before.is_some_and(|before| requests(before) != requests(after)) {
        return "a request by hand".to_string();
    }
    if let Some(Serial(old)) = saved_again {
        return format!(
            "nothing: serial {old} was saved again, and what came since stands (descent undo {old} goes back to it)"
        );
    }
    let changes = before.map(|before| difference::difference(before, after));
    let words = changes.as_deref().map(difference::words);
    match words.filter(|words| words != difference::NOTHING) {
        Some(words) => words,
        None => AS_WRITTEN.to_string(),
    }
}

/// The words for an edit without a difference.
const AS_WRITTEN: &str = "how the file is written, and nothing else";

impl Draft<'_> {
    /// Gives and takes the results that a status asks for. Returns the tasks that are to be tried again.
    pub(super) fn take_statuses(&mut self) -> Vec<AtomId> {
        let mut opened = Vec::new();
        for (id, status) in core::mem::take(&mut self.state.said) {
            match status {
                ShownStatus::Pending if self.state.bindings.contains_key(&id) => {
                    if let Some(result) = self.state.bindings.remove(&id) {
                        self.state.atoms.insert(id, Arc::clone(&result.of));
                    }
                }
                ShownStatus::Pending if is_task(&self.state, &id) => {
                    if let Some(task) = task_mut(&mut self.state, &id) {
                        task.status = AtomStatus::Pending;
                    }
                    opened.push(id);
                }
                ShownStatus::Resolved if self.skips(&id) => {}
                _ => self.status_gives_way(&id, Some(Node::string(status.word()))),
            }
        }
        opened
    }

    /// Keeps the program's status, and tells the one that was written.
    pub(super) fn status_gives_way(&mut self, id: &AtomId, written: Option<Node>) {
        self.lost.push(LostValue {
            at: format!("/work_graph/atoms/{id}/status"),
            kept: Winner::Program,
            value: written,
            extra: Extra::default(),
        });
    }

    /// Counts an open task as done without being done.
    fn skips(&mut self, id: &AtomId) -> bool {
        let atom = self.state.atoms.get(id).filter(|_| is_task(&self.state, id)).cloned();
        let is_in_doubt = |status: &AtomStatus| matches!(status, AtomStatus::InDoubt(_));
        let atom = atom.filter(|atom| !atom.task().is_some_and(|task| is_in_doubt(&task.status)));
        let binding =
            atom.and_then(|atom| redirect::binding(&self.state, id, atom, SKIPPED, &self.at));
        let Some(binding) = binding else {
            return false;
        };
        self.state.atoms.remove(id);
        self.state.bindings.insert(id.clone(), Arc::new(binding));
        true
    }
}

/// Whether it is open work, and no group or plan in force.
pub(super) fn is_task(state: &State, id: &AtomId) -> bool {
    let atom = state.atoms.get(id);
    atom.is_some_and(|atom| atom.task().is_some() && atom.kids().is_empty())
}
