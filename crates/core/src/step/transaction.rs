//! A state under change: every edit goes through here, so that the touched records are known. Its queries are in
//! `reads`. It knows none of the transitions.

mod bound;
mod reads;

use crate::doc::prelude::*;
use core::{cell::OnceCell, ops::Deref};

use crate::{
    event::{Event, StartReason},
    graph::{
        AtomVec, Graph, Ix,
        active::{ActiveGraph, Selection},
    },
    id::{AtomId, AttemptId, CommitId, Digest, UnixMillis},
    measure::Measure,
    search::{self, Facts},
    state::{
        Atom, Body, Control, Entry, EntryKind, Intent, PlanningStep, Run, State, Task, Try,
        encode::ChangeSet, record::Choices, run, verdicts,
    },
    world::{
        Session, World,
        speculation::{self, Speculation},
    },
};

/// The consequence of an observation.
#[derive(Debug, Clone)]
pub struct Transition {
    pub world: World,
    pub touched: ChangeSet,
    pub session: Session,
    /// The time of the new records.
    pub at: String,
    pub events: Vec<Event>,
    /// Nothing to commit: only the session changed.
    pub is_quiet: bool,
}

/// Why an observation is refused: the state stays as it is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("nothing is running, so there is nothing to stop")]
    NothingRuns,
    #[error("a stop was requested already")]
    AlreadyAsked,
    #[error("BUG: the measure rose from ({before}) to ({after})")]
    MeasureRose { before: String, after: String },
}

/// A state under change. The state and its derived values are read as its fields (`Facts`); only the methods here change
/// them, so what a change touches is always known.
pub(super) struct Transaction {
    facts: Facts,
    pub(super) session: Session,
    touched: ChangeSet,
    events: Vec<Event>,
    /// Whether the loop itself takes the step and may dispatch and end; false for a request of another process.
    pub(super) is_loop: bool,
    /// Whether it goes on from a step that no commit holds yet, and shares the serial of that step.
    goes_on: bool,
    /// Whether the measure counts anew from here: attempts are given back, a correction, or a new run.
    pub(super) counts_anew: bool,
    /// Whether atoms were added, so that the graph's derived values are computed anew.
    is_rebuilt: bool,
    /// Whether the results are those of the selection in force.
    pub(super) is_settled: bool,
    dirty_tasks: Arc<BTreeSet<AtomId>>,
    /// Tasks that were bound in this step: results made from them may need to be made from another result now.
    rebound: BTreeSet<Ix>,
    solved: OnceCell<Arc<AtomVec<bool>>>,
    speculations: OnceCell<Arc<Vec<Speculation>>>,
    is_line_settled: OnceCell<bool>,
    pub(super) at: String,
    pub(super) now: UnixMillis,
}

impl Deref for Transaction {
    type Target = Facts;

    fn deref(&self) -> &Facts {
        &self.facts
    }
}

impl Transaction {
    pub(super) fn new(world: &World, session: &Session, now: UnixMillis, active_ms: u64) -> Self {
        let mut facts = world.facts.clone();
        facts.state.serial = facts.state.serial.next();
        let mut session = session.clone();
        session.begin_at(start_of(&facts.state), facts.state.run.pass);
        session.active_ms += active_ms;
        if !session.only_waits {
            session.unwritten_ms += active_ms;
        }
        Self {
            facts,
            session,
            touched: ChangeSet::default(),
            events: Vec::new(),
            is_loop: true,
            goes_on: false,
            counts_anew: false,
            is_rebuilt: false,
            is_settled: world.is_settled,
            dirty_tasks: Arc::clone(&world.dirty_tasks),
            rebound: BTreeSet::new(),
            solved: OnceCell::from(Arc::clone(&world.solved)),
            speculations: OnceCell::from(Arc::clone(&world.speculations)),
            is_line_settled: OnceCell::new(),
            at: now.rfc3339(),
            now,
        }
    }

    /// Makes it one commit with the step before it.
    pub(super) fn go_on(mut self, before: &World) -> Self {
        self.facts.state.serial = before.state.serial;
        self.goes_on = true;
        self
    }

    pub(super) fn take_rebound(&mut self) -> BTreeSet<Ix> {
        core::mem::take(&mut self.rebound)
    }

    pub(super) fn replace_trail(&mut self, trail: Vec<Arc<Entry>>) {
        self.facts.state.trail = trail.into();
        self.touched.lists_replaced = true;
    }

    pub(super) fn announce(&mut self, event: Event) {
        self.events.push(event);
    }

    pub(super) fn run(&mut self) -> &mut Run {
        self.is_line_settled.take();
        self.touched.run = true;
        Arc::make_mut(&mut self.facts.state.run)
    }

