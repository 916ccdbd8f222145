//! The sessions of attempts that go on after a kill of the loop.
//!
//! Invariant: each is given out once. If it does not go on, the attempt begins anew.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use descent_core::id::AttemptId;

use crate::agent::SessionRecord;

#[derive(Debug, Clone, Default)]
pub struct Sessions(Arc<Mutex<BTreeMap<AttemptId, SessionRecord>>>);

impl Sessions {
    pub(super) fn fill(&self, sessions: BTreeMap<AttemptId, SessionRecord>) {
        // Every change is one assignment or one removal.
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = sessions;
    }

    pub(super) fn take(&self, attempt: &AttemptId) -> Option<SessionRecord> {
        let mut sessions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.remove(attempt)
    }
}
