//! Returns to an earlier state, as a new commit: to its agreement and its results. Spending, interruptions and the
//! lineage are never taken back (contract §8).
//!
//! Invariant: an effect outside of the tree is not repeated: an atom that may happen once only keeps its record. To
//! undo an undo restores the state before it.

use super::{
    ChangeRefusal, EarlierState, between, corrections,
    draft::{Draft, FLIGHT_ENDS},
    kinds::{atom_mut, task_mut},
    merge::AtomEntry,
};
use crate::doc::prelude::*;
use crate::{
    difference, doc,
    id::{AtomId, CommitId, Epoch},
    state::{
        Atom, AtomStatus, Binding, Entry, Intent, Run, SideEffect, StartedFrom, State, Workspace,
        atom_order,
        record::{CorrectionRecord, CorrectionType, InDoubtEntry},
    },
};

impl EarlierState<'_> {
    /// Goes back. Refused if nothing would change.
    pub(super) fn make(&self, draft: &mut Draft<'_>) -> Result<(), ChangeRefusal> {
        let now = draft.state.clone();
        let unblocked = draft.block_as_in(self.state);
        let mut undo = Undo {
            then: self.state,
            has_commit: self.has_commit,
            now: &now,
            draft,
            outside: Vec::new(),
            lost: Vec::new(),
        };
        undo.agreement();
        undo.graph();
        undo.keep_what_is_outside();
        undo.remember_what_goes();
        // Effects outside whose atoms were taken out while under way, and now come back.
        corrections::ask_about(&mut undo.draft.state, corrections::absent_doubts(undo.now));
        undo.open_what_is_lost();
        let changes = difference::difference(undo.now, &undo.draft.state);
        if changes.is_empty() {
            return Err(ChangeRefusal::NothingToUndo(undo.outside));
        }
        undo.run();
        let serial = self.state.serial.0;
        let correction =
            undo.correct(&format!("back to serial {serial}: {}", difference::words(&changes)));
        correction.unblocked = unblocked;
        Ok(())
    }
}

/// Why the effect of an atom that an undo took away is in doubt when the atom comes back.
const UNDONE: &str = "it was undone after its effect outside";

struct Undo<'u, 'd> {
    then: &'u State,
    has_commit: &'u dyn Fn(&CommitId) -> bool,
    /// The present state.
    now: &'u State,
    draft: &'u mut Draft<'d>,
    /// Atoms whose effects are not taken back.
    outside: Vec<AtomId>,
    /// Atoms whose result the repository no longer holds.
    lost: Vec<AtomId>,
}

impl Undo<'_, '_> {
    fn agreement(&mut self) {
        let then = self.then;
        let text = |state: &State| doc::canonical(&state.objective.node());
        let is_other = text(then) != text(&self.draft.state);
        if is_other {
            self.draft.state.objective = Arc::clone(&then.objective);
        }
        let goal = |state: &State| {
            let mut objective = (*state.objective).clone();
            objective.constraints = Default::default();
            doc::canonical(&objective.node())
        };
        // A refutation by the base case is true of its own objective and start alone.
        let is_start = self.earlier_start().is_some();
        if is_start || is_other && goal(then) != goal(self.now) {
            // Entries that a person is still asked about stay.
            let is_new = |entry: &Arc<Entry>| !then.trail.iter().any(|old| old.node == entry.node);
            let doubts = corrections::doubt_entries(self.now).into_iter().filter(is_new);
            // Each trail counts its own entries.
            let mut trail = then.trail.to_vec();
            doubts.for_each(|one| trail.push((*one).clone().numbered(Entry::next(&trail)).into()));
            self.draft.state.trail = trail.into();
            self.draft.follows(if is_start {
                "the start of the run and the trail are those of then"
            } else {
                "the trail is that of the objective that is back"
            });
        }
    }

    /// The start to go back to: another one, which the repository still holds.
    fn earlier_start(&self) -> Option<&StartedFrom> {
        let start = self.then.run.started_from.as_ref();
        let start = start.filter(|_| between::is_other_start(self.now, self.then));
        start.filter(|start| (self.has_commit)(&start.commit))
    }

