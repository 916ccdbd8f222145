//! Outcomes that are known and not yet on disk: an attempt that must happen only once is not
//! repeated for lack of space.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use descent_core::{event::Outcome, state::Intent};

/// Outcomes that could not be written yet. Some may be of attempts that must happen only once, so
/// none is made again.
#[derive(Debug, Clone, Default)]
pub struct PendingOutcomes(Arc<Mutex<Vec<(Intent, Outcome)>>>);

impl PendingOutcomes {
    fn all(&self) -> MutexGuard<'_, Vec<(Intent, Outcome)>> {
        // Every change is one push or one retain, so a panic leaves nothing half done.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn put(&self, intent: &Intent, outcome: &Outcome) {
        self.drop(intent);
        self.all().push((intent.clone(), outcome.clone()));
    }

    pub(super) fn get(&self, intent: &Intent) -> Option<Outcome> {
        let all = self.all();
        let mut of = all.iter().filter(|(held, _)| Self::is(held, intent));
        of.next().map(|(_, outcome)| outcome.clone())
    }

    pub(super) fn holds(&self, intent: &Intent) -> bool {
        self.all().iter().any(|(held, _)| Self::is(held, intent))
    }

    pub(super) fn drop(&self, intent: &Intent) {
        self.all().retain(|(held, _)| !Self::is(held, intent));
    }

    fn is(held: &Intent, intent: &Intent) -> bool {
        (&held.id, held.epoch) == (&intent.id, intent.epoch)
    }
}
