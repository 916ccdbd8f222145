//! Queries of a state under change. Derived values are computed once, and anew after an edit that affects them.

use super::Transaction;
use crate::doc::prelude::*;
use crate::{
    event::Event,
    graph::{
        AtomVec, Ix,
        active::{self, Selection},
    },
    id::{AtomId, AttemptId, CommitId, TreeId},
    law::distance,
    search::ranking,
    state::{
        Check, Intent, PlanningStep, RunStatus, Task, Try, check::Thousandths, encode::ChangeSet,
    },
    verdict::{Basis, CheckProgress, Evaluator},
    world::{
        AttemptProgress, results,
        speculation::{self, LandingContext, Speculation},
    },
};

impl Transaction {
    /// The end of a wait that begins now.
    pub(crate) fn active_in(&self, wait_ms: u64) -> u64 {
        self.session.active_ms.saturating_add(wait_ms)
    }

    /// Active time of the run up to now, in milliseconds.
    pub(crate) fn spent_ms(&self) -> u64 {
        let written_ms = self.state.run.spent.active.ms;
        written_ms.saturating_add(self.session.unwritten_ms)
    }

    /// Whether nothing happens until a provider takes more, or a person has made up their mind about a change: then no
    /// active time passes.
    pub(crate) fn only_waits(&self) -> bool {
        let mut waits = self.session.provider_waits.values();
        let is_open = waits.any(|wait| wait.until_ms > self.session.active_ms);
        let awaits_person = self.state.run.status == RunStatus::Redirecting;
        (awaits_person || is_open)
            && self.state.run.in_flight.is_empty()
            && self.session.base_target.is_none()
            && self.is_line_settled()
    }

    /// The description of an atom, else its id.
    pub(crate) fn title_of(&self, id: &AtomId) -> String {
        self.state.atom(id).map_or(id.as_str(), |atom| atom.title(id)).to_owned()
    }

    /// An unresolved task, to be read.
    pub(crate) fn task_of(&self, id: &AtomId) -> Option<&Task> {
        self.state.atoms.get(id)?.task()
    }

    /// An unresolved planning step, to be read.
    pub(crate) fn plan_of(&self, id: &AtomId) -> Option<&PlanningStep> {
        self.state.atoms.get(id)?.plan()
    }

    /// The open tasks whose status must be checked, in their order: all of them after the selection changed, else few.
    pub(crate) fn dirty_tasks(&self, all: bool) -> Vec<(Ix, &Task)> {
        if all {
            return self.open_tasks().collect();
        }
        let ids = self.dirty_tasks.union(&self.touched.atoms);
        ids.filter_map(|id| Some((self.graph.ix(id)?, self.task_of(id)?))).collect()
    }

    /// All open tasks.
    pub(crate) fn open_tasks(&self) -> impl Iterator<Item = (Ix, &Task)> {
        let open = self.graph.paired(&self.state.atoms);
        open.filter_map(|(x, atom)| Some((x, atom.task()?)))
    }

    /// Those that are live.
    pub(crate) fn live_tasks(&self) -> impl Iterator<Item = (Ix, &Task)> {
        self.open_tasks().filter(|(x, _)| self.active.is_live(*x))
    }

    /// The try that an attempt is of.
    pub(crate) fn try_of(&self, intent: &Intent) -> Option<&Try> {
        self.task_of(&intent.atom)?.tried(&intent.context)
    }

    /// Whether the task has failed in the context in force.
    pub(crate) fn has_failed(&self, x: Ix, task: &Task) -> bool {
        self.is_so_in_force(x, task, Try::has_failed)
    }

    /// Whether the task rests in the context in force.
    pub(crate) fn is_resting(&self, x: Ix, task: &Task) -> bool {
        self.is_so_in_force(x, task, Try::is_resting)
    }

    fn is_so_in_force(&self, x: Ix, task: &Task, is_so: fn(&Try) -> bool) -> bool {
        let (graph, active) = (&self.graph, &self.active);
        let context = active.context(x).filter(|_| active.is_leaf(graph, x));
        let tried = context.and_then(|context| task.tried(context));
        tried.is_some_and(is_so)
    }

    /// The speculations beside the selection in force.
    pub(crate) fn speculations(&self) -> &Arc<Vec<Speculation>> {
        self.speculations.get_or_init(|| Arc::new(speculation::all(self, self.solved())))
    }

