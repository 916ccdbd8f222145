//! Makes an outdated result again, up to a limit; counts results and repairs.

use super::{
    failure::{self, Failure},
    phase,
    transaction::Transaction,
};
use crate::doc::prelude::*;
use crate::{
    event::{Event, FILES_MAX},
    id::{AtomId, AttemptId, Digest},
    measure,
    state::{
        Extra, FailureClass, Intent, Task, Try, TryEnd, atom::MergeConflict, limits::REPAIRS_MAX,
        record::InDoubtEntry,
    },
};

/// Opens a solved atom again in its context, up to a limit. Its attempts are used up by that: a repair counts as one.
pub(super) fn repair(transaction: &mut Transaction, id: &AtomId, cause: RepairCause<'_>) {
    let Some(binding) = transaction.unbind(id) else {
        return;
    };
    let Some(context) = binding.context.clone() else {
        return;
    };
    let most =
        transaction.task_of(id).map_or(1, |task| measure::attempts_max(&transaction.state, task));
    if let Some(tried) = transaction
        .task_mut(id)
        .and_then(|task| task.tries.iter_mut().find(|t| t.context == context))
    {
        tried.attempts = tried.attempts.max(most);
    }
    if !count_repair(transaction, id, &context, cause) {
        return out_of_repairs(transaction, id, &context, cause);
    }
    // An effect outside that may happen once only, and did, is not repeated unasked.
    let is_once_only = |task: &Task| {
        let has_failed = task.tried(&context).is_some_and(Try::has_failed);
        task.spec.effect.is_once_only() && !has_failed
    };
    if transaction.task_of(id).is_some_and(is_once_only) {
        let doubt = InDoubtEntry {
            atom: id.clone(),
            attempt: transaction.run().next_attempt(id),
            context: Some(context),
            started: binding.at.clone(),
            reason: cause.why.into(),
        };
        failure::doubt(transaction, doubt);
    }
}

/// Records a failure when the limit of repairs is reached, though nothing was attempted.
pub(super) fn out_of_repairs(
    transaction: &mut Transaction,
    atom: &AtomId,
    context: &Digest,
    cause: RepairCause<'_>,
) {
    let tried = transaction.task_of(atom).and_then(|task| task.tried(context));
    let Some((choices, n)) = tried.map(|tried| (tried.choices.clone(), tried.attempts)) else {
        return;
    };
    let intent = Intent {
        id: transaction.run().next_attempt(atom),
        atom: atom.clone(),
        context: context.clone(),
        choices,
        epoch: transaction.state.run.epoch,
        n,
        at: transaction.at.clone(),
        ..Intent::default()
    };
    let reason = format!("no repair is left of {REPAIRS_MAX}, and {}", in_words(cause));
    let failure = Failure::without_attempt(FailureClass::Environmental, reason);
    failure::record(transaction, &intent, &failure, true);
    transaction.announce(cause.event(intent.atom, REPAIRS_MAX + 1));
}

/// The cause with its paths, for the reason of a failure.
pub(super) fn in_words(cause: RepairCause<'_>) -> String {
    let why = cause.why;
    match cause.conflict {
        [] => why.to_string(),
        paths if paths.len() > FILES_MAX => {
            let more = paths.len() - FILES_MAX;
            format!("{why}: {}, and {more} more", paths[..FILES_MAX].join(", "))
        }
        paths => format!("{why}: {}", paths.join(", ")),
    }
}

// Counts results and repairs as attempts of the context, of the run and of the phases above.

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

    /// The announcement of the `repair`th.
    fn event(&self, atom: AtomId, repair: u32) -> Event {
        Event::Repair {
            atom,
            attempt: self.attempt.cloned(),
            conflict: self.conflict.iter().take(FILES_MAX).cloned().collect(),
            repair,
            of: REPAIRS_MAX,
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

/// Counts a repair of an open atom. Past the limit the atom fails, and this is false.
pub(super) fn count_repair(
    transaction: &mut Transaction,
    id: &AtomId,
    context: &Digest,
    cause: RepairCause<'_>,
) -> bool {
    transaction.run().spent.repairs += 1;
    let Some(task) = transaction.task_mut(id) else {
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
    if repairs > REPAIRS_MAX {
        tried.ended = Some(TryEnd::Failed(FailureClass::Environmental));
        return false;
    }
    transaction.announce(cause.event(id.clone(), repairs));
    true
}