    /// Whether git lost the start: no tree of it is gone back to.
    fn has_lost_start(&self) -> bool {
        between::is_other_start(self.now, self.then) && self.earlier_start().is_none()
    }

    fn graph(&mut self) {
        let then = self.then;
        self.draft.state.atoms.clone_from(&then.atoms);
        self.draft.state.bindings.clone_from(&then.bindings);
        self.draft.state.work_graph_extra.clone_from(&then.work_graph_extra);
        self.draft.state.plan.clone_from(&then.plan);
        let order = atom_order::woven(&then.settled_order(), &self.now.settled_order());
        self.draft.state.order = Arc::new(order);
        for (id, old) in then.all_atoms() {
            let interruptions = |atom: &Arc<Atom>| atom.task().map(|task| task.interruptions);
            let now = self.now.atom(id).and_then(interruptions);
            if let (Some(now), Some(then)) = (now, interruptions(old))
                && now > then
                && let Some(task) = task_mut(&mut self.draft.state, id)
            {
                task.interruptions = now;
            }
        }
    }

    /// Keeps every context closed in which an effect outside happened, whatever else is undone.
    fn keep_what_is_outside(&mut self) {
        let (now, then) = (self.now, self.then);
        for (id, atom) in now.all_atoms() {
            let Some(task) = atom.task() else { continue };
            let is_flying = now.run.in_flight.iter().any(|intent| intent.atom == *id);
            let was_tried = is_flying || now.bindings.contains_key(id) || !task.tries.is_empty();
            let is_same_as_then = now.bindings.contains_key(id) == then.bindings.contains_key(id)
                && then
                    .atom(id)
                    .is_some_and(|old| doc::canonical(&old.node()) == doc::canonical(&atom.node()));
            let is_inside = task.spec.effect == SideEffect::Tree;
            if is_inside || !was_tried || (is_same_as_then && !is_flying) {
                continue;
            }
            self.outside.push(id.clone());
            let old = then.atom(id).cloned();
            let is_kept = task.spec.effect.is_once_only()
                && old.as_ref().is_some_and(|old| old.spec_digest() == atom.spec_digest())
                && !old.as_ref().is_some_and(|old| self.is_of_a_word(old, atom));
            if is_kept && let Some(old) = old {
                self.keep(id, &old);
            }
        }
    }

    /// Records the effects outside of atoms that go: when they come back, a person is asked before they are made again.
    fn remember_what_goes(&mut self) {
        let now = self.now;
        for id in self.outside.clone() {
            let is_once_only = |atom: &Arc<Atom>| {
                let task = atom.task();
                task.is_some_and(|task| task.spec.effect.is_once_only())
            };
            if self.draft.state.atom(&id).is_some() || !now.atom(&id).is_some_and(is_once_only) {
                continue;
            }
            let mut in_flight = now.run.in_flight.iter();
            if let Some(intent) = in_flight.find(|intent| intent.atom == id) {
                self.draft.record_doubt(InDoubtEntry {
                    atom: id,
                    attempt: intent.id.clone(),
                    started: intent.at.clone(),
                    context: Some(intent.context.clone()),
                    reason: UNDONE.into(),
                });
            } else if let Some(result) = now.bindings.get(&id) {
                self.draft.doubt_result(&id, result, UNDONE);
            }
        }
    }

    /// Whether a person's word on one attempt tells the two records apart. The word goes back with the rest: the person
    /// is asked again, and nothing is made again unasked.
    fn is_of_a_word(&self, old: &Atom, now: &Atom) -> bool {
        let doubts = [old, now].map(|atom| match atom.task().map(|task| &task.status) {
            Some(AtomStatus::InDoubt(attempt)) => Some(attempt),
            _ => None,
        });
        let attempt = match doubts {
            [Some(attempt), None] | [None, Some(attempt)] => attempt,
            _ => return false,
        };
        let corrections = self.now.corrections.iter().map(|one| &one.data);
        corrections
            .filter(|one| one.attempt.as_ref() == Some(attempt))
            .any(|one| one.done == Some(true))
    }

