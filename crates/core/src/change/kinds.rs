//! A change, its outcome, and the reasons for refusing one.
//!
//! Not here: the consequences, which are drawn afterwards (`draft`).

use crate::doc::prelude::*;
use core::fmt;

use crate::{
    doc::{Fault, Node},
    event::Event,
    id::{AtomId, CommitId, TreeId},
    state::{
        Atom, Constraints, CorrectionRecord, StartedFrom, State, Task,
        encode::ChangeSet,
        fields::Findings,
        law::BlockedRecord,
        limits::{self, ConstraintRule},
    },
    step::{Refusal, Transition},
    verdict::assertions::Assertion,
};

/// A change that a person wants: the state as it shall be, and what a state does not say.
#[derive(Debug, Clone)]
pub struct Change {
    pub state: State,
    /// Atoms that go, with their results.
    pub removed: BTreeSet<AtomId>,
    /// Tasks whose failures count no more.
    pub retried: Vec<AtomId>,
    /// Tools and targets that planners may propose again.
    pub unblocked: Vec<BlockedRecord>,
}

impl Change {
    /// A change to that state, and nothing beside it.
    pub fn to(state: State) -> Self {
        Self { state, removed: BTreeSet::new(), retried: Vec::new(), unblocked: Vec::new() }
    }

    /// Other constraints.
    pub fn of_constraints(
        before: &State,
        changes: &[ConstraintChange],
    ) -> Result<Self, ChangeRefusal> {
        let mut state = before.clone();
        let constraints = constraints_with(&before.objective.constraints, changes)?;
        Arc::make_mut(&mut state.objective).constraints = constraints;
        Ok(Self::to(state))
    }
}

/// A person's answer to an assertion.
#[derive(Debug)]
pub struct Answer<'a> {
    pub assertion: &'a Assertion,
    pub holds: bool,
    /// The tree that was looked at, if the answer holds for that one alone.
    pub on: Option<&'a TreeId>,
    pub reason: Option<&'a str>,
}

/// A person's answer to a doubt.
#[derive(Debug, Clone, Copy)]
pub enum Resolution<'a> {
    /// It happened; in their words, if they gave any.
    Done(Option<&'a str>),
    /// It did not, or may happen again; with the reason, if they gave one.
    Retry(Option<&'a str>),
}

/// An earlier state of the same lineage, to go back to.
#[derive(Clone, Copy)]
pub struct EarlierState<'a> {
    pub state: &'a State,
    /// Whether the repository still holds a commit.
    pub has_commit: &'a dyn Fn(&CommitId) -> bool,
}

impl fmt::Debug for EarlierState<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EarlierState({})", self.state.serial.0)
    }
}

/// A constraint with its new value, or back at its default.
#[derive(Debug, Clone)]
pub struct ConstraintChange {
    pub(super) key: String,
    pub(super) value: Option<Node>,
}

/// The next state, to be committed whole.
#[derive(Debug)]
pub struct Adoption {
    pub state: State,
    pub touched: ChangeSet,
    /// The time of the new records.
    pub at: String,
    pub events: Vec<Event>,
}

impl Adoption {
    /// A next state of which nothing follows.
    pub(super) fn of(before: &State, state: State, at: String, events: Vec<Event>) -> Self {
        let touched = ChangeSet::between(before, &state);
        Self { state, touched, at, events }
    }
}

impl From<Transition> for Adoption {
    fn from(step: Transition) -> Self {
        Self {
            state: step.world.facts.state,
            touched: step.touched,
            at: step.at,
            events: step.events,
        }
    }
}

/// Why a change is not applied: the state stays as it is.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ChangeRefusal {
    #[error("nothing would be another")]
    NoDifference,
    #[error("the workspace cannot be changed once a run has started")]
    WorkspaceIsFixed,
    #[error("constraints that were read cannot be read again")]
    Unreadable,
    /// These have failed, and could be named.
    #[error("no atom asks for guidance")]
    NobodyAsks(Vec<AtomId>),
    #[error("the changes do not fit the state")]
    Invalid(Vec<Fault>),
    #[error(transparent)]
    Step(Refusal),
    #[error("the same was said already")]
    SameAnswer(Box<CorrectionRecord>),
    #[error("the attempt is not in doubt")]
    NotInDoubt,
    /// The effects of these atoms, if any, are outside of the tree and not taken back.
    #[error("nothing would be undone")]
    NothingToUndo(Vec<AtomId>),
}

impl ConstraintChange {
    /// Builds a change; `null` takes a choice back. A value that no state may hold is a fault.
    pub fn new(rule: &ConstraintRule, value: Node) -> Result<Self, Fault> {
        let key = rule.key.clone();
        if value.is_null() {
            return Ok(Self { key, value: None });
        }
        let alone = limits::with(&Node::null(), &key, Some(value.clone()));
        let mut found = Findings::default();
        let _ = Constraints::read(&alone, "", &mut found);
        match found.faults.into_iter().next() {
            Some(fault) => Err(fault),
            None => Ok(Self { key, value: Some(value) }),
        }
    }
}

/// Constraints with changes applied; the last change of a key counts.
pub fn constraints_with<'c>(
    constraints: &Constraints,
    changes: impl IntoIterator<Item = &'c ConstraintChange>,
) -> Result<Constraints, ChangeRefusal> {
    let mut node = constraints.node();
    for change in changes {
        node = limits::with(&node, &change.key, change.value.clone());
    }
    let read = Constraints::read(&node, "", &mut Findings::default());
    read.ok_or(ChangeRefusal::Unreadable)
}

/// Puts an atom where it stands: by itself, or in its result.
pub(super) fn put_atom(state: &mut State, id: &AtomId, atom: &Arc<Atom>) {
    match state.bindings.get_mut(id) {
        Some(binding) => Arc::make_mut(binding).of = Arc::clone(atom),
        None => drop(state.atoms.insert(id.clone(), Arc::clone(atom))),
    }
}

/// An atom where it stands: by itself, or in its result.
pub(super) fn atom_mut<'s>(state: &'s mut State, id: &AtomId) -> Option<&'s mut Atom> {
    if let Some(atom) = state.atoms.get_mut(id) {
        return Some(Arc::make_mut(atom));
    }
    let binding = state.bindings.get_mut(id)?;
    Some(Arc::make_mut(&mut Arc::make_mut(binding).of))
}

pub(super) fn task_mut<'s>(state: &'s mut State, id: &AtomId) -> Option<&'s mut Task> {
    atom_mut(state, id)?.task_mut()
}

/// Puts the run on that start. The tree is the start's until the loop has rebuilt it.
pub(super) fn set_start(state: &mut State, start: &StartedFrom) {
    let run = Arc::make_mut(&mut state.run);
    run.head = Some(start.commit.clone());
    run.started_from = Some(start.clone());
    run.line = Default::default();
    run.delivered = None;
    // Verdicts are on trees of the earlier start: none of them may be delivered.
    run.verdicts = Default::default();
}
