//! The issues that a judging agent finds across the phases of a pass that came to its end (contract §9.32).
//!
//! Invariant: it is advice for whoever assesses the pass and changes the plan. It ends nothing, solves nothing and takes
//! no choice away. Not here: a planner's plan before it starts (`gate`), the form of an answer (`validation`).

use alloc::string::{String, ToString};

use super::{
    question::{self, AskOutcome, UNPAID},
    transaction::Transaction,
};
use crate::{
    doc::Node,
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
    match question::ask_about_plan(transaction, Role::Validate, subject) {
        AskOutcome::Awaited => return true,
        AskOutcome::Nobody => {}
        AskOutcome::Unpaid(agent) => {
            let why = Err(UNPAID.to_string());
            take(transaction, subject.clone(), agent, why);
        }
    }
    false
}

fn is_due(transaction: &Transaction, subject: &Digest) -> bool {
    let judging = transaction.state.run.judging.as_ref();
    let known = judging.and_then(|judging| judging.review.as_ref());
    let is_known = known.is_some_and(|known| known.subject == *subject);
    profile::judging(&transaction.state) == JudgingLevel::Full && !is_known
}

/// Whether the answer to a question would still be of use.
pub(super) fn is_asked(transaction: &Transaction, asked: &Consult) -> bool {
    question::is_about_plan(transaction, asked) && is_due(transaction, &asked.subject)
}

/// Takes the answer about the pass as it ended; that about any other is void.
pub(super) fn answered(transaction: &mut Transaction, asked: &Consult, end: ConsultEnd) {
    if !is_asked(transaction, asked) {
        return;
    }
    let read = |transaction: &Transaction, node: &Node| {
        let state = &transaction.state;
        let is_known = |id: &str| id == WHOLE_PLAN || state.atom(&AtomId::new(id)).is_some();
        validation::read(node, is_known)
    };
    if let Some(read) = question::heard(transaction, asked, end, read) {
        let (subject, agent) = (asked.subject.clone(), asked.agent.clone());
        take(transaction, subject, agent, read);
    }
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
