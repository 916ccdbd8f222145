//! Describes the difference of one atom: its resolution, its intent, its tries.

use super::{Comparison, Weight, between, is_same, keys, of_result, same, short};
use crate::doc::prelude::*;
use crate::{
    doc::Node,
    id::AtomId,
    state::{Atom, AtomStatus, Binding, Body, PlanningStep, State, Task},
};

/// An atom in a state, with its result if it has one.
type AtomStand<'s> = (Option<&'s Arc<Binding>>, Option<&'s Arc<Atom>>);

fn is_same_stand(old: AtomStand<'_>, new: AtomStand<'_>) -> bool {
    match (old, new) {
        ((Some(old), _), (Some(new), _)) => is_same(old, new),
        ((None, Some(old)), (None, Some(new))) => is_same(old, new),
        (old, new) => old.0.is_none() && new.0.is_none() && old.1.is_none() && new.1.is_none(),
    }
}

impl<'s> Comparison<'s> {
    pub(super) fn atom(&mut self, id: &AtomId) {
        let stand = |state: &'s State| (state.bindings.get(id), state.atom(id));
        let (old, new) = (stand(self.before), stand(self.after));
        let known = self.found.len();
        if is_same_stand(old, new) {
            return;
        }
        self.standing(id, old, new);
        if let (None, Some(atom)) = new {
            self.status(id, old.1.map(AsRef::as_ref), atom);
        }
        if let (Some(old), Some(new)) = (old.1, new.1) {
            self.content(id, old, new);
        }
        if known == self.found.len() {
            self.note_of(id, Weight::Detail, "is written otherwise");
        }
    }

    fn standing(&mut self, id: &AtomId, old: AtomStand<'_>, new: AtomStand<'_>) {
        let by = |binding: &Binding| {
            if binding.is_by_person() { "solved by a person" } else { "solved" }
        };
        match (old, new) {
            ((_, None), (Some(binding), _)) => {
                self.note_of(id, Weight::Main, format!("added and {}", by(binding)));
            }
            ((_, None), _) => self.note_of(id, Weight::Main, "added"),
            (_, (_, None)) => self.note_of(id, Weight::Main, "removed"),
            ((None, _), (Some(binding), _)) => self.note_of(id, Weight::Main, by(binding)),
            // Its status tells more, unless it is to be made again.
            ((Some(_), _), (None, Some(atom))) => {
                let is_pending = |task: &Task| task.status == AtomStatus::Pending;
                if atom.task().is_none_or(is_pending) {
                    self.note_of(id, Weight::Main, "open again");
                }
            }
            ((Some(old), _), (Some(new), _)) => self.result(id, old, new),
            ((None, _), (None, _)) => {}
        }
    }

    fn result(&mut self, id: &AtomId, old: &Binding, new: &Binding) {
        if old.result_digest() != new.result_digest() {
            let what = format!("has another result: {}", of_result(Some(old), new));
            return self.note_of(id, Weight::Main, what);
        }
        let (was, is) = (old.parked_node(), new.parked_node());
        for key in keys(&was, &is) {
            if was.get(&key) != is.get(&key) {
                let what = format!("result: {}", between(&key, was.get(&key), is.get(&key)));
                self.note_of(id, Weight::Detail, what);
            }
        }
    }

    fn content(&mut self, id: &AtomId, old: &Atom, new: &Atom) {
        if let (Some(was), Some(is)) = (old.task(), new.task()) {
            self.tried(id, was, is);
        }
        if let (Some(was), Some(is)) = (old.plan(), new.plan()) {
            self.fragment(id, was, is);
        }
        self.written(id, old, new, |_| true);
    }

    /// Describes what is written of an atom, in keys that are asked for.
    pub(super) fn written(
        &mut self,
        id: &AtomId,
        old: &Atom,
        new: &Atom,
        is_asked: impl Fn(&str) -> bool,
    ) {
        self.selected(id, old, new);
        let (old, new) = (old.node(), new.node());
        for key in keys(&old, &new).iter().filter(|key| is_asked(key)) {
            self.key(id, key, old.get(key), new.get(key));
        }
    }

    fn selected(&mut self, id: &AtomId, old: &Atom, new: &Atom) {
        if let (Body::Any { .. }, Body::Any { .. }) = (&old.body, &new.body)
            && old.selected() != new.selected()
        {
            let word =
                |atom: &Atom| atom.selected().map_or("none".to_string(), |id| id.to_string());
            let what = format!(": {} → {}", word(old), word(new));
            self.note_of(id, Weight::Main, what);
        }
    }

    fn fragment(&mut self, id: &AtomId, was: &PlanningStep, is: &PlanningStep) {
        let attempt = |plan: &PlanningStep| plan.in_force().map(|one| one.attempt.clone());
        let (old, new) = (attempt(was), attempt(is));
        if old == new {
            return;
        }
        let what = match new {
            Some(attempt) => format!("stands for the plan of {attempt}"),
            None => "is to be planned".to_string(),
        };
        self.note_of(id, Weight::Main, what);
    }

    fn status(&mut self, id: &AtomId, old: Option<&Atom>, new: &Atom) {
        let was = old.and_then(Atom::task).map(|task| &task.status);
        let Some(is) = new.task() else { return };
        if *was.unwrap_or(&AtomStatus::Pending) == is.status {
            return;
        }
        let what = match &is.status {
            AtomStatus::Pending => "to be tried again".to_string(),
            AtomStatus::Failed => "failed for good".to_string(),
            AtomStatus::Invalid(report) => format!("blocked: {}", short(&report.words)),
            AtomStatus::NeedsGuidance => "needs guidance".to_string(),
            AtomStatus::InDoubt(attempt) => format!("in doubt: {attempt}"),
        };
        self.note_of(id, Weight::Main, what);
    }

    fn tried(&mut self, id: &AtomId, was: &Task, is: &Task) {
        let count =
            |task: &Task| -> u64 { task.tries.iter().map(|tried| u64::from(tried.attempts)).sum() };
        let interrupted = |task: &Task| u64::from(task.interruptions);
        for (what, old, new) in [
            ("attempts", count(was), count(is)),
            ("interrupted", interrupted(was), interrupted(is)),
        ] {
            if old != new {
                self.note_of(id, Weight::Detail, format!("{what}: {old} → {new}"));
            }
        }
    }

    /// A difference in what a person may write matters, and any other is a detail.
    fn key(&mut self, id: &AtomId, key: &str, was: Option<&Node>, is: Option<&Node>) {
        if was.zip(is).is_some_and(|(was, is)| same(was, is)) {
            return;
        }
        let (weight, what) = match key {
            "status" | "selected" | "interruptions" | "fragment" | "fragments" => return,
            "tries" => (Weight::Detail, "tries: changed".to_string()),
            "agent" | "guidance" | "checks" | "output_schema" | "description" | "action"
            | "depends_on" | "parts" | "choices" | "effect" | "idempotent" | "timeout" | "kind" => {
                (Weight::Main, between(key, was, is))
            }
            _ => (Weight::Detail, between(key, was, is)),
        };
        self.note_of(id, weight, format!(": {what}"));
    }
}
