//! An attempt comes to its end: what its outcome means (contract §13), and what a failure costs.

use alloc::{
    format,
    string::{String, ToString},
    sync::Arc,
    vec::Vec,
};

use super::{AttemptProgress, phase, planning, transaction::Transaction};
use crate::{
    event::{Event, Outcome},
    id::{AtomId, AttemptId, Digest, Epoch},
    measure, search,
    state::{
        AtomStatus, EntryKind, Extra, FailureClass, Intent, SideEffect, SideFile, TryEnd,
        fields::{Writer, texts_node},
        record::choices_node,
        side,
    },
    verdict::CommandEnd,
};

/// A failure, as the trail and a person read it.
pub(super) struct Failure {
    pub(super) class: FailureClass,
    pub(super) reason: String,
    pub(super) excerpt: String,
    /// Of what that is an excerpt.
    pub(super) whole: Option<SideFile>,
    pub(super) criteria: Vec<(String, &'static str)>,
    pub(super) duration_ms: u64,
}

pub(super) fn ended(draft: &mut Transaction, id: &AttemptId, epoch: Epoch, outcome: Outcome) {
    let Some(intent) = draft.in_flight(id).filter(|intent| intent.epoch == epoch) else {
        draft.say(Event::Discarded {
            attempt: id.clone(),
        });
        return;
    };
    match outcome.how {
        // It did not come to its own end: of an effect outside nobody knows then whether it happened.
        CommandEnd::TimedOut | CommandEnd::Signal(_) if intent.effect.is_once_only() => {
            lost(draft, id)
        }
        CommandEnd::Exit(0) => finished(draft, (id, &intent.atom.clone()), outcome),
        CommandEnd::Exit(75) => transient(draft, id, &outcome),
        _ => {
            let has_run = outcome.how.has_run().is_some();
            let class = if has_run {
                FailureClass::Logical
            } else {
                FailureClass::Environmental
            };
            failed(draft, id, by_outcome(&outcome, class));
        }
    }
}

fn by_outcome(outcome: &Outcome, class: FailureClass) -> Failure {
    let last = outcome
        .last_line
        .as_ref()
        .map(|line| format!(": {line}"))
        .unwrap_or_default();
    Failure {
        class,
        reason: outcome.how.text() + &last,
        excerpt: outcome.excerpt.clone(),
        whole: outcome.whole.clone(),
        criteria: Vec::new(),
        duration_ms: outcome.duration_ms,
    }
}

/// It says that it is done: its change is looked at next, nothing is decided yet.
fn finished(draft: &mut Transaction, (id, atom): (&AttemptId, &AtomId), outcome: Outcome) {
    if let Some(fault) = &outcome.report_fault {
        let failure = Failure {
            reason: format!("its result cannot be used: {fault}"),
            ..by_outcome(&outcome, FailureClass::Logical)
        };
        return refused(draft, id, failure);
    }
    if let Some(report) = outcome.report.as_ref().filter(|report| report.is_blocked) {
        let words = report.summary.clone();
        return blocked(draft, id, &outcome, words);
    }
    if draft.plan_of(atom).is_some() {
        return planning::finished(draft, id, &outcome);
    }
    draft
        .session
        .progress
        .insert(id.clone(), AttemptProgress::Finished(Arc::new(outcome)));
}

/// It came to its end, and what it made is of no use. What it may have done outside is done: a person is asked before
/// that happens again.
pub(super) fn refused(draft: &mut Transaction, id: &AttemptId, failure: Failure) {
    let is_once_only = |intent: &Intent| intent.effect.is_once_only();
    if !draft.in_flight(id).is_some_and(is_once_only) {
        return failed(draft, id, failure);
    }
    if let Some(intent) = draft.land(id) {
        let since = (intent.at.as_str(), failure.reason.as_str());
        doubt(draft, (&intent.atom, id), &intent.context, since);
    }
}

/// The agent says that it cannot be done: no further attempt in this context.
fn blocked(draft: &mut Transaction, id: &AttemptId, outcome: &Outcome, words: String) {
    let Some(intent) = draft.in_flight(id).cloned() else {
        return;
    };
    let failure = Failure {
        reason: format!("blocked: {words}"),
        ..by_outcome(outcome, FailureClass::Logical)
    };
    fail(draft, id, failure, true);
    if let Some(task) = draft.task(&intent.atom) {
        task.status = AtomStatus::Invalid(words);
    }
}

fn transient(draft: &mut Transaction, id: &AttemptId, outcome: &Outcome) {
    let most = draft.state.objective.constraints.max_transient();
    let Some(intent) = draft.in_flight(id).cloned() else {
        return;
    };
    let Some(tried) = draft.tried(&intent.atom, &intent.context, &intent.choices) else {
        return;
    };
    if tried.transient >= most {
        let mut failure = by_outcome(outcome, FailureClass::Environmental);
        failure.reason = format!("still transient after {most} retries ({})", failure.reason);
        return failed(draft, id, failure);
    }
    tried.transient += 1;
    let retry = tried.transient;
    let wait_ms = backoff_ms(retry, id.as_str());
    draft.run().spent.transient += 1;
    draft.land(id);
    let until_ms = draft.active_in(wait_ms);
    draft
        .session
        .waits_until_ms
        .insert((intent.atom.clone(), intent.context), until_ms);
    let ms = outcome.duration_ms;
    draft.say(Event::Transient {
        attempt: id.clone(),
        atom: intent.atom,
        ms,
        retry,
        of: most,
        wait_ms,
    });
}

/// Exponential, from half a second to half a minute, with a jitter of a quarter drawn from `seed`: the same state
/// gives the same wait.
pub(super) fn backoff_ms(retry: u32, seed: &str) -> u64 {
    let full = 500u64
        .saturating_mul(1 << retry.saturating_sub(1).min(6))
        .min(30_000);
    let digest = Digest::of(seed.as_bytes());
    let jitter: u64 = digest.as_str().bytes().map(u64::from).sum::<u64>() % (full / 4).max(1);
    full - jitter
}

pub(super) fn failed(draft: &mut Transaction, id: &AttemptId, failure: Failure) {
    fail(draft, id, failure, false);
}

fn fail(draft: &mut Transaction, id: &AttemptId, failure: Failure, for_good: bool) {
    let Some(intent) = draft.land(id) else { return };
    draft.run().iteration += 1;
    let Some(most) = draft
        .task_of(&intent.atom)
        .map(|task| measure::attempts_max(&draft.state, task))
    else {
        return;
    };
    let Some(tried) = draft.tried(&intent.atom, &intent.context, &intent.choices) else {
        return;
    };
    tried.transient = 0;
    // With all attempts used it can only be a repair that failed; that has a limit of its own.
    let is_repair = tried.attempts >= most;
    tried.attempts += u32::from(!is_repair);
    let left = if for_good {
        0
    } else {
        most.saturating_sub(tried.attempts)
    };
    if for_good || left == 0 && !is_repair {
        tried.ended = Some(TryEnd::Failed(failure.class));
    }
    if !is_repair {
        draft.run().spent.attempts += 1;
        phase::count(draft, &intent.atom);
    } else if !for_good {
        let why = "making it again failed";
        super::reconcile::count_repair(draft, &intent.atom, &intent.context, why);
    }
    let has_ended = draft
        .task_of(&intent.atom)
        .and_then(|task| task.tried(&intent.context))
        .is_some_and(|t| t.has_failed());
    record(draft, &intent, &failure, has_ended);
    draft.say(Event::AttemptFailed {
        attempt: intent.id,
        atom: intent.atom,
        ms: failure.duration_ms,
        class: failure.class.word(),
        reason: failure.reason,
        attempts_left: if has_ended { 0 } else { left },
    });
}

/// It had to be made again more often than it may: told as a failure like any other, though nothing was attempted.
pub(super) fn out_of_repairs(draft: &mut Transaction, atom: &AtomId, context: &Digest, why: &str) {
    let most = draft.state.objective.constraints.max_repairs();
    let tried = draft.task_of(atom).and_then(|task| task.tried(context));
    let Some((choices, n)) = tried.map(|tried| (tried.choices.clone(), tried.attempts)) else {
        return;
    };
    let intent = Intent {
        id: draft.run().next_attempt(atom),
        atom: atom.clone(),
        context: context.clone(),
        choices,
        epoch: draft.state.run.epoch,
        n,
        effect: SideEffect::Tree,
        base: None,
        at: draft.at().to_string(),
        extra: Extra::default(),
    };
    let failure = Failure {
        class: FailureClass::Environmental,
        reason: format!("no repair is left of {most} (max_repairs), and {why}"),
        excerpt: String::new(),
        whole: None,
        criteria: Vec::new(),
        duration_ms: 0,
    };
    record(draft, &intent, &failure, true);
    draft.say(Event::Repair {
        atom: intent.atom,
        repair: most.saturating_add(1),
        of: most,
        why: why.to_string(),
    });
}

fn record(draft: &mut Transaction, intent: &Intent, failure: &Failure, has_ended: bool) {
    let conflict = draft
        .ix(&intent.atom)
        .map(|x| search::conflict(&draft.graph, x, &intent.choices));
    let files = super::backtrack::files_named(draft, &failure.excerpt);
    draft.record("failure", |to| {
        to.text("atom", intent.atom.as_str())
            .text("attempt", intent.id.as_str())
            .text("started", &intent.at);
        to.put("n", crate::doc::Node::uint(u64::from(intent.n)));
        to.text("class", failure.class.word())
            .text("reason", &failure.reason);
        to.text("context", intent.context.as_str());
        to.text_unless_empty("output", &failure.excerpt);
        to.some(side::KEY, failure.whole.as_ref().map(SideFile::node));
        if !failure.criteria.is_empty() {
            to.put("criteria", criteria(&failure.criteria));
        }
        if !files.is_empty() {
            to.put("files", texts_node(&files));
        }
        if has_ended {
            to.some("conflict", conflict.as_ref().map(choices_node));
        }
        EntryKind::Failure {
            atom: intent.atom.clone(),
            attempt: intent.id.clone(),
            class: failure.class,
            reason: failure.reason.clone(),
        }
    });
}

fn criteria(criteria: &[(String, &'static str)]) -> crate::doc::Node {
    use crate::doc::Node;
    let one = |(check, verdict): &(String, &'static str)| {
        Node::object(Vec::from([
            ("check", Node::string(check.as_str())),
            ("verdict", Node::string(*verdict)),
        ]))
    };
    Node::array(criteria.iter().map(one).collect())
}

/// The loop itself ends it, at no cost; of an effect outside nobody knows then whether it happened.
pub(super) fn cut_off(draft: &mut Transaction, id: &AttemptId, why: &'static str) {
    let is_once_only = |intent: &Intent| intent.effect.is_once_only();
    if draft.in_flight(id).is_some_and(is_once_only) {
        return lost(draft, id);
    }
    if let Some(intent) = draft.land(id) {
        draft.say(Event::Interrupted {
            attempt: id.clone(),
            atom: intent.atom,
            why,
        });
    }
}

/// A crash cut it off: it costs no attempt and is made again under the same number, so often and no more.
pub(super) fn lost(draft: &mut Transaction, id: &AttemptId) {
    let Some(intent) = draft.land(id) else { return };
    if intent.effect.is_once_only() {
        let since = (intent.at.as_str(), "cut off");
        return doubt(draft, (&intent.atom, id), &intent.context, since);
    }
    let most = draft.state.objective.constraints.max_interruptions();
    let Some(task) = draft.task(&intent.atom) else {
        return;
    };
    task.interruptions += 1;
    let is_too_often = task.interruptions >= most;
    draft.say(Event::Interrupted {
        attempt: id.clone(),
        atom: intent.atom.clone(),
        why: "the loop was cut off",
    });
    if is_too_often {
        give_up(draft, &intent, most);
    }
}

/// Nobody knows whether an effect outside happened, or whether it may happen again: a person says so. An atom that was
/// taken out is asked about when it comes back.
pub(super) fn doubt(
    draft: &mut Transaction,
    (atom, attempt): (&AtomId, &AttemptId),
    context: &Digest,
    (started, reason): (&str, &str),
) {
    let is_there = draft
        .task(atom)
        .map(|task| task.status = AtomStatus::InDoubt(attempt.clone()));
    draft.record("in_doubt", |to| {
        record_doubt(to, (atom, attempt), context, (started, reason))
    });
    let (attempt, atom) = (attempt.clone(), atom.clone());
    draft.say(match is_there {
        Some(()) => Event::InDoubt {
            attempt,
            atom,
            why: reason.into(),
        },
        None => Event::Interrupted {
            attempt,
            atom,
            why: "it was taken out while its effect outside was under way: look whether that happened",
        },
    });
}

/// What the trail says of a doubt.
pub(super) fn record_doubt(
    to: &mut Writer,
    (atom, attempt): (&AtomId, &AttemptId),
    context: &Digest,
    (started, reason): (&str, &str),
) -> EntryKind {
    to.text("atom", atom.as_str())
        .text("attempt", attempt.as_str())
        .text("started", started)
        .text("context", context.as_str())
        .text("reason", reason);
    EntryKind::Other
}

fn give_up(draft: &mut Transaction, intent: &Intent, most: u32) {
    if let Some(tried) = draft.tried(&intent.atom, &intent.context, &intent.choices) {
        tried.ended = Some(TryEnd::Failed(FailureClass::Environmental));
    }
    let failure = Failure {
        class: FailureClass::Environmental,
        reason: format!("cut off {most} times: it may be what ends the loop"),
        excerpt: String::new(),
        whole: None,
        criteria: Vec::new(),
        duration_ms: 0,
    };
    record(draft, intent, &failure, true);
}
