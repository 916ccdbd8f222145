//! A repository lost commits that the state names. Results that depend on them are made again; the rest stays.
//!
//! Invariant: afterwards the head is an existing commit, and every result whose commit is gone is open, in this context
//! or another.

use alloc::{collections::BTreeSet, sync::Arc, vec::Vec};

use super::{counts::RepairCause, repair::repair, transaction::Transaction};
use crate::{
    event::Event,
    id::{AtomId, CommitId},
    state::{ResultCommit, Task, Try, TryEnd},
};

pub(super) fn mend(transaction: &mut Transaction, gone: &BTreeSet<CommitId>) {
    if gone.is_empty() {
        return;
    }
    reopen_bound(transaction, gone);
    forget_parked(transaction, gone);
    forget_verdicts(transaction, gone);
    step_back(transaction, gone);
}

fn forget_verdicts(transaction: &mut Transaction, gone: &BTreeSet<CommitId>) {
    let run = &transaction.state.run;
    let is_lost = |commit: &CommitId| gone.contains(commit);
    if !run.verdicts.iter().any(|verdict| is_lost(&verdict.commit))
        && !run.delivered.as_ref().is_some_and(is_lost)
    {
        return;
    }
    let run = transaction.run();
    run.verdicts.retain(|verdict| !is_lost(&verdict.commit));
    run.delivered = run.delivered.take().filter(|commit| !is_lost(commit));
}

fn reopen_bound(transaction: &mut Transaction, gone: &BTreeSet<CommitId>) {
    let is_gone = |commit: &Option<CommitId>| commit.as_ref().is_some_and(|id| gone.contains(id));
    let bound = transaction.state.bindings.iter();
    let lost: Vec<(AtomId, bool)> = bound
        .filter(|(_, binding)| is_gone(&binding.commit))
        .map(|(id, binding)| (id.clone(), binding.is_by_person()))
        .collect();
    for (id, is_by_person) in lost {
        // A person's result stays, though its change to the tree is gone.
        if is_by_person {
            transaction.change_binding(&id, |binding| binding.commit = None);
        } else {
            repair(transaction, &id, RepairCause::of("the repository lost its commit"));
        }
    }
}

/// A parked result without its commit cannot come back: its context is tried again when it is in force. Parked results
/// of a resolved atom are inside its binding.
fn forget_parked(transaction: &mut Transaction, gone: &BTreeSet<CommitId>) {
    let all = transaction.state.all_atoms();
    let holders = all.into_iter().filter(|(_, atom)| {
        let tries = atom.task().map(|task| task.tries.iter());
        tries.into_iter().flatten().any(|tried| is_gone(tried, gone))
    });
    let holders: Vec<AtomId> = holders.map(|(id, _)| id.clone()).collect();
    for id in holders {
        if let Some(task) = transaction.task(&id) {
            forget(task, gone);
        }
        transaction.change_binding(&id, |binding| {
            if let Some(task) = Arc::make_mut(&mut binding.of).task_mut() {
                forget(task, gone);
            }
        });
        transaction.announce(Event::Forgotten { atom: id });
    }
}

fn is_gone(tried: &Try, gone: &BTreeSet<CommitId>) -> bool {
    matches!(&tried.ended, Some(TryEnd::Parked(parked))
        if parked.commit.as_ref().is_some_and(|id| gone.contains(id)))
}

/// An effect that may happen once only did happen: its result stays, without its change to the tree.
fn forget(task: &mut Task, gone: &BTreeSet<CommitId>) {
    let is_once_only = task.spec.effect.is_once_only();
    for tried in task.tries.iter_mut().filter(|tried| is_gone(tried, gone)) {
        match &mut tried.ended {
            Some(TryEnd::Parked(parked)) if is_once_only => Arc::make_mut(parked).commit = None,
            ended => {
                *ended = None;
                tried.attempts = 0;
            }
        }
    }
}

/// Moves the head back to the last existing commit of the result, else to the start of the run.
fn step_back(transaction: &mut Transaction, gone: &BTreeSet<CommitId>) {
    let run = &transaction.state.run;
    let is_lost = run.head.as_ref().is_some_and(|head| gone.contains(head))
        || run.line.iter().any(|placed| gone.contains(&placed.commit));
    let Some(start) = run.started_from.as_ref().filter(|_| is_lost) else {
        return;
    };
    let start = start.commit.clone();
    let whole = run.line.iter();
    let kept: Vec<ResultCommit> =
        whole.take_while(|placed| !gone.contains(&placed.commit)).cloned().collect();
    let head = kept.last().map_or(start, |placed| placed.commit.clone());
    let run = transaction.run();
    run.line = kept.into();
    run.head = Some(head);
}
