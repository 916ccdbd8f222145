//! The end of an attempt: the meaning of its outcome (contract §13), and whether it is tried
//! again: at no cost, at the cost of an attempt, or no more. A person is asked where failures are alike.
//!
//! Not here: a turn whose protocol tells more (`turn_end`), waits for a provider (`provider_wait`), the next start
//! (`dispatch`).

use super::{
    failure::{self, Failure, doubt},
    phase, planning, probing,
    provider_wait::backoff_ms,
    repair::{self, RepairCause},
    replan, rest,
    transaction::Transaction,
    unusable,
};
use crate::doc::prelude::*;
use crate::{
    doc::Node,
    event::{AgentReport, AnswerDoubt, Event, Misfit, Outcome, Product},
    measure, search,
    state::{
        AtomStatus, BlockedReport, EntryKind, FailureClass, Intent, OnStuck, Role, Try, TryEnd,
        atom::{QUESTIONS_MAX, TaskQuestion},
        fields::{Extra, Writer},
        limits::INTERRUPTIONS_MAX,
        record::{AskedEntry, InDoubtEntry},
    },
    transient,
    verdict::CommandEnd,
    world::AttemptProgress,
};

/// The end of a command, or of an agent that tells no other, without success.
pub(super) fn by_exit(transaction: &mut Transaction, intent: &Intent, outcome: &Outcome) {
    match outcome.how {
        // The attempt did not end by itself, so nobody knows whether its effect outside happened.
        _ if outcome.how.is_cut_off() && intent.effect.is_once_only() => lost(transaction, intent),
        CommandEnd::Exit(code) if may_pass(transaction, intent, outcome, code) => {
            passing(transaction, intent, outcome);
        }
        CommandEnd::Exit(_)
        | CommandEnd::Signal(_)
        | CommandEnd::TimedOut
        | CommandEnd::NotRun(_) => {
            let has_run = outcome.how.has_run().is_some();
            let class = if has_run { FailureClass::Logical } else { FailureClass::Environmental };
            failed(transaction, intent, by_outcome(outcome, class));
        }
    }
}

/// Whether the end of a command may pass: it says so itself, or is of a tool that is known. An effect outside that may
/// happen once only is not tried again by a guess.
fn may_pass(transaction: &Transaction, intent: &Intent, outcome: &Outcome, code: i32) -> bool {
    let action = transaction.task_of(&intent.atom).and_then(|task| task.spec.action.as_ref());
    let by_tool = |run: &str| transient::may_pass(run, code, &outcome.excerpt);
    let is_known = || outcome.may_pass || action.is_some_and(|action| by_tool(&action.run));
    code == 75 || !intent.effect.is_once_only() && is_known()
}

pub(super) fn by_outcome(outcome: &Outcome, class: FailureClass) -> Failure {
    let last = outcome.last_line.as_ref().map(|line| format!(": {line}")).unwrap_or_default();
    let reason = match &outcome.agent_end {
        Some(end) => end.text(),
        None => outcome.how.text() + &last,
    };
    Failure::of(outcome, class, reason)
}

/// It came to its end: its change is merged next, and nothing is decided yet.
pub(super) fn finished(transaction: &mut Transaction, intent: &Intent, outcome: Outcome) {
    if intent.role == Role::Probe {
        return probing::finished(transaction, intent, &outcome);
    }
    if let Some((question, options)) = outcome.question() {
        return asked(transaction, intent, question.into(), options.into());
    }
    if let Some(report) = outcome.report.as_ref().filter(|_| outcome.is_blocked()) {
        let words = report.summary.clone();
        return blocked(transaction, intent, &outcome, words);
    }
    if let Some(doubt) = outcome.doubt() {
        return doubted(transaction, intent, outcome, &doubt);
    }
    if !outcome.misfits.is_empty() {
        let failure = Failure {
            by_form: true,
            reason: Misfit::reason(&outcome.misfits),
            ..by_outcome(&outcome, FailureClass::Logical)
        };
        return refused(transaction, intent, failure);
    }
    if transaction.plan_of(&intent.atom).is_some() {
        return match planning::finished(transaction, intent, &outcome) {
            Ok(()) => {}
            Err(failure) => failed(transaction, intent, *failure),
        };
    }
    await_checks(transaction, intent, outcome);
}