    pub(super) fn control(&mut self) -> &mut Control {
        self.touched.control = true;
        Arc::make_mut(&mut self.facts.state.control)
    }

    pub(super) fn clear_requests(&mut self) {
        let control = self.control();
        control.stop_requested = false;
        control.redirect_requested = false;
        control.request = None;
    }

    /// Takes the verdicts that no commit holds yet into the state.
    pub(super) fn write_verdicts(&mut self) {
        let new = core::mem::take(&mut self.session.verdicts);
        if new.is_empty() {
            return;
        }
        let run = self.run();
        for verdict in new {
            verdicts::add(&mut run.verdicts, verdict);
        }
    }

    /// An unresolved task, to be changed.
    pub(super) fn task_mut(&mut self, id: &AtomId) -> Option<&mut Task> {
        self.speculations.take();
        self.atom_mut(id)?.task_mut()
    }

    fn atom_mut(&mut self, id: &AtomId) -> Option<&mut Atom> {
        let atom = self.facts.state.atoms.get_mut(id)?;
        self.touched.atoms.insert(id.clone());
        Some(Arc::make_mut(atom))
    }

    /// The try of a context, created if missing; it is counted from now on.
    pub(super) fn tried(
        &mut self,
        id: &AtomId,
        context: &Digest,
        choices: &Choices,
    ) -> Option<&mut Try> {
        if let Some(x) = self.graph.ix(id)
            && !self.valid_contexts.contains(&(x, context.clone()))
            && search::is_valid_now(&self.graph, &self.active, x, context, choices)
        {
            Arc::make_mut(&mut self.facts.valid_contexts).insert_cow((x, context.clone()));
        }
        Some(self.task_mut(id)?.tried_mut(context, choices))
    }

    /// Notes a whole selection that the base case refuted.
    pub(super) fn refute(&mut self, choices: Choices) {
        Arc::make_mut(&mut self.facts.refuted).push(choices);
    }

    /// The choice of a group, or the fragment of a planning step by its first part.
    pub(super) fn select(&mut self, group: &AtomId, choice: &AtomId) {
        match self.atom_mut(group).map(|atom| &mut atom.body) {
            Some(Body::Any { selected, .. }) => *selected = Some(choice.clone()),
            Some(Body::Plan(plan)) => plan.take_up(choice),
            Some(Body::Task(_) | Body::All { .. }) | None => {}
        }
    }

    pub(super) fn change_plan(&mut self, id: &AtomId, change: impl FnOnce(&mut PlanningStep)) {
        if self.plan_of(id).is_some() {
            self.atom_mut(id).and_then(Atom::plan_mut).map(change);
        }
    }

    /// Puts no fragment of a planning step in force.
    pub(super) fn set_plan_aside(&mut self, id: &AtomId) {
        self.change_plan(id, PlanningStep::set_aside);
        let selection = self.selection();
        self.set_selection(selection);
    }

    /// Adds atoms that a planner made.
    pub(super) fn add_atoms(&mut self, atoms: BTreeMap<AtomId, Atom>) {
        for (id, atom) in atoms {
            self.touched.atoms.insert(id.clone());
            self.facts.state.atoms.insert(id, Arc::new(atom));
        }
    }

    /// Takes atoms out that a planner made.
    pub(super) fn remove_atoms(&mut self, ids: &[AtomId]) {
        for id in ids {
            self.touched.atoms.insert(id.clone());
            self.facts.state.atoms.remove(id);
        }
    }

    /// Computes the graph's derived values anew, after atoms were added.
    pub(super) fn rebuild(&mut self) {
        let graph = Graph::of(&self.state);
        let renumber = |x: &Ix| graph.ix(self.graph.id(*x));
        self.rebound = self.rebound.iter().filter_map(renumber).collect();
        self.facts.graph = Arc::new(graph);
        let selection = self.selection();
        self.set_selection(selection);
        let valid_contexts = search::valid_contexts(&self.graph, &self.active, &self.state);
        self.facts.valid_contexts = Arc::new(valid_contexts);
        self.is_rebuilt = true;
    }

    /// Computes anew which refuted selections still count, after the plan was changed.
    pub(super) fn recount_refuted(&mut self) {
        let refuted = search::refuted(&self.graph, &self.state);
        self.facts.refuted = Arc::new(refuted);
    }

    pub(super) fn set_selection(&mut self, selection: Selection) {
        self.facts.active = Arc::new(ActiveGraph::of(&self.graph, selection));
        self.is_settled = false;
        self.forget_solved();
    }

    fn forget_solved(&mut self) {
        self.solved.take();
        self.speculations.take();
        self.is_line_settled.take();
    }