    /// Takes the present record, at the earlier place in the graph.
    fn keep(&mut self, id: &AtomId, old: &Atom) {
        let state = &mut self.draft.state;
        AtomEntry::of(self.now, id).into_iter().for_each(|entry| entry.place(id, state));
        if let Some(atom) = atom_mut(state, id) {
            atom.depends_on.clone_from(&old.depends_on);
        }
    }

    /// Makes results again that git has swept away.
    fn open_what_is_lost(&mut self) {
        let is_lost = |binding: &Binding| {
            let commit = binding.commit.as_ref();
            commit.is_some_and(|commit| !(self.has_commit)(commit))
        };
        let bindings = self.draft.state.bindings.iter();
        let lost = bindings.filter(|(_, binding)| is_lost(binding));
        let lost: Vec<AtomId> = lost.map(|(id, _)| id.clone()).collect();
        for id in lost {
            let Some(binding) = self.draft.state.bindings.remove(&id) else {
                continue;
            };
            let mut atom = (*binding.of).clone();
            if let (Some(task), Some(context)) = (atom.task_mut(), &binding.context) {
                if task.spec.effect.is_once_only() {
                    let why = "the repository lost its commit";
                    if let Some(attempt) = self.draft.doubt_result(&id, &binding, why) {
                        task.status = AtomStatus::InDoubt(attempt);
                    }
                } else {
                    task.tries.retain(|tried| tried.context != *context);
                    task.status = AtomStatus::Pending;
                }
            }
            self.draft.state.atoms.insert(id.clone(), Arc::new(atom));
            self.lost.push(id);
        }
    }

    /// Ends attempts in flight; the epoch makes their results come too late.
    fn run(&mut self) {
        let mut run: Run = (*self.draft.state.run).clone();
        run.epoch = Epoch(run.epoch.0 + 1);
        run.pass += 1;
        let (outside, flying): (Vec<Intent>, Vec<Intent>) =
            core::mem::take(&mut run.in_flight).into_iter().partition(|intent| {
                // An attempt whose effect may have happened goes on: else nobody would know whether it did.
                let is_there = self.draft.state.atoms.contains_key(&intent.atom);
                intent.effect.is_once_only() && is_there
            });
        run.in_flight = outside;
        // Nobody saw their end: what was reserved counts.
        for intent in &flying {
            run.settle(&intent.payer(), intent.role, &intent.reserved, false);
        }
        let atoms: BTreeSet<AtomId> = flying.iter().map(|intent| intent.atom.clone()).collect();
        self.draft.follows_for(FLIGHT_ENDS, &Vec::from_iter(atoms));
        run.agree_anew();
        // Answers about the plan that is undone are asked for again.
        if let Some(judging) = &mut run.judging {
            judging.answers.clear();
            judging.deltas.clear();
        }
        self.tree(&mut run);
        self.verdicts(&mut run);
        self.draft.state.run = Arc::new(run);
        self.draft.grant_anew();
        self.draft.measure();
        let outside = "what these did outside of the tree is not taken back";
        self.draft.follows_for(outside, &self.outside);
        let lost = "open again, for git no longer holds their results";
        self.draft.follows_for(lost, &self.lost);
        self.draft.follows("what is spent stays spent; what is left is counted anew");
    }

    /// Verdicts are true of their own base case and start. A tree with a result that is undone is not to be delivered.
    fn verdicts(&self, run: &mut Run) {
        run.delivered = None;
        run.verdicts.clone_from(&self.then.run.verdicts);
        if self.has_lost_start() {
            run.verdicts = Default::default();
        }
        if self.draft.state.objective.base_case != self.now.objective.base_case {
            run.agreed = None;
        }
    }