fn await_checks(transaction: &mut Transaction, intent: &Intent, outcome: Outcome) {
    let progress = AttemptProgress::Finished(Arc::new(outcome));
    transaction.session.progress.insert(intent.id.clone(), progress);
}

/// Leaves an attempt to its checks, whatever its agent says. It fails where a value is needed, or where they cannot tell.
pub(super) fn doubted(
    transaction: &mut Transaction,
    intent: &Intent,
    outcome: Outcome,
    doubt: &AnswerDoubt,
) {
    let task = transaction.task_of(&intent.atom);
    let has_checks = task.is_some_and(|task| task.spec.checks.is_some());
    let may_tell = match doubt {
        AnswerDoubt::Form(_) => has_checks || !intent.effect.is_once_only(),
        AnswerDoubt::Unfinished(_) => {
            has_checks && (outcome.made.is_some() || intent.base.is_none())
        }
        AnswerDoubt::Denied(_) => has_checks && matches!(outcome.made, Some(Product::Commit(_))),
    };
    let is_work = intent.role == Role::Worker && !outcome.is_blocked();
    if !(is_work && may_tell && outcome.misfits.is_empty()) {
        return denied(transaction, intent, &outcome, doubt);
    }
    await_checks(transaction, intent, outcome);
}

/// Fails an attempt by the doubt about it.
pub(super) fn denied(
    transaction: &mut Transaction,
    intent: &Intent,
    outcome: &Outcome,
    doubt: &AnswerDoubt,
) {
    let by_form = matches!(doubt, AnswerDoubt::Form(_));
    let failure =
        Failure { by_form, ..Failure::of(outcome, FailureClass::Logical, doubt.words().into()) };
    if by_form {
        refused(transaction, intent, failure)
    } else {
        failed(transaction, intent, failure)
    }
}

/// The attempt came to its end, but its output is of no use. Its effect outside may have happened, so a person is asked
/// before it happens again.
pub(super) fn refused(transaction: &mut Transaction, intent: &Intent, failure: Failure) {
    if !intent.effect.is_once_only() {
        return failed(transaction, intent, failure);
    }
    transaction.land(&intent.id);
    doubt(transaction, in_doubt(intent, &failure.reason));
}

fn in_doubt(intent: &Intent, reason: &str) -> InDoubtEntry {
    InDoubtEntry {
        atom: intent.atom.clone(),
        attempt: intent.id.clone(),
        context: Some(intent.context.clone()),
        started: intent.at.clone(),
        reason: reason.into(),
    }
}

/// The agent reports that it cannot be done: no further attempt in this context.
fn blocked(transaction: &mut Transaction, intent: &Intent, outcome: &Outcome, words: String) {
    let words = if words.is_empty() { "no reason is given".into() } else { words };
    let failure = Failure {
        reason: format!("blocked: {words}"),
        ..by_outcome(outcome, FailureClass::Logical)
    };
    fail(transaction, intent, failure, true);
    let output = outcome.report.as_ref().and_then(output_of);
    if let Some(task) = transaction.task_mut(&intent.atom) {
        task.status = AtomStatus::Invalid(BlockedReport { words, output });
    }
}

/// The attempt cannot go on without a person's answer: its atom waits for that, and other choices are tried meanwhile. The
/// answer is guidance, so it opens another context, which has all attempts.
fn asked(transaction: &mut Transaction, intent: &Intent, question: String, options: Vec<String>) {
    let (atom, attempt) = (intent.atom.clone(), intent.id.clone());
    let _ = end_try(transaction, intent, FailureClass::Logical, true, true);
    if let Some(task) = transaction.task_mut(&atom) {
        let (asked, options) = (question.clone(), options.clone());
        task.questions.retain(|one| one.question != asked);
        task.questions.push(TaskQuestion { question: asked, options, ..TaskQuestion::default() });
        let old = task.questions.len().saturating_sub(QUESTIONS_MAX);
        task.questions.drain(..old);
        task.status = AtomStatus::NeedsGuidance;
    }
    transaction.tell(EntryKind::Asked(AskedEntry { atom, attempt, question, options }));
}

/// The value of a report, and what it hands on.
fn output_of(report: &AgentReport) -> Option<Node> {
    let handoff = report.handoff.as_deref().map(Node::string);
    if report.value.is_none() && handoff.is_none() {
        return None;
    }
    let mut to = Writer::default();
    to.some("value", report.value.clone()).some("handoff", handoff);
    Some(to.finish(&Extra::default()))
}

