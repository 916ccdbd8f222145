//! A state under change: every edit goes through here, so that what was touched is known.

use alloc::{
    format,
    string::String,
    sync::Arc,
    vec::Vec,
};

use super::{Refusal, Session, Transition, World};
use crate::{
    event::Notice,
    graph::{
        Graph, Ix,
        standing::{self, Selection, Standing},
    },
    id::{AtomId, AttemptId, CommitId, Digest, Serial, UnixMillis},
    measure::Measure,
    search::Fits,
    state::{
        Atom, Binding, Body, Control, Intent, Run, State, Task, Try, encode::Touched, fields::Writer,
        record::{self, Choices},
    },
    verdict::Basis,
};

pub(super) struct Draft {
    pub(super) state: State,
    pub(super) graph: Arc<Graph>,
    pub(super) standing: Arc<Standing>,
    pub(super) fits: Arc<Fits>,
    pub(super) session: Session,
    pub(super) touched: Touched,
    pub(super) notices: Vec<Notice>,
    pub(super) now: UnixMillis,
    /// The loop itself is looking: it may dispatch and end. False for a request of another process.
    pub(super) is_loop: bool,
    /// The measure counts anew from here: a correction, or a new run.
    pub(super) counts_anew: bool,
    at: String,
}

impl Draft {
    pub(super) fn new(world: &World, session: &Session, now: UnixMillis, active_ms: u64) -> Self {
        let mut state = world.state.clone();
        state.serial = Serial(state.serial.0 + 1);
        let mut session = session.clone();
        session.active_ms += active_ms;
        session.unwritten_ms += active_ms;
        Self {
            state,
            graph: Arc::clone(&world.graph),
            standing: Arc::clone(&world.standing),
            fits: Arc::clone(&world.fits),
            session,
            touched: Touched::default(),
            notices: Vec::new(),
            now,
            is_loop: true,
            counts_anew: false,
            at: now.rfc3339(),
        }
    }

    pub(super) fn at(&self) -> &str {
        &self.at
    }

    pub(super) fn say(&mut self, notice: Notice) {
        self.notices.push(notice);
    }

    pub(super) fn run(&mut self) -> &mut Run {
        self.touched.run = true;
        Arc::make_mut(&mut self.state.run)
    }

    pub(super) fn control(&mut self) -> &mut Control {
        self.touched.control = true;
        Arc::make_mut(&mut self.state.control)
    }

    /// An unresolved task, to be changed.
    pub(super) fn task(&mut self, id: &AtomId) -> Option<&mut Task> {
        let atom = self.state.atoms.get_mut(id)?;
        self.touched.atoms.insert(id.clone());
        Arc::make_mut(atom).task_mut()
    }

    /// An unresolved task, to be read.
    pub(super) fn task_of(&self, id: &AtomId) -> Option<&Task> {
        self.state.atoms.get(id)?.task()
    }

    /// The entry of a context, made where there is none; it counts from now on.
    pub(super) fn tried(&mut self, id: &AtomId, context: &Digest, choices: &Choices) -> Option<&mut Try> {
        if let Some(x) = self.graph.ix(id)
            && self.standing.context(x) == Some(context)
        {
            Arc::make_mut(&mut self.fits).insert((x, context.clone()));
        }
        Some(self.task(id)?.tried_mut(context, choices))
    }

    /// Replaces an open atom by its result.
    pub(super) fn bind(&mut self, id: &AtomId, make: impl FnOnce(Arc<Atom>) -> Binding) {
        let Some(atom) = self.state.atoms.remove(id) else { return };
        self.state.bindings.insert(id.clone(), Arc::new(make(atom)));
        self.touched.atoms.insert(id.clone());
        self.touched.bindings.insert(id.clone());
    }

    /// Opens a resolved atom again, and gives what it was bound to.
    pub(super) fn unbind(&mut self, id: &AtomId) -> Option<Arc<Binding>> {
        let binding = self.state.bindings.remove(id)?;
        self.state.atoms.insert(id.clone(), Arc::clone(&binding.of));
        self.touched.atoms.insert(id.clone());
        self.touched.bindings.insert(id.clone());
        Some(binding)
    }

    pub(super) fn change_binding(&mut self, id: &AtomId, change: impl FnOnce(&mut Binding)) {
        let Some(binding) = self.state.bindings.get_mut(id) else { return };
        change(Arc::make_mut(binding));
        self.touched.bindings.insert(id.clone());
    }

