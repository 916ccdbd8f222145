//! Counts results and repairs as attempts of the context, of the run and of the phases above.

use alloc::string::String;

use super::{phase, transaction::Transaction};
use crate::state::limits::REPAIRS_MAX;
use crate::{
    event::{Event, FILES_MAX},
    id::{AtomId, AttemptId, Digest},
    measure,
    state::{Extra, FailureClass, Intent, TryEnd, atom::MergeConflict},
};

/// Why a result is made again.
#[derive(Debug, Clone, Copy)]
pub(super) struct RepairCause<'a> {
    pub(super) why: &'a str,
    /// The attempt whose change did not merge, and the paths in which it did not.
    pub(super) attempt: Option<&'a AttemptId>,
    pub(super) conflict: &'a [String],
}

impl<'a> RepairCause<'a> {
    pub(super) fn of(why: &'a str) -> Self {
        Self { why, attempt: None, conflict: &[] }
    }

    /// The announcement of the `repair`th of `of`.
    pub(super) fn event(&self, atom: AtomId, repair: u32, of: u32) -> Event {
        Event::Repair {
            atom,
            attempt: self.attempt.cloned(),
            conflict: self.conflict.iter().take(FILES_MAX).cloned().collect(),
            repair,
            of,
            why: self.why.into(),
        }
    }
}

/// Counts an attempt that made a result; gives the attempts that it took.
pub(super) fn count_success(transaction: &mut Transaction, intent: &Intent) -> u32 {
    transaction.run().iteration += 1;
    let most = transaction
        .task_of(&intent.atom)
        .map_or(1, |task| measure::attempts_max(&transaction.state, task));
    let Some(tried) = transaction.tried(&intent.atom, &intent.context, &intent.choices) else {
        return 1;
    };
    (tried.transient, tried.alike) = (0, None);
    // Else it is a repair.
    let is_counted = tried.attempts < most;
    tried.attempts += u32::from(is_counted);
    let attempts = tried.attempts;
    if is_counted {
        transaction.run().spent.attempts += 1;
        phase::count(transaction, &intent.atom);
    }
    attempts
}

/// Takes the count of an attempt back, in the run and in the phases above.
pub(super) fn give_back(transaction: &mut Transaction, intent: &Intent) {
    let spent = &mut transaction.run().spent;
    spent.attempts = spent.attempts.saturating_sub(1);
    phase::give_back(transaction, &intent.atom);
}

/// Counts a repair of an open atom. Past the limit the atom fails, and this is false.
pub(super) fn count_repair(
    transaction: &mut Transaction,
    id: &AtomId,
    context: &Digest,
    cause: RepairCause<'_>,
) -> bool {
    let most = REPAIRS_MAX;
    transaction.run().spent.repairs += 1;
    let Some(task) = transaction.task(id) else {
        return true;
    };
    let Some(tried) = task.tries.iter_mut().find(|tried| tried.context == *context) else {
        return true;
    };
    tried.repairs += 1;
    if !cause.conflict.is_empty() {
        tried.conflict = Some(MergeConflict {
            attempt: cause.attempt.cloned(),
            paths: cause.conflict.iter().take(FILES_MAX).cloned().collect(),
            extra: Extra::default(),
        });
    }
    let repairs = tried.repairs;
    if repairs > most {
        tried.ended = Some(TryEnd::Failed(FailureClass::Environmental));
        return false;
    }
    transaction.announce(cause.event(id.clone(), repairs, most));
    true
}
