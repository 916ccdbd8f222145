//! The beginning of a run, with its lessons and what a repository lost, and a person's requests to it.

use super::{
    Refusal, attempt_end, base_case, consult, final_words, law_point, pass_questions, rate,
    redirect,
    repair::{RepairCause, repair},
    replan,
    transaction::Transaction,
    turn_end, usage,
};
use crate::doc::prelude::*;
use crate::{
    event::{AgentEnd, Event, Leftovers, Outcome},
    graph::Ix,
    id::{AtomId, AttemptId, CommitId, Epoch, RunId},
    measure::{Measure, RunBound},
    memory, profile,
    state::{
        Control, FailureClass, Intent, Request, ResultCommit, Role, RunStatus, StartedFrom, State,
        Task, Try, TryEnd, limits::INTERRUPTIONS_MAX, objective::RequestKind, record::RetireReason,
    },
};

/// A loop took the lease. Attempts without an outcome are lost, old requests are retired, and environmental failures
/// are forgotten.
pub(super) fn started(
    transaction: &mut Transaction,
    run: RunId,
    from: Option<StartedFrom>,
    left: Leftovers,
) {
    // A loop that died left it running.
    let is_another = transaction.state.run.status != RunStatus::Running;
    transaction.counts_anew = true;
    retire_old_request(transaction, &run);
    forget_environmental_failures(transaction);
    for (id, used) in &left.used {
        usage::told_before(transaction, id, used);
    }
    for intent in transaction.all_in_flight() {
        intent.turn.iter().for_each(|turn| {
            usage::told_before(transaction, &intent.id, &turn.usage);
        });
    }
    land_all(transaction, left.finished, &left.continued);
    lost_commits_mend(transaction, &left.gone);
    transaction.session.left_open = left_open(transaction);
    remembering_give(transaction);
    let notebook = transaction.run();
    notebook.ending = Default::default();
    notebook.delivered = None;
    notebook.waits.clear();
    rate::forget_silence(transaction);
    // The run that it was asked for has ended, with its answer by code.
    final_words::withdraw(transaction);
    consult::drop_of_another(transaction);
    if is_another {
        pass_questions::forget_useless(transaction);
        law_point::forget_end(transaction);
    }
    let agents = &transaction.session.agents;
    let probes = agents.in_role(Role::Probe).is_some();
    let questions = agents.questions(profile::judging(&transaction.state));
    let notebook = transaction.run();
    // It never ends: an attempt that was granted stays.
    notebook.cold_tries |= left.is_warm;
    notebook.epoch = Epoch(notebook.epoch.0 + 1);
    let epoch = notebook.epoch;
    let goes_on = |intent: &&mut Intent| left.continued.contains(&intent.id);
    let continued = notebook.in_flight.iter_mut().filter(goes_on);
    continued.for_each(|intent| intent.epoch = epoch);
    notebook.probes = probes;
    notebook.questions = questions;
    notebook.id = Some(run.clone());
    notebook.status = RunStatus::Running;
    if let Some(from) = from {
        notebook.head = Some(from.commit.clone());
        notebook.started_from = Some(from);
    }
    let mut passes = profile::allocated(&transaction.state);
    // A run that goes on keeps what was allocated when the kind of task was said anew.
    if let (false, Some(passes)) = (is_another, &mut passes) {
        passes.allocated = profile::kept(&transaction.state).unwrap_or(passes.allocated);
    }
    if passes != transaction.state.run.passes {
        transaction.run().passes = passes;
    }
    replan::grant(transaction);
    let left = RunBound::of(transaction, &Measure::of(transaction));
    transaction.announce(Event::RunStarted {
        run,
        attempts_left: left.attempts.to_string(),
        verdicts_left: left.verdicts.to_string(),
        starts_left: left.starts.to_string(),
        consults_left: left.consults.as_ref().map(|count| count.to_string()),
        changes_left: left.changes.as_ref().map(|changes| changes.left),
        attempts_a_change: left.changes.map(|changes| changes.attempts_each.to_string()),
    });
}

/// The steps that the last run left open when it completed. None if a person changed something since: the obstacle may
/// be gone.
fn left_open(transaction: &Transaction) -> Option<Vec<AtomId>> {
    let run = &transaction.state.run;
    let ending = run.last_ending().filter(|_| run.status == RunStatus::Completed)?;
    let corrections = transaction.state.corrections.iter();
    let changed = corrections.filter_map(|one| one.data.timestamp.as_ref());
    if changed.max() > ending.ended.as_ref() {
        return None;
    }
    Some(base_case::open_steps(transaction))
}

