//! Returns to an earlier state, as a new commit: to its agreement and its results. Spending, interruptions and the
//! lineage are never taken back (contract §8).
//!
//! Invariant: an effect outside of the tree is not repeated: an atom that may happen once only keeps its record. To
//! undo an undo restores the state before it.

use alloc::{collections::BTreeSet, format, string::String, sync::Arc, vec::Vec};
use core::fmt;

use super::{Adoption, Consequence, consequence::texts, resolve};
use crate::{
    difference,
    doc::{self},
    event::Event,
    id::{AtomId, AttemptId, CommitId, Digest, Epoch, Serial, UnixMillis},
    state::{
        Atom, AtomStatus, Binding, Correction, Entry, Intent, Run, RunStatus, SideEffect, State,
        Workspace,
        encode::ChangeSet,
        record::{CorrectionRecord, CorrectionType},
    },
    step::failure::EffectDoubt,
    world::World,
};

/// The input of an undo.
pub struct Undo<'a> {
    /// The present state.
    pub now: &'a State,
    /// The earlier state, in the same lineage.
    pub then: &'a State,
    pub by: &'a str,
    pub at: UnixMillis,
    /// Whether the repository still holds a commit.
    pub is_there: &'a dyn Fn(&CommitId) -> bool,
}

impl fmt::Debug for Undo<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (from, to) = (self.now.serial, self.then.serial);
        write!(f, "Undo({} to {})", from.0, to.0)
    }
}

impl Undo<'_> {
    /// The next state. `Err` if nothing would change: the atoms that stay for their effects outside.
    pub fn adopt(&self) -> Result<Adoption, Vec<AtomId>> {
        let mut back = UndoBuilder {
            undo: self,
            state: self.now.clone(),
            outside: Vec::new(),
            lost: Vec::new(),
            effects: Vec::new(),
        };
        back.agreement();
        back.graph();
        back.keep_what_is_outside();
        back.ask_of_what_was_taken_out();
        back.open_what_is_lost();
        let changes = difference::difference(self.now, &back.state);
        if changes.is_empty() {
            return Err(back.outside);
        }
        back.notebook();
        let what = format!(
            "back to serial {}: {}",
            self.then.serial.0,
            difference::words(&changes)
        );
        Ok(back.close(what))
    }
}

struct UndoBuilder<'a> {
    undo: &'a Undo<'a>,
    state: State,
    /// Atoms whose effects are not taken back.
    outside: Vec<AtomId>,
    /// Atoms whose result the repository no longer holds.
    lost: Vec<AtomId>,
    effects: Vec<Consequence>,
}

