//! The opinion of a judging agent about a pass that came to its end (contract §9.30).
//!
//! Invariant: it steers what a refiner or a planner is told. It ends nothing, solves nothing and takes no choice away.
//! Not here: the form of an answer (`assessment`).

use alloc::{
    string::{String, ToString},
    vec::Vec,
};

use super::{
    question::{self, AskOutcome, UNPAID},
    transaction::Transaction,
};
use crate::{
    assessment::{self, AssessmentAnswer, PassFacts},
    doc::Node,
    event::{ConsultEnd, Event},
    id::{AgentName, AtomId, Digest},
    profile,
    state::{
        AssessmentCode, AssessmentRecord, AtomStatus, Consult, IssueType, Role, check::Thousandths,
    },
};

/// At a dead end: puts the question, unless it was answered. True while its answer is awaited.
pub(super) fn is_awaited(transaction: &mut Transaction, subject: &Digest) -> bool {
    let state = &transaction.state;
    if !profile::judging(state).asks() || is_known(transaction, subject) {
        return false;
    }
    match question::ask_about_plan(transaction, Role::Assess, subject) {
        AskOutcome::Awaited => return true,
        AskOutcome::Nobody => {}
        AskOutcome::Unpaid(agent) => {
            let why = Err(UNPAID.to_string());
            take(transaction, subject.clone(), agent, why);
        }
    }
    false
}

fn is_known(transaction: &Transaction, subject: &Digest) -> bool {
    let judging = transaction.state.run.judging.as_ref();
    let known = judging.and_then(|judging| judging.assessment.as_ref());
    known.is_some_and(|known| known.subject == *subject)
}

/// Whether the answer to a question would still be of use.
pub(super) fn is_asked(transaction: &Transaction, asked: &Consult) -> bool {
    question::is_about_plan(transaction, asked) && profile::judging(&transaction.state).asks()
}

/// Takes the answer about the pass as it ended; that about any other is void.
pub(super) fn answered(transaction: &mut Transaction, asked: &Consult, end: ConsultEnd) {
    if !is_asked(transaction, asked) {
        return;
    }
    let read = |transaction: &Transaction, node: &Node| {
        let is_known = |id: &str| transaction.state.atom(&AtomId::new(id)).is_some();
        let criteria = &transaction.state.objective.constraints.convergence;
        assessment::read(node, criteria, is_known)
    };
    if let Some(read) = question::heard(transaction, asked, end, read) {
        let (subject, agent) = (asked.subject.clone(), asked.agent.clone());
        take(transaction, subject, agent, read);
    }
}

fn facts(transaction: &Transaction) -> PassFacts {
    let state = &transaction.state;
    let mut issues = state.run.issues();
    PassFacts {
        names_what_is_not_there: issues.any(|one| one.kind == IssueType::Hallucination),
        has_blocked: has_blocked(transaction),
    }
}

/// Whether a task said that it cannot be done.
pub(super) fn has_blocked(transaction: &Transaction) -> bool {
    let is_blocked = |x| {
        let task = transaction.state.atom(transaction.graph.id(x));
        let task = task.and_then(|atom| atom.task());
        task.is_some_and(|task| matches!(task.status, AtomStatus::Invalid(_)))
    };
    transaction.graph.tasks().any(is_blocked)
}

/// Keeps what was said, or that nobody said anything.
fn take(
    transaction: &mut Transaction,
    subject: Digest,
    agent: AgentName,
    read: Result<AssessmentAnswer, String>,
) {
    let facts = facts(transaction);
    let criteria = &transaction.state.objective.constraints.convergence;
    let (codes, converged, because, said) = match read {
        Ok(said) => (
            said.codes(facts, criteria),
            Some(said.has_converged(criteria)),
            String::new(),
            Some(said),
        ),
        Err(why) => {
            let first = core::iter::once(AssessmentCode::NotAssessed.word().to_string());
            let codes: Vec<_> = first.chain(assessment::codes_of_facts(facts)).collect();
            (codes, None, why, None)
        }
    };
    transaction.announce(Event::Assessed {
        agent: agent.clone(),
        converged,
        codes: codes.clone(),
        because: because.clone(),
    });
    let share = |of: fn(&AssessmentAnswer) -> Thousandths| said.as_ref().map(of);
    let record = AssessmentRecord {
        subject,
        agent,
        pass: transaction.state.run.pass,
        at: transaction.at().into(),
        because,
        converged,
        reason_codes: codes,
        completeness: share(|said| said.completeness),
        coherence: share(|said| said.coherence),
        consistency: share(|said| said.consistency),
        missing: said.as_ref().map(|said| said.missing.clone()).unwrap_or_default(),
        contradictions: said.as_ref().map(|said| said.contradictions.clone()).unwrap_or_default(),
        complexity: said.as_ref().and_then(|said| said.complexity),
        criteria: said.as_ref().map(|said| said.criteria.clone()).unwrap_or_default(),
        blame: said.map(|said| said.blame).unwrap_or_default(),
        extra: Default::default(),
    };
    let judging = transaction.run().judging_mut();
    // A pass is assessed where the base case does not hold at its end.
    judging.mistaken = judging.mistaken.saturating_add(u32::from(converged == Some(true)));
    judging.assessment = Some(record);
}
