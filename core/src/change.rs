//! A person's changes as data: a change is applied to a state and gives the next one, with its consequences.
//!
//! Not here: an edit of the file, which is known by its outcome alone (`step::correct::adopt`).

use alloc::{borrow::ToOwned, boxed::Box, string::String, sync::Arc, vec::Vec};

use crate::{
    doc::{self, Fault, Node},
    event::Event,
    id::{AttemptId, Serial, UnixMillis},
    state::{
        Confirmation, Constraints, Request, State, encode::ChangeSet, fields::Findings,
        limits::ConstraintRule,
    },
    step::{
        self, Refusal,
        correct::{self, Adoption, Answer, NotInDoubt, Resolution},
    },
};

/// One change: one commit, and the text of its correction.
#[derive(Debug)]
pub enum Change<'a> {
    Constraints(&'a [ConstraintChange]),
    Answer(&'a Answer<'a>),
    Resolution {
        attempt: &'a AttemptId,
        resolution: Resolution<'a>,
    },
}

/// A constraint with its new value, or back at its default.
#[derive(Debug, Clone)]
pub struct ConstraintChange {
    key: &'static str,
    value: Option<Node>,
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
    #[error("the same was said already")]
    SameAnswer(Box<Confirmation>),
    #[error("the attempt is not in doubt")]
    NotInDoubt,
}

impl ConstraintChange {
    /// Builds a change; `null` takes a choice back. A value that no state may hold is a fault.
    pub fn new(rule: &ConstraintRule, value: Node) -> Result<Self, Fault> {
        let key = rule.key;
        if value.is_null() {
            return Ok(Self { key, value: None });
        }
        let alone = Node::object(Vec::from([(key, value.clone())]));
        let mut found = Findings::default();
        let _ = Constraints::read(&alone, "", &mut found);
        match found.faults.into_iter().next() {
            Some(fault) => Err(fault),
            None => Ok(Self {
                key,
                value: Some(value),
            }),
        }
    }
}

/// Constraints with changes applied; the last change of a key counts.
pub fn constraints_with(
    constraints: &Constraints,
    changes: &[ConstraintChange],
) -> Result<Constraints, ChangeRefusal> {
    let node = constraints.node();
    let members = node.as_object().unwrap_or_default().iter();
    let mut members: Vec<(String, Node)> = members
        .map(|member| (member.key.clone(), member.node.clone()))
        .collect();
    for change in changes {
        members.retain(|(known, _)| known != change.key);
        if let Some(value) = &change.value {
            members.push((change.key.to_owned(), value.clone()));
        }
    }
    let read = Constraints::read(&Node::object(members), "", &mut Findings::default());
    read.ok_or(ChangeRefusal::Unreadable)
}

/// The state with a change, as one commit.
pub fn apply(
    state: &State,
    change: &Change<'_>,
    by: &str,
    now: UnixMillis,
) -> Result<Adoption, ChangeRefusal> {
    match change {
        Change::Constraints(changes) => {
            let next = constrain(state, changes)?;
            Ok(correct::adopt(Some(state), next, by, now))
        }
        Change::Answer(answer) => {
            correct::confirm(state, answer, by, now).map_err(ChangeRefusal::SameAnswer)
        }
        Change::Resolution {
            attempt,
            resolution,
        } => correct::resolve(state, attempt, *resolution, by, now)
            .map_err(|NotInDoubt| ChangeRefusal::NotInDoubt),
    }
}

fn constrain(state: &State, changes: &[ConstraintChange]) -> Result<State, ChangeRefusal> {
    let before = &state.objective.constraints;
    let after = constraints_with(before, changes)?;
    if doc::canonical(&after.node()) == doc::canonical(&before.node()) {
        return Err(ChangeRefusal::NoDifference);
    }
    if state.run.id.is_some() && after.workspace() != before.workspace() {
        return Err(ChangeRefusal::WorkspaceIsFixed);
    }
    let mut next = state.clone();
    Arc::make_mut(&mut next.objective).constraints = after;
    Ok(next)
}

/// The state with a request to the running loop. It is no correction, since only the request changes.
pub fn request(
    state: &State,
    request: Request,
    reason: Option<String>,
) -> Result<Adoption, Refusal> {
    let mut next = state.clone();
    next.serial = Serial(state.serial.0 + 1);
    let at = request.at.clone();
    let requested = Event::Requested {
        request: request.kind,
        reason: reason.clone(),
    };
    next.control = Arc::new(step::control_with(state, request, reason)?);
    Ok(Adoption {
        state: next,
        touched: ChangeSet {
            control: true,
            ..ChangeSet::default()
        },
        at,
        effects: Vec::new(),
        events: Vec::from([requested]),
    })
}