    pub(crate) fn landing_context(&self) -> LandingContext<'_> {
        LandingContext {
            facts: self,
            speculations: self.speculations(),
            is_line_settled: self.is_line_settled(),
            session: &self.session,
            serial: self.serial_before(),
        }
    }

    /// Whether each atom is resolved under the selection in force.
    pub(crate) fn solved(&self) -> &AtomVec<bool> {
        self.solved
            .get_or_init(|| Arc::new(results::solved(&self.graph, &self.active, &self.state)))
    }

    pub(crate) fn all_resolved(&self) -> bool {
        self.graph.roots().iter().all(|root| self.solved()[*root])
    }

    /// Whether the tree consists of exactly the results that stay.
    pub(crate) fn is_line_settled(&self) -> bool {
        let is_settled = || results::is_line_settled(&self.graph, self.solved(), &self.state);
        *self.is_line_settled.get_or_init(is_settled)
    }

    /// The choices of all groups, also of those that are not live.
    pub(crate) fn selection(&self) -> Selection {
        active::selection_of(&self.graph, &self.state)
    }

    /// The attempts in flight, as a list that stays while some of them land.
    pub(crate) fn all_in_flight(&self) -> Vec<Intent> {
        self.state.run.in_flight.to_vec()
    }

    pub(crate) fn in_flight(&self, id: &AttemptId) -> Option<&Intent> {
        self.state.run.in_flight.iter().find(|intent| intent.id == *id)
    }

    /// The attempts of an atom that are in flight.
    pub(crate) fn attempts_of(&self, atom: &AtomId) -> impl Iterator<Item = &Intent> {
        self.state.run.in_flight.iter().filter(move |intent| intent.atom == *atom)
    }

    pub(crate) fn is_shared(&self) -> bool {
        self.state.objective.constraints.workspace() == crate::state::Workspace::Shared
    }

    /// The basis on which steering evidence is taken now; `None` while the head's tree is not known.
    pub(crate) fn basis(&self) -> Option<Basis> {
        if self.is_shared() {
            // A commit of this step gets the next serial; without one, the last serial counts.
            let serial = self.state.serial.0;
            return Some(Basis::Serial(if self.is_dirty() {
                serial
            } else {
                self.serial_before()
            }));
        }
        let head = self.state.run.head.as_ref()?;
        self.tree_of(head).map(Basis::Warm)
    }

    /// The tree of a commit, if the host has reported it.
    pub(crate) fn tree_of(&self, commit: &CommitId) -> Option<TreeId> {
        self.session.tree_of(&self.state, commit)
    }

    /// Whether the run starts from that commit.
    pub(crate) fn is_start(&self, commit: &CommitId) -> bool {
        let start = self.state.run.started_from.as_ref();
        start.is_some_and(|start| start.commit == *commit)
    }

    /// Whether there is anything to commit.
    pub(crate) fn is_dirty(&self) -> bool {
        self.touched != ChangeSet::default()
    }

    /// The serial that the tree had before this step. A measurement from before a step that no commit holds yet says
    /// nothing of the tree after it.
    pub(crate) fn serial_before(&self) -> u64 {
        let serial = self.state.serial.0;
        if self.goes_on { serial } else { serial.saturating_sub(1) }
    }

    /// Whether the end of an attempt is part of this step.
    pub(crate) fn has_ended_attempt(&self) -> bool {
        let is_end =
            |event: &Event| matches!(event, Event::Solved { .. } | Event::AttemptFailed { .. });
        self.events.iter().any(is_end)
    }

    /// Whether it is live and has fragments for its context, but none is in force.
    pub(crate) fn is_undecided(&self, x: Ix) -> bool {
        let graph = &self.graph;
        let context = self.active.context(x);
        let is_leaf = self.active.is_leaf(graph, x);
        let context = context.filter(|_| is_leaf);
        context.is_some_and(|context| ranking::is_undecided(&self.state, graph.id(x), context))
    }

    /// Whether the attempt finishes although the run is about to end.
    pub(crate) fn must_finish(&self, intent: &Intent) -> bool {
        let interruptible = self.task_of(&intent.atom).is_none_or(|task| task.interruptible);
        intent.effect.is_once_only() || !interruptible || self.has_ended(intent)
    }

    /// Whether the attempt has ended, and nothing is left of it that takes long: its checks might.
    fn has_ended(&self, intent: &Intent) -> bool {
        let progress = self.session.progress.get(&intent.id);
        let has_checks = || {
            let task = self.task_of(&intent.atom);
            task.is_none_or(|task| task.spec.checks.is_some())
        };
        self.session.arrived.contains(&intent.id)
            || self.session.recorded.contains(&intent.id)
            || matches!(progress, Some(AttemptProgress::Finished(_))) && !has_checks()
    }

    /// Whether all machine checks of a candidate hold and a person must decide the rest.
    pub(crate) fn awaits_person(&self, intent: &Intent) -> bool {
        let seen = speculation::of_candidate(&self.landing_context(), intent);
        matches!(seen, Some((_, CheckProgress::Confirm(_))))
    }

    /// Whether only a person's word or a rating is missing of a candidate: it is kept where the run ends before that.
    pub(crate) fn is_parked(&self, intent: &Intent) -> bool {
        let seen = speculation::of_candidate(&self.landing_context(), intent);
        matches!(seen, Some((_, CheckProgress::Confirm(_) | CheckProgress::Rate(_))))
    }

    /// Whether nothing is in flight but candidates that wait for a person's word.
    pub(crate) fn is_idle(&self) -> bool {
        self.state.run.in_flight.iter().all(|intent| self.awaits_person(intent))
    }

    /// Whether nothing is in flight but candidates that wait for a word.
    pub(crate) fn is_at_rest(&self) -> bool {
        self.state.run.in_flight.iter().all(|intent| self.is_parked(intent))
    }

    /// How far the tree that is looked at is from a check.
    pub(crate) fn distance(&self, check: &Check, basis: &Basis) -> Thousandths {
        Thousandths(distance::distance(self.evaluator(basis), check, &self.state.run))
    }

    /// Judges by the evidence that the cache holds for `basis`.
    pub(crate) fn evaluator<'a>(&'a self, basis: &'a Basis) -> Evaluator<'a> {
        self.session.evaluator(&self.state, basis)
    }
}
