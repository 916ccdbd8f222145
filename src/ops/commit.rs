//! Commits one change, whatever others commit or save meanwhile.
//!
//! Invariant: a change is never sealed together with an edit that was not adopted. Not here: the meaning of a change
//! (`descent_core`).

use std::sync::Arc;

use descent_core::{
    change::{Adoption, ChangeRefusal},
    doc::Fault,
    event::Event,
    state::State,
};

use super::current::restless;
use crate::{
    failure::{Failure, exit},
    store::{self, CommitContent, CommitError, LoadedState, Store},
};

/// How often a change is prepared again.
const TRIES_MAX: u32 = 250;

/// Why a change is not committed.
#[derive(Debug)]
pub enum ChangeError<R> {
    /// The state changed after the preparation: prepare again.
    Stale,
    Refused(R),
    Failed(Failure),
}

impl<R> From<Failure> for ChangeError<R> {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

/// A change that the present state refuses, with that state.
#[derive(Debug)]
pub struct ChangeDenial {
    pub refusal: ChangeRefusal,
    pub state: Box<State>,
}

/// A change that was committed.
#[derive(Debug)]
pub struct CommitReport {
    pub loaded: Arc<LoadedState>,
    /// The consequences of the change.
    pub effects: Vec<String>,
    pub events: Vec<Event>,
}

impl ChangeDenial {
    pub(super) fn on(state: &State, refusal: ChangeRefusal) -> ChangeError<Self> {
        ChangeError::Refused(Self { refusal, state: Box::new(state.clone()) })
    }
}

/// Commits the result of `decide` on the present state, under the commit lock.
///
/// `prepare` runs before each try, without the lock: it adopts a pending edit and reads the facts that `decide` needs.
pub fn commit_change<P, R>(
    store: &mut Store,
    mut prepare: impl FnMut(&mut Store) -> Result<P, ChangeError<R>>,
    mut decide: impl FnMut(&P, &LoadedState) -> Result<Adoption, ChangeError<R>>,
) -> Result<Result<CommitReport, R>, Failure> {
    for _ in 0..TRIES_MAX {
        let error = match attempt(store, &mut prepare, &mut decide) {
            Ok(report) => {
                // A loop writes the journal itself.
                if !store.is_live() {
                    store.write_journal();
                }
                return Ok(Ok(report));
            }
            Err(error) => error,
        };
        match error {
            ChangeError::Stale => {}
            ChangeError::Refused(refusal) => return Ok(Err(refusal)),
            ChangeError::Failed(failure) => return Err(failure),
        }
    }
    Err(restless(store))
}

fn attempt<P, R>(
    store: &mut Store,
    prepare: &mut impl FnMut(&mut Store) -> Result<P, ChangeError<R>>,
    decide: &mut impl FnMut(&P, &LoadedState) -> Result<Adoption, ChangeError<R>>,
) -> Result<CommitReport, ChangeError<R>> {
    let prepared = prepare(store)?;
    let (mut effects, mut events) = (Vec::new(), Vec::new());
    let written = store.commit(|fresh| {
        // A foreign file sealed with the change would be taken for the program's own words.
        if fresh.is_foreign {
            return Err(ChangeError::Stale);
        }
        let adoption = decide(&prepared, fresh)?;
        effects = adoption.effects;
        events.clone_from(&adoption.events);
        Ok(Some(CommitContent {
            state: adoption.state,
            touched: adoption.touched,
            at: adoption.at,
            events: adoption.events,
        }))
    });
    match written {
        Ok(loaded) => Ok(CommitReport { loaded, effects, events }),
        Err(CommitError::Decide(error)) => Err(error),
        Err(CommitError::Store(error)) => Err(ChangeError::Failed(error.into())),
    }
}

/// The failure of a change with faults, all of them with their places; nothing was written.
pub(super) fn faulty(
    code: &'static str,
    what: &str,
    faults: &[Fault],
    hint: &'static str,
) -> Failure {
    let line = |fault: &Fault| {
        let at = match fault.pointer.as_str() {
            "" => String::new(),
            pointer => format!("{pointer}: "),
        };
        let hint = fault.hint.as_ref().map(|hint| format!(" ({hint})"));
        format!("{at}{}{}", fault.message, hint.unwrap_or_default())
    };
    let message = format!("{what} {}", store::count(faults.len()));
    Failure::new(code, exit::INVALID, message, hint).with(faults.iter().map(line).collect())
}
