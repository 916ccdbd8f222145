//! An agent that cannot be used: it tells so itself, or it fails at once and alike in three atoms.
//!
//! Invariant: the attempts that showed it cost nothing. Not here: ends that are failures of the attempt (`attempt_end`).

use super::{failure::Failure, phase, transaction::Transaction};
use crate::doc::prelude::*;
use crate::{
    id::{AtomId, Digest},
    state::{AtomStatus, Intent, Role, TryEnd, atom::Rest},
    verdict::CommandEnd,
    world::{QuickFailure, Unavailable},
};

/// Failures within that time are those of an agent that did not begin.
const QUICK_MS: u64 = 10_000;
/// In so many atoms an agent must have failed at once.
const ATOMS_MIN: usize = 3;

/// Forgets quick failures of an agent that has worked.
pub(super) fn has_worked(transaction: &mut Transaction, intent: &Intent) {
    let quick = &mut transaction.session.quick_failures;
    quick.retain(|one| one.intent.agent != intent.agent);
}

/// Notes a failure that may be one of the agent. If it is alike in three atoms, the run ends, and these attempts are given
/// back.
pub(super) fn note(
    transaction: &mut Transaction,
    intent: &Intent,
    failure: &Failure,
    fingerprint: &Digest,
) {
    let (Role::Worker, Some(agent)) = (intent.role, &intent.agent) else {
        return;
    };
    let outcome = &failure.outcome;
    if matches!(outcome.how, CommandEnd::NotRun(_)) {
        return;
    }
    // Whoever says that its task cannot be done has looked at it.
    let is_quick = outcome.duration_ms < QUICK_MS
        && outcome.changed.is_empty()
        && outcome.usage.calls == 0
        && !outcome.is_blocked();
    if !is_quick {
        return has_worked(transaction, intent);
    }
    let quick = &mut transaction.session.quick_failures;
    quick.push(QuickFailure { intent: intent.clone(), fingerprint: fingerprint.clone() });
    let is_alike = |one: &&QuickFailure| {
        one.intent.agent.as_ref() == Some(agent) && one.fingerprint == *fingerprint
    };
    let alike = quick.iter().filter(is_alike).map(|one| one.intent.clone());
    let alike: Vec<Intent> = alike.collect();
    let atoms: BTreeSet<&AtomId> = alike.iter().map(|one| &one.atom).collect();
    if atoms.len() < ATOMS_MIN {
        return;
    }
    alike.iter().for_each(|one| give_back(transaction, one));
    let attempts = alike.len();
    let cause = Unavailable::ends_at_once(agent, attempts, &intent.atom, &failure.reason);
    transaction.session.unavailable = Some(cause);
}

/// The attempt counts no more, in its context, in the run and in the phases above.
fn give_back(transaction: &mut Transaction, intent: &Intent) {
    let Some(tried) = transaction.tried(&intent.atom, &intent.context, &intent.choices) else {
        return;
    };
    tried.attempts = tried.attempts.saturating_sub(1);
    if matches!(tried.ended, Some(TryEnd::Failed(_))) {
        tried.ended = None;
    }
    // Failures that count no more are no reason to rest.
    tried.alike = None;
    tried.rest = tried.rest.filter(|rest| *rest == Rest::Woken);
    if let Some(task) = transaction.task_mut(&intent.atom)
        && matches!(task.status, AtomStatus::Failed | AtomStatus::NeedsGuidance)
    {
        task.status = AtomStatus::Pending;
    }
    let spent = &mut transaction.run().spent;
    spent.attempts = spent.attempts.saturating_sub(1);
    phase::give_back(transaction, &intent.atom);
    transaction.counts_anew = true;
}
