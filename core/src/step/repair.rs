//! Makes an outdated result again, up to a limit.

use alloc::{
    format,
    string::{String, ToString},
};

use super::{
    counts::{self, RepairCause},
    failure::{self, Failure},
    transaction::Transaction,
};
use crate::state::limits::REPAIRS_MAX;
use crate::{
    event::FILES_MAX,
    id::{AtomId, Digest},
    measure,
    state::{
        Binding, Extra, FailureClass, Intent, Role, SideEffect, Task, Try, Usage,
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
    if let Some(tried) =
        transaction.task(id).and_then(|task| task.tries.iter_mut().find(|t| t.context == context))
    {
        tried.attempts = tried.attempts.max(most);
    }
    if !counts::count_repair(transaction, id, &context, cause) {
        return out_of_repairs(transaction, id, &context, cause);
    }
    ask_before_again(transaction, id, &binding, cause.why);
}

/// An effect outside that may happen once only, and did, is not repeated unasked.
fn ask_before_again(transaction: &mut Transaction, id: &AtomId, binding: &Binding, why: &str) {
    let Some(context) = &binding.context else {
        return;
    };
    let is_once_only = |task: &Task| {
        let has_failed = |tried: &Try| tried.context == *context && tried.has_failed();
        task.spec.effect.is_once_only() && !task.tries.iter().any(has_failed)
    };
    if transaction.task_of(id).is_some_and(is_once_only) {
        let attempt = transaction.run().next_attempt(id);
        let doubt = InDoubtEntry {
            atom: id.clone(),
            attempt,
            context: Some(context.clone()),
            started: binding.at.clone(),
            reason: why.into(),
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
    let most = REPAIRS_MAX;
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
        effect: SideEffect::Tree,
        base: None,
        role: Role::Worker,
        agent: None,
        reserved: Usage::default(),
        at: transaction.at().to_string(),
        extra: Extra::default(),
    };
    let reason = format!("no repair is left of {most}, and {}", in_words(cause));
    let failure = Failure::without_attempt(FailureClass::Environmental, reason);
    failure::record(transaction, &intent, &failure, true);
    transaction.announce(cause.event(intent.atom, most.saturating_add(1), most));
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