/// Adopts attempts that ended before the loop died; the others were cut off, and go on if their agent can.
fn land_all(
    transaction: &mut Transaction,
    mut finished: Vec<(AttemptId, Outcome)>,
    continued: &BTreeSet<AttemptId>,
) {
    for intent in transaction.all_in_flight() {
        let id = &intent.id;
        let Some(place) = finished.iter().position(|(attempt, _)| attempt == id) else {
            if continued.contains(id) {
                attempt_end::interrupted(transaction, &intent)
            } else {
                attempt_end::lost(transaction, &intent)
            }
            continue;
        };
        let (_, outcome) = finished.swap_remove(place);
        // A person may have helped since, and a limit may be over: the agent is asked again.
        if matches!(
            outcome.agent_end,
            Some(AgentEnd::Unavailable { .. } | AgentEnd::Limited { .. } | AgentEnd::Down(_))
        ) {
            attempt_end::cut_off(transaction, &intent, "its agent could not be used");
            continue;
        }
        let atom = intent.atom.clone();
        transaction.announce(Event::Adopted { attempt: id.clone(), atom });
        turn_end::ended(transaction, id, intent.epoch, outcome);
    }
}

/// Retires a request to a dead run with a record; the next run never obeys it. A flag set by hand, without a request,
/// is for this run.
fn retire_old_request(transaction: &mut Transaction, run: &RunId) {
    let Some(request) = transaction.state.control.request.clone() else {
        return;
    };
    if request.run.as_ref() == Some(run) {
        return;
    }
    transaction.clear_requests();
    redirect::retire(transaction, &request, RetireReason::EarlierRun);
}

/// Failures of the environment are tried again. Attempts that were cut off too often are not: only a person forgets
/// that.
fn forget_environmental_failures(transaction: &mut Transaction) {
    let is_hindered = |task: &Task| {
        task.interruptions < INTERRUPTIONS_MAX && task.tries.iter().any(is_environmental)
    };
    let hindered = transaction.open_tasks().filter(|(_, task)| is_hindered(task));
    let hindered: Vec<Ix> = hindered.map(|(x, _)| x).collect();
    let graph = Arc::clone(&transaction.graph);
    for task_id in hindered.into_iter().map(|x| graph.id(x)) {
        transaction.change_work(task_id, |task| {
            let tries = task.tries.iter_mut().filter(|tried| is_environmental(tried));
            tries.for_each(Try::forget_failures);
        });
    }
}

fn is_environmental(tried: &Try) -> bool {
    matches!(tried.ended, Some(TryEnd::Failed(FailureClass::Environmental)))
}

/// A request of the loop itself, on a signal.
pub(super) fn asked(
    transaction: &mut Transaction,
    request: Request,
    reason: Option<String>,
) -> Result<(), Refusal> {
    let kind = request.kind;
    let control = control_with(&transaction.state, request, reason.clone())?;
    transaction.is_loop = false;
    transaction.announce(Event::Requested { request: kind, reason });
    *transaction.control() = control;
    Ok(())
}

/// The control flags with one request added.
pub fn control_with(
    state: &State,
    request: Request,
    reason: Option<String>,
) -> Result<Control, Refusal> {
    if !state.run.status.is_active() {
        return Err(Refusal::NothingRuns);
    }
    let mut control = (*state.control).clone();
    let is_first = |before: &Request| before.kind != RequestKind::StopNow;
    let escalates =
        request.kind == RequestKind::StopNow && control.request.as_ref().is_none_or(is_first);
    if control.stop_requested && request.kind != RequestKind::Redirect && !escalates {
        return Err(Refusal::AlreadyAsked);
    }
    match request.kind {
        RequestKind::Stop | RequestKind::StopNow => {
            control.stop_requested = true;
            control.stop_reason = reason;
        }
        RequestKind::Redirect => control.redirect_requested = true,
    }
    control.request = Some(request);
    Ok(control)
}

// The lessons of earlier runs that a run is given at its start.
//
// Invariant: they stand in its first commit, and a run that goes on has what it was given then,
// whatever the file of lessons says meanwhile.

/// Writes down the lessons that the host found. Without memory nothing stays of an earlier start.
fn remembering_give(transaction: &mut Transaction) {
    let lessons = transaction.session.remembered.take();
    let used = match lessons {
        None => None,
        Some(lessons) if memory::begins(transaction.state.run.status) => memory::used(lessons),
        Some(_) => return,
    };
    if used != transaction.state.run.memory_used {
        transaction.run().memory_used = used;
    }
}

// A repository lost commits that the state names. Results that depend on them are made again; the
// rest stays.
//
// Invariant: afterwards the head is an existing commit, and every result whose commit is gone is
// open, in this context or another.

fn lost_commits_mend(transaction: &mut Transaction, gone: &BTreeSet<CommitId>) {
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
        transaction.change_work(&id, |task| forget(task, gone));
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
