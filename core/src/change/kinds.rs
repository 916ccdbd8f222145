//! The kinds of change, the outcome of a change, and the reasons for refusing one.

use alloc::{boxed::Box, string::String, sync::Arc, vec::Vec};
use core::fmt;

use super::Consequence;
use crate::{
    doc::{Fault, Node},
    event::Event,
    id::{AtomId, AttemptId, CommitId, TreeId},
    state::{
        Atom, AtomStatus, Binding, Constraints, CorrectionRecord, FreeValue, Objective,
        StartedFrom, State,
        encode::ChangeSet,
        fields::Findings,
        law::BlockedRecord,
        limits::{self, ConstraintRule},
    },
    step::{Refusal, Transition},
    verdict::assertions::Assertion,
};

/// One change. `None` takes away.
#[derive(Debug, Clone)]
pub enum Change<'a> {
    /// Everything of the objective but its constraints.
    Objective(Arc<Objective>),
    Constraint(ConstraintChange),
    /// An atom with its specification, prerequisites and parts. A result that is taken out of a file opens its atom.
    Atom(AtomId, Option<Arc<Atom>>),
    /// The choice of a group.
    Choice(AtomId, Option<AtomId>),
    /// A result by a person.
    Binding(AtomId, Option<Arc<Binding>>),
    Status(AtomId, AtomStatus),
    /// An atom goes, with its result.
    Removal(AtomId),
    /// The failures of a task count no more.
    Retry(AtomId),
    /// Planners may propose it again.
    Unblock(BlockedRecord),
    /// The plan that was taken in: what the next one is compared with. By itself it is no difference.
    Plan(Arc<FreeValue>),
    /// Another start, from which the result is made anew.
    Start(StartedFrom),
    /// All that a person says to a task.
    Guidance(AtomId, Vec<String>),
    /// An answer to an assertion.
    Answer(&'a Answer<'a>),
    /// An answer about an effect in doubt.
    Resolution(&'a AttemptId, Resolution<'a>),
    /// Back to an earlier state.
    Undo(&'a EarlierState<'a>),
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
    pub effects: Vec<Consequence>,
    pub events: Vec<Event>,
}

impl From<Transition> for Adoption {
    fn from(step: Transition) -> Self {
        Self {
            state: step.world.state,
            touched: step.touched,
            at: step.at,
            effects: Vec::new(),
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
    #[error("no atom is named {0}")]
    NoAtom(AtomId),
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