    /// Takes the earlier tree, if git still holds it and nothing else must stay. Otherwise the loop builds a tree from
    /// the results that stay.
    fn tree(&mut self, run: &mut Run) {
        let then = &self.then.run;
        if self.draft.state.objective.constraints.workspace() == Workspace::Shared {
            let stay =
                "agents work in place here: the files stay as they are, only the record goes back";
            self.draft.follows(stay);
            return;
        }
        if let Some(start) = self.earlier_start() {
            run.head = Some(start.commit.clone());
            run.line = Default::default();
            run.started_from = Some(start.clone());
        }
        let start = || run.started_from.as_ref().map(|start| start.commit.clone());
        let head = then.head.clone().or_else(start);
        if head == run.head && then.line == run.line {
            return;
        }
        let is_all_there = self.lost.is_empty() && !self.has_lost_start();
        let is_exact = is_all_there && self.outside.is_empty();
        match head.filter(|head| is_exact && (self.has_commit)(head)) {
            Some(head) => {
                run.head = Some(head);
                run.line.clone_from(&then.line);
                self.draft.follows("the result is the tree that it was then");
            }
            None if run.head.is_some() => {
                let remade = "the result is made again from what stays, when the loop runs";
                self.draft.follows(remade);
            }
            None => {}
        }
    }

    fn correct(&mut self, what: &str) -> &mut CorrectionRecord {
        let trail = &self.draft.state.trail;
        let is_kept = |last| trail.iter().any(|entry| Arc::ptr_eq(entry, last));
        let is_cleared = !self.now.trail.last().is_none_or(is_kept);
        let correction = self.draft.correct(CorrectionType::Undo, what);
        correction.trail_cleared = Some(is_cleared);
        correction.to = Some(self.then.serial.0);
        correction
    }
}

#[cfg(test)]
mod tests {
    use alloc::{string::ToString, vec::Vec};

    use serde_json::{Value, json};

    use super::*;
    use crate::{
        change::undo,
        id::{Digest, UnixMillis},
        state::decode::decode,
        world::earlier,
    };

    fn state(change: impl Fn(&mut Value)) -> State {
        let mut value = json!({
            "version": "3.0", "lineage": "one", "serial": 7, "seal": "",
            "objective": {
                "raw_input": "it", "goal": "it is so", "background_intent": "because",
                "base_case": {"all": [{"command": "test -f done"}]}
            },
            "control": {"stop_requested": false, "redirect_requested": false, "request": null},
            "work_graph": {"atoms": {}}, "bindings": {}, "trail": [], "corrections": [],
            "run": {"status": "stopped", "epoch": 1, "pass": 2, "attempts_started": 4, "in_flight": []}
        });
        change(&mut value);
        let decoded = decode(crate::whole_records::file(&value).to_string().as_bytes());
        assert_eq!(decoded.faults, Vec::new());
        decoded.state.expect("a state")
    }

    #[test]
    fn an_effect_whose_result_git_lost_is_asked_about_by_a_new_name_and_with_a_reason() {
        let atom = json!({"kind": "task", "description": "ring", "effect": "external", "status": "pending",
                          "action": {"run": "ring"}});
        let now = state(|now| now["work_graph"]["atoms"]["E1"] = atom.clone());
        let then = state(|then| {
            then["serial"] = json!(3);
            then["bindings"]["E1"] = json!({
                "summary": "rung", "attempts": 1, "by": "action", "at": "2026-01-01T00:00:00Z",
                "context": Digest::of(b"in force").as_str(), "commit": "a".repeat(40), "of": atom
            });
        });
        let earlier = EarlierState { state: &then, has_commit: &|_| false };
        let back = undo(&now, &earlier, "ada", UnixMillis(1_000));
        let back = back.expect("a change").state;
        let doubts = earlier::doubts(&back);
        let doubt = doubts.first().expect("a doubt");
        assert_eq!(doubt.attempt.as_str(), "E1.5");
        assert_eq!(back.run.attempts_started, 5);
        assert_eq!(doubt.reason.as_deref(), Some("the repository lost its commit"));
    }
}