/// A failure that may pass is tried again at no cost, up to a limit.
pub(super) fn passing(transaction: &mut Transaction, intent: &Intent, outcome: &Outcome) {
    let most = transaction.state.objective.constraints.max_transient();
    let Some(tried) = transaction.tried(&intent.atom, &intent.context, &intent.choices) else {
        return;
    };
    let mut failure = by_outcome(outcome, FailureClass::Environmental);
    if tried.transient >= most {
        if most > 0 {
            failure.reason = format!("still transient after {most} retries ({})", failure.reason);
        }
        return failed(transaction, intent, failure);
    }
    tried.transient += 1;
    let retry = tried.transient;
    let wait_ms = backoff_ms(retry, intent.id.as_str());
    transaction.run().spent.transient += 1;
    transaction.land(&intent.id);
    let until_ms = transaction.active_in(wait_ms);
    let key = (intent.atom.clone(), intent.context.clone());
    transaction.session.waits_until_ms.insert(key, until_ms);
    transaction.announce(Event::Transient {
        attempt: intent.id.clone(),
        atom: intent.atom.clone(),
        ms: outcome.duration_ms,
        retry,
        of: most,
        wait_ms,
        reason: failure.reason,
    });
}

pub(super) fn failed(transaction: &mut Transaction, intent: &Intent, failure: Failure) {
    fail(transaction, intent, failure, false);
}

pub(super) fn fail(
    transaction: &mut Transaction,
    intent: &Intent,
    failure: Failure,
    for_good: bool,
) {
    if intent.role == Role::Probe {
        return probing::failed(transaction, intent, &failure);
    }
    let is_warm = failure.outcome.is_warm;
    let Some((is_repair, left)) = end_try(transaction, intent, failure.class, is_warm, for_good)
    else {
        return;
    };
    let has_ended = transaction.try_of(intent).is_some_and(Try::has_failed);
    let fingerprint = failure::record(transaction, intent, &failure, has_ended);
    let (shown, confidence) = (failure.told_reason(), failure.confidence());
    transaction.announce(Event::AttemptFailed {
        attempt: intent.id.clone(),
        atom: intent.atom.clone(),
        ms: Some(failure.outcome.duration_ms),
        class: failure.class,
        reason: shown,
        attempts_left: Some(if has_ended { 0 } else { left }),
        held: confidence.map(|(held, _)| held),
        of: confidence.map(|(_, of)| of),
    });
    failure::tell(transaction);
    if !is_repair {
        rest::note(transaction, intent, failure.mark(&fingerprint));
    }
    if !has_ended {
        guidance_ask_if_alike(transaction, intent);
    }
    if !is_repair {
        unusable::note(transaction, intent, &failure, &fingerprint);
    }
}

/// Takes an attempt that did not solve its atom out of flight, and counts it. Gives whether it was a repair, and the
/// attempts that are left.
fn end_try(
    transaction: &mut Transaction,
    intent: &Intent,
    class: FailureClass,
    is_warm: bool,
    for_good: bool,
) -> Option<(bool, u32)> {
    transaction.land(&intent.id);
    transaction.run().iteration += 1;
    let task = transaction.task_of(&intent.atom)?;
    let state = &transaction.state;
    let (most, has_cold_try) =
        (measure::attempts_max(state, task), measure::has_cold_try(state, task));
    let tried = transaction.tried(&intent.atom, &intent.context, &intent.choices)?;
    tried.transient = 0;
    // If all attempts are used, this was a repair; repairs have a limit of their own.
    let is_repair = tried.attempts >= most;
    tried.attempts += u32::from(!is_repair);
    let left = most.saturating_sub(tried.attempts);
    // A failure without build state needs no confirmation.
    let is_decided = for_good || left == 1 && has_cold_try && !is_warm;
    let left = if is_decided { 0 } else { left };
    if is_decided || left == 0 && !is_repair {
        tried.ended = Some(TryEnd::Failed(class));
    }
    if !is_repair {
        transaction.run().spent.attempts += 1;
        phase::count(transaction, &intent.atom);
    } else if !for_good {
        let cause = RepairCause::of("making it again failed");
        repair::count_repair(transaction, &intent.atom, &intent.context, cause);
    }
    Some((is_repair, left))
}