    /// Records that all tasks were checked: these failed or rest in force.
    pub(super) fn set_suspects(&mut self, failed: BTreeSet<AtomId>) {
        if !(failed.is_empty() && self.dirty_tasks.is_empty()) {
            self.dirty_tasks = Arc::new(failed);
        }
    }

    /// Appends to the trail.
    pub(super) fn record(&mut self, kind: EntryKind) {
        let run = &self.state.run;
        let n = Entry::next(&self.state.trail);
        let entry = Entry::new(n, &self.at, self.state.serial.0, run.pass, kind);
        self.facts.state.trail.push(Arc::new(entry));
    }

    /// Records it, and announces the event that it stands for.
    pub(super) fn tell(&mut self, kind: EntryKind) {
        self.events.extend(Event::of_entry(&kind));
        self.record(kind);
    }

    /// Records an attempt as in flight, under the next id, and tells why; its atom waits no longer.
    pub(super) fn begin(
        &mut self,
        intent: Intent,
        of: u32,
        description: String,
        because: StartReason,
    ) {
        let key = (intent.atom.clone(), intent.context.clone());
        self.session.waits_until_ms.remove(&key);
        let (atom, n, at) = (intent.atom.clone(), intent.n, self.at.clone());
        let run = self.run();
        run.waits.retain(|wait| wait.atom.as_ref() != Some(&atom));
        let (attempt, epoch) = (run.next_attempt(&atom), run.epoch);
        run.in_flight.push(Intent { id: attempt.clone(), epoch, at, ..intent });
        self.announce(Event::AttemptStarted { attempt, atom, n, of, description, because });
    }

    /// Takes an attempt out of flight, with the session's record of it.
    pub(super) fn land(&mut self, id: &AttemptId) -> Option<Intent> {
        let index = self.state.run.in_flight.iter().position(|intent| intent.id == *id)?;
        self.session.progress.remove(id);
        self.session.checks_wait_until_ms.remove(id);
        let intent = self.run().in_flight.remove(index);
        self.settle(&intent);
        Some(intent)
    }

    /// Measures what can still be tried. Only touched records are counted, for all else is as it was.
    fn measure(&self, before: &World) -> Result<Measure, Refusal> {
        let after = &self.facts;
        let measure = if self.counts_anew || self.is_rebuilt {
            Measure::of(after)
        } else {
            let touched = self.touched.atoms.union(&self.touched.bindings);
            before.measure.moved(&before.facts, after, touched)
        };
        if !self.counts_anew {
            hold(&before.measure, &measure)?;
        }
        Ok(measure)
    }

    /// Writes the time spent and the measure, and checks that the measure did not rise.
    pub(super) fn close(mut self, before: &World) -> Result<Transition, Refusal> {
        self.facts.state.settle_order();
        let is_quiet = !self.is_dirty();
        let is_line_settled = self.is_line_settled();
        let mut measure = before.measure.clone();
        if is_quiet {
            self.facts.state.serial = before.state.serial;
        } else {
            let unwritten_ms = core::mem::take(&mut self.session.unwritten_ms);
            measure = self.measure(before)?;
            self.touched.run = true;
            let run = Arc::make_mut(&mut self.facts.state.run);
            run.spent.active.ms += unwritten_ms;
            // A person's notes beside it stay.
            let extra = run.measure.take().map(|old| old.extra).unwrap_or_default();
            run.measure = Some(run::MeasureText { extra, ..measure.record() });
        }
        self.solved();
        if !self.touched.atoms.is_empty() {
            let touched = self.touched.atoms.iter().cloned();
            Arc::make_mut(&mut self.dirty_tasks).extend(touched);
        }
        self.session.start = start_of(&self.facts.state).cloned();
        self.session.pass = self.facts.state.run.pass;
        self.session.only_waits = self.only_waits();
        let speculations = Arc::clone(self.speculations());
        speculation::forget_staged(&mut self.session, &self.facts.graph, &speculations);
        let world = World {
            facts: self.facts,
            solved: self.solved.into_inner().unwrap_or_default(),
            speculations,
            measure,
            is_line_settled,
            is_settled: self.is_settled,
            dirty_tasks: self.dirty_tasks,
        };
        Ok(Transition {
            world,
            touched: self.touched,
            session: self.session,
            at: self.at,
            events: self.events,
            is_quiet,
        })
    }
}

fn start_of(state: &State) -> Option<&CommitId> {
    let start = state.run.started_from.as_ref();
    start.map(|start| &start.commit)
}

pub(super) fn hold(before: &Measure, after: &Measure) -> Result<(), Refusal> {
    if after <= before {
        return Ok(());
    }
    let text = |measure: &Measure| format!("{}, {}", measure.attempts, measure.verdicts);
    Err(Refusal::MeasureRose { before: text(before), after: text(after) })
}
