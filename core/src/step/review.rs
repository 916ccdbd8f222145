//! The issues that a judging agent finds across the phases of a pass that came to its end (contract §9.32).
//!
//! Invariant: it is advice for whoever assesses the pass and changes the plan. It ends nothing, solves nothing and takes
//! no choice away. Not here: a planner's plan before it starts (`gate`), the form of an answer (`validation`).

use alloc::string::{String, ToString};

use super::{
    question::{self, NewQuestion, QuestionEnd},
    transaction::Transaction,
    usage,
};
use crate::{
    event::{ConsultEnd, Event},
    graph::unjudged::WHOLE_PLAN,
    id::{AgentName, AtomId, Digest},
    profile,
    state::{Consult, ISSUES_MAX, JudgingLevel, ReviewRecord, Role},
    validation::{self, ValidationAnswer},
};

/// At a dead end: puts the question, unless it was answered. True while its answer is awaited.
pub(super) fn is_awaited(transaction: &mut Transaction, subject: &Digest) -> bool {
    if !is_due(transaction, subject) {
        return false;
    }
    let Some(agent) = transaction.session.agents.in_role(Role::Validate).cloned() else {
        return false;
    };
    if usage::is_unlimited(transaction, &agent)
        || usage::lacking_for(transaction, Role::Validate, &agent).is_some()
    {
        let why = "what is left of the budget does not suffice".to_string();
        take(transaction, subject.clone(), agent, Err(why));
        return false;
    }
    let new = NewQuestion::of_plan(transaction, Role::Validate, agent, subject.clone());
    question::put_or_wait(transaction, new);
    true
}

fn is_due(transaction: &Transaction, subject: &Digest) -> bool {
    let judging = transaction.state.run.judging.as_ref();
    let known = judging.and_then(|judging| judging.review.as_ref());
    let is_known = known.is_some_and(|known| known.subject == *subject);
    profile::judging(&transaction.state) == JudgingLevel::Full && !is_known
}

/// Whether the answer to a question would still be of use.
pub(super) fn is_asked(transaction: &Transaction, asked: &Consult) -> bool {
    let subject = question::subject_of_plan(&transaction.state, &transaction.graph);
    asked.subject == subject && is_due(transaction, &subject)
}

/// Takes the answer about the pass as it ended; that about any other is void.
pub(super) fn answered(transaction: &mut Transaction, asked: &Consult, end: ConsultEnd) {
    if !is_asked(transaction, asked) {
        return;
    }
    let duration_ms = end.duration_ms;
    let answer = match question::again_or(transaction, asked, end) {
        QuestionEnd::Again => return,
        QuestionEnd::Ended(answer) => answer,
    };
    let is_known =
        |id: &str| id == WHOLE_PLAN || transaction.state.atom(&AtomId::new(id)).is_some();
    let read = answer.and_then(|node| validation::read(&node, is_known));
    let unused = read.as_ref().err().cloned().unwrap_or_default();
    question::tell(transaction, asked, &unused, duration_ms);
    let agent = asked.agent.clone();
    take(transaction, asked.subject.clone(), agent, read);
}

/// Keeps what was found, or that nobody looked.
fn take(
    transaction: &mut Transaction,
    subject: Digest,
    agent: AgentName,
    read: Result<ValidationAnswer, String>,
) {
    let (found, because) = match read {
        Ok(found) => (Some(found), String::new()),
        Err(why) => (None, why),
    };
    let unplaced = found.as_ref().map_or(0, |found| found.unplaced);
    let mut issues = found.map(|found| found.issues).unwrap_or_default();
    issues.sort_by_key(|one| one.severity.rank());
    issues.truncate(ISSUES_MAX);
    transaction.announce(Event::Reviewed {
        agent: agent.clone(),
        issues: issues.len(),
        heavy: issues.iter().filter(|one| one.severity.is_heavy()).count(),
        because: because.clone(),
    });
    let record = ReviewRecord {
        subject,
        agent,
        pass: transaction.state.run.pass,
        at: transaction.at().into(),
        because,
        issues,
        unplaced,
        extra: Default::default(),
    };
    transaction.run().judging_mut().review = Some(record);
}