/// The loop itself ends the attempt, and it is not counted. Nobody knows then whether an effect outside happened.
pub(super) fn cut_off(transaction: &mut Transaction, intent: &Intent, why: &str) {
    if intent.effect.is_once_only() {
        return lost(transaction, intent);
    }
    transaction.land(&intent.id);
    tell_interrupted(transaction, intent, why);
}

fn tell_interrupted(transaction: &mut Transaction, intent: &Intent, why: &str) {
    let (attempt, atom) = (intent.id.clone(), intent.atom.clone());
    transaction.announce(Event::Interrupted { attempt, atom, why: why.into() });
}

/// A crash cut the attempt off, and its agent goes on with it: the same attempt, and one interruption more.
pub(super) fn interrupted(transaction: &mut Transaction, intent: &Intent) {
    let task = transaction.task_mut(&intent.atom);
    let goes_on = task.filter(|task| task.interruptions + 1 < INTERRUPTIONS_MAX);
    let Some(task) = goes_on else {
        return lost(transaction, intent);
    };
    task.interruptions += 1;
    tell_interrupted(transaction, intent, "the loop was cut off; its agent goes on");
}

/// A crash cut the attempt off. It is not counted and starts again under the same number, up to a limit.
pub(super) fn lost(transaction: &mut Transaction, intent: &Intent) {
    transaction.land(&intent.id);
    if intent.effect.is_once_only() {
        return doubt(transaction, in_doubt(intent, "cut off"));
    }
    let Some(task) = transaction.task_mut(&intent.atom) else {
        return;
    };
    task.interruptions += 1;
    let is_too_often = task.interruptions >= INTERRUPTIONS_MAX;
    tell_interrupted(transaction, intent, "the loop was cut off");
    if is_too_often && intent.role != Role::Probe {
        give_up(transaction, intent);
    }
}

fn give_up(transaction: &mut Transaction, intent: &Intent) {
    if let Some(tried) = transaction.tried(&intent.atom, &intent.context, &intent.choices) {
        tried.ended = Some(TryEnd::Failed(FailureClass::Environmental));
    }
    let reason = format!("cut off {INTERRUPTIONS_MAX} times: it may be what ends the loop");
    let failure = Failure::without_attempt(FailureClass::Environmental, reason);
    failure::record(transaction, intent, &failure, true);
}

// Asks a person for guidance, where further attempts would fail alike.
//
// Invariant: no atom is given up before its attempts as long as another choice could be made:
// outputs may be equal by chance, and the search promises every attempt.

/// Has the atom wait for guidance, if its last two failures in this context are alike, nothing else can be chosen, and no
/// planner may change the plan.
/// Its attempts stay.
fn guidance_ask_if_alike(transaction: &mut Transaction, intent: &Intent) {
    let asks = transaction.state.objective.constraints.on_stuck() == OnStuck::Ask;
    let is_plan = transaction.plan_of(&intent.atom).is_some();
    let may_change = replan::may_change(transaction);
    if !asks || is_plan || may_change || !failed_alike(transaction, intent) {
        return;
    }
    // Whether something else could be chosen, if the atom failed for good. A rest can be ended for that.
    let conflicts = search::lasting_conflicts(transaction);
    if rest::is_selection_left(transaction, intent, conflicts, true) {
        return;
    }
    if let Some(task) = transaction.task_mut(&intent.atom) {
        task.status = AtomStatus::NeedsGuidance;
        transaction.announce(Event::NeedsGuidance {
            atom: intent.atom.clone(),
            question: String::new(),
            options: Vec::new(),
        });
    }
}

/// Failures that count no more, after a retry, are no second ones.
fn failed_alike(transaction: &Transaction, intent: &Intent) -> bool {
    if transaction.try_of(intent).is_none_or(|tried| tried.attempts < 2) {
        return false;
    }
    let failures = transaction.state.failures().map(|(_, failure)| failure);
    let mut of_atom = failures.filter(|failure| {
        failure.atom == intent.atom && failure.context.as_ref() == Some(&intent.context)
    });
    match (of_atom.next(), of_atom.next()) {
        (Some(last), Some(before)) => {
            last.fingerprint.is_some() && last.fingerprint == before.fingerprint
        }
        _ => false,
    }
}