    pub(super) fn select(&mut self, group: &AtomId, choice: &AtomId) {
        let Some(atom) = self.state.atoms.get_mut(group) else { return };
        if let Body::Any { selected, .. } = &mut Arc::make_mut(atom).body {
            *selected = Some(choice.clone());
        }
        self.touched.atoms.insert(group.clone());
    }

    pub(super) fn set_selection(&mut self, selection: Selection) {
        self.standing = Arc::new(Standing::of(&self.graph, selection));
    }

    /// What the groups have selected, those that are not live included.
    pub(super) fn selection(&self) -> Selection {
        standing::selection_of(&self.graph, &self.state)
    }

    /// Appends to the trail, starting from the common head of an entry.
    pub(super) fn record(&mut self, kind: &str, make: impl FnOnce(&mut Writer) -> record::EntryKind) {
        let mut to = record::entry(kind, &self.at, self.state.serial.0, self.state.run.pass);
        let kind = make(&mut to);
        self.state.trail.push(Arc::new(record::close(&mut to, kind)));
    }

    pub(super) fn in_flight(&self, id: &AttemptId) -> Option<&Intent> {
        self.state.run.in_flight.iter().find(|intent| intent.id == *id)
    }

    /// Takes an attempt out of flight, and all that the session knew of it.
    pub(super) fn land(&mut self, id: &AttemptId) -> Option<Intent> {
        let index = self.state.run.in_flight.iter().position(|intent| intent.id == *id)?;
        self.session.progress.remove(id);
        self.session.check_waits.remove(id);
        Some(self.run().in_flight.remove(index))
    }

    pub(super) fn ix(&self, id: &AtomId) -> Option<Ix> {
        self.graph.ix(id)
    }

    pub(super) fn is_shared(&self) -> bool {
        self.state.objective.constraints.workspace() == crate::state::Workspace::Shared
    }

    /// What evidence must be taken on to count now; `None` while the head's tree is not known.
    pub(super) fn basis(&self) -> Option<Basis> {
        // A commit of this very draft would move the serial: evidence is taken on what is in the file.
        basis(&self.state, &self.session, self.is_dirty())
    }

    /// Whether there is anything to commit.
    pub(super) fn is_dirty(&self) -> bool {
        let touched = &self.touched;
        touched.objective
            || touched.control
            || touched.run
            || touched.lists_replaced
            || !touched.atoms.is_empty()
            || !touched.bindings.is_empty()
    }

    /// Writes the time spent and the measure, and holds that the measure did not rise.
    pub(super) fn close(mut self, before: &World) -> Result<Transition, Refusal> {
        let is_quiet = !self.is_dirty();
        if is_quiet {
            self.state.serial = before.state.serial;
        } else {
            let unwritten_ms = core::mem::take(&mut self.session.unwritten_ms);
            let measure = Measure::of(&self.graph, &self.state, &self.fits);
            if !self.counts_anew {
                hold(before, &measure)?;
            }
            let run = self.run();
            run.spent.active_ms += unwritten_ms;
            run.measure = Some(measure.record());
        }
        let world = World { state: self.state, graph: self.graph, standing: self.standing, fits: self.fits };
        Ok(Transition {
            world,
            touched: self.touched,
            session: self.session,
            notices: self.notices,
            is_quiet,
        })
    }
}

fn hold(before: &World, after: &Measure) -> Result<(), Refusal> {
    let before = Measure::of(&before.graph, &before.state, &before.fits);
    if *after <= before {
        return Ok(());
    }
    let text = |measure: &Measure| format!("{}, {}", measure.attempts, measure.verdicts);
    Err(Refusal::MeasureRose { before: text(&before), after: text(after) })
}

pub(super) fn basis(state: &State, session: &Session, is_dirty: bool) -> Option<Basis> {
    if state.objective.constraints.workspace() == crate::state::Workspace::Shared {
        return (!is_dirty).then(|| Basis::Serial(state.serial.0.saturating_sub(1)));
    }
    let head = state.run.head.as_ref()?;
    tree_of(state, session, head).map(Basis::Tree)
}

fn tree_of(state: &State, session: &Session, commit: &CommitId) -> Option<crate::id::TreeId> {
    let start = state.run.started_from.as_ref().filter(|start| start.commit == *commit);
    start.map(|start| start.tree.clone()).or_else(|| session.trees.get(commit).cloned())
}