impl UndoBuilder<'_> {
    fn agreement(&mut self) {
        let then = self.undo.then;
        let text = |state: &State| doc::canonical(&state.objective.node());
        if text(then) == text(&self.state) {
            return;
        }
        self.state.objective = Arc::clone(&then.objective);
        let goal = |state: &State| {
            let mut objective = (*state.objective).clone();
            objective.constraints = Default::default();
            doc::canonical(&objective.node())
        };
        // A refutation by the base case is true of its own objective alone.
        if goal(then) != goal(self.undo.now) {
            self.state.trail.clone_from(&then.trail);
            self.effects.push(Consequence::TrailRestored);
        }
    }

    fn graph(&mut self) {
        let then = self.undo.then;
        self.state.atoms.clone_from(&then.atoms);
        self.state.bindings.clone_from(&then.bindings);
        self.state
            .work_graph_extra
            .clone_from(&then.work_graph_extra);
        // The last result is true of the graph that it describes.
        let run = Arc::make_mut(&mut self.state.run);
        run.last_result.clone_from(&then.run.last_result);
        let ids: Vec<AtomId> = then.all_atoms().into_keys().cloned().collect();
        for id in ids {
            let interruptions = |state: &State| Some(state.atom(&id)?.task()?.interruptions);
            let (Some(now), Some(then)) = (interruptions(self.undo.now), interruptions(then))
            else {
                continue;
            };
            if now > then {
                self.change(&id, |atom| {
                    if let Some(task) = atom.task_mut() {
                        task.interruptions = now;
                    }
                });
            }
        }
    }

    fn change(&mut self, id: &AtomId, change: impl FnOnce(&mut Atom)) {
        if let Some(atom) = self.state.atoms.get_mut(id) {
            change(Arc::make_mut(atom));
        } else if let Some(binding) = self.state.bindings.get_mut(id) {
            change(Arc::make_mut(&mut Arc::make_mut(binding).of));
        }
    }

    /// Keeps every context closed in which an effect outside happened, whatever else is undone.
    fn keep_what_is_outside(&mut self) {
        let (now, then) = (self.undo.now, self.undo.then);
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
                && old
                    .as_ref()
                    .is_some_and(|old| old.spec_digest() == atom.spec_digest());
            if is_kept && let Some(old) = old {
                self.keep(id, &old);
            }
        }
    }

    /// Asks about effects outside whose atoms were taken out while under way and now come back.
    fn ask_of_what_was_taken_out(&mut self) {
        resolve::ask(&mut self.state, resolve::of_the_absent(self.undo.now));
    }

    /// Takes the present record, at the earlier place in the graph.
    fn keep(&mut self, id: &AtomId, old: &Atom) {
        let now = self.undo.now;
        self.state.atoms.remove(id);
        self.state.bindings.remove(id);
        if let Some(atom) = now.atoms.get(id) {
            self.state.atoms.insert(id.clone(), Arc::clone(atom));
        }
        if let Some(binding) = now.bindings.get(id) {
            self.state.bindings.insert(id.clone(), Arc::clone(binding));
        }
        let depends_on = old.depends_on.clone();
        self.change(id, |atom| atom.depends_on = depends_on);
    }

    /// Makes results again that git has swept away.
    fn open_what_is_lost(&mut self) {
        let is_lost = |binding: &Binding| {
            let commit = binding.commit.as_ref();
            commit.is_some_and(|commit| !(self.undo.is_there)(commit))
        };
        let bindings = self.state.bindings.iter();
        let lost = bindings.filter(|(_, binding)| is_lost(binding));
        let lost: Vec<AtomId> = lost.map(|(id, _)| id.clone()).collect();
        for id in lost {
            let Some(binding) = self.state.bindings.remove(&id) else {
                continue;
            };
            let mut atom = (*binding.of).clone();
            if let (Some(task), Some(context)) = (atom.task_mut(), &binding.context) {
                if task.spec.effect.is_once_only() {
                    task.status = AtomStatus::InDoubt(self.doubt(&id, context, &binding.at));
                } else {
                    task.tries.retain(|tried| tried.context != *context);
                    task.status = AtomStatus::Pending;
                }
            }
            self.state.atoms.insert(id.clone(), Arc::new(atom));
            self.lost.push(id);
        }
    }

    /// The attempt that a person is asked about, from the entry of the trail that gives the reason.
    fn doubt(&mut self, id: &AtomId, context: &Digest, since: &str) -> AttemptId {
        let run = Arc::make_mut(&mut self.state.run);
        let attempt = run.next_attempt(id);
        let serial = self.undo.now.serial.0 + 1;
        let doubt = EffectDoubt {
            atom: id,
            attempt: &attempt,
            context,
            started: since,
            reason: "the repository lost its commit",
        };
        let at = self.undo.at.rfc3339();
        let entry = Entry::new(&at, serial, run.pass + 1, doubt.entry());
        self.state.trail.push(Arc::new(entry));
        attempt
    }

    /// Ends attempts in flight; the epoch makes their results come too late.
    fn notebook(&mut self) {
        let mut run: Run = (*self.state.run).clone();
        run.epoch = Epoch(run.epoch.0 + 1);
        run.pass += 1;
        let (outside, flying): (Vec<Intent>, Vec<Intent>) = core::mem::take(&mut run.in_flight)
            .into_iter()
            .partition(|intent| self.stays_in_flight(intent));
        run.in_flight = outside;
        if !flying.is_empty() {
            let atoms: BTreeSet<AtomId> = flying.iter().map(|intent| intent.atom.clone()).collect();
            let atoms = atoms.into_iter().collect();
            self.effects.push(Consequence::FlightEnds(atoms));
        }
        if !run.status.is_active() {
            run.status = RunStatus::Aligned;
        }
        self.tree(&mut run);
        self.verdicts(&mut run);
        self.state.run = Arc::new(run);
        let record = World::new(self.state.clone()).measure().record();
        let run = Arc::make_mut(&mut self.state.run);
        let extra = run.measure.take().map(|old| old.extra).unwrap_or_default();
        run.measure = Some(crate::state::MeasureText { extra, ..record });
        self.tell();
    }

    /// Verdicts are true of their own base case.
    fn verdicts(&self, run: &mut Run) {
        run.delivered = None;
        if self.state.objective.base_case != self.undo.now.objective.base_case {
            run.verdicts = Default::default();
            run.agreed = None;
        }
    }

    /// An attempt whose effect may have happened goes on to its end: else nobody would know whether it did.
    fn stays_in_flight(&self, intent: &Intent) -> bool {
        intent.effect.is_once_only() && self.state.atoms.contains_key(&intent.atom)
    }

    /// Takes the earlier tree, if git still holds it and nothing else must stay. Otherwise the loop builds a tree from
    /// the results that stay.
    fn tree(&mut self, run: &mut Run) {
        let then = &self.undo.then.run;
        if self.state.objective.constraints.workspace() == Workspace::Shared {
            self.effects.push(Consequence::FilesStay);
            return;
        }
        let start = || run.started_from.as_ref().map(|start| start.commit.clone());
        let head = then.head.clone().or_else(start);
        if head == run.head && then.line == run.line {
            return;
        }
        let is_exact = self.lost.is_empty() && self.outside.is_empty();
        match head.filter(|head| is_exact && (self.undo.is_there)(head)) {
            Some(head) => {
                run.head = Some(head);
                run.line.clone_from(&then.line);
                self.effects.push(Consequence::ResultRestored);
            }
            None if run.head.is_some() => self.effects.push(Consequence::ResultRemade),
            None => {}
        }
    }

    fn tell(&mut self) {
        let outside = core::mem::take(&mut self.outside);
        if !outside.is_empty() {
            self.effects.push(Consequence::OutsideStays(outside));
        }
        let lost = core::mem::take(&mut self.lost);
        if !lost.is_empty() {
            self.effects.push(Consequence::LostReopened(lost));
        }
        self.effects.push(Consequence::SpentStays);
    }

    fn close(mut self, what: String) -> Adoption {
        self.state.serial = Serial(self.undo.now.serial.0 + 1);
        let at = self.undo.at.rfc3339();
        let is_kept = |last| {
            self.state
                .trail
                .iter()
                .any(|entry| Arc::ptr_eq(entry, last))
        };
        let cleared = !self.undo.now.trail.last().is_none_or(is_kept);
        let effects = texts(&self.effects);
        let id = format!("c{}", self.state.corrections.len() + 1);
        let correction = Correction::new(CorrectionRecord {
            description: Some(what.clone()),
            trail_cleared: Some(cleared),
            changes: effects.clone(),
            to: Some(self.undo.then.serial.0),
            ..CorrectionRecord::new(id, &at, CorrectionType::Undo, self.undo.by)
        });
        self.state.corrections.push(Arc::new(correction));
        let mut touched = ChangeSet::all(&self.state);
        let now = self.undo.now;
        touched.atoms.extend(now.atoms.keys().cloned());
        touched.bindings.extend(now.bindings.keys().cloned());
        Adoption {
            touched,
            state: self.state,
            at,
            effects: self.effects,
            events: Vec::from([Event::Corrected {
                lost: Vec::new(),
                what,
                effects,
            }]),
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::{string::ToString, vec::Vec};

    use serde_json::{Value, json};

    use super::*;
    use crate::state::decode::decode;

    fn state(change: impl Fn(&mut Value)) -> State {
        let mut value = json!({
            "version": "2.0", "lineage": "one", "serial": 7, "seal": "",
            "objective": {
                "raw_input": "it", "goal": "it is so", "background_intent": "because",
                "base_case": {"all": [{"command": "test -f done"}]}
            },
            "control": {"stop_requested": false, "redirect_requested": false, "request": null},
            "work_graph": {"atoms": {}}, "bindings": {}, "trail": [], "corrections": [],
            "run": {"status": "stopped", "epoch": 1, "pass": 2, "attempts_started": 4, "in_flight": []}
        });
        change(&mut value);
        let decoded = decode(value.to_string().as_bytes());
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
        let undo = Undo {
            now: &now,
            then: &then,
            by: "ada",
            at: UnixMillis(1_000),
            is_there: &|_| false,
        };
        let back = undo.adopt().expect("a change").state;
        let doubts = super::super::resolve::doubts(&back);
        let doubt = doubts.first().expect("a doubt");
        assert_eq!(doubt.attempt.as_str(), "E1.5");
        assert_eq!(back.run.attempts_started, 5);
        assert_eq!(
            doubt.reason.as_deref(),
            Some("the repository lost its commit")
        );
    }
}
