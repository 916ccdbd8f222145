//! The questions about a pass that came to its end: an opinion of it (contract §9.30), issues across its phases, and the
//! kind of task said anew.
//!
//! Invariant: it steers what a refiner or a planner is told. It ends nothing, solves nothing and takes no choice away.
//! Not here: the form of an answer (`assessment`).

use alloc::{
    string::{String, ToString},
    vec::Vec,
};

use super::{
    question::{self, UNPAID},
    transaction::Transaction,
};
use crate::{
    assessment::{self, AssessmentAnswer, PassFacts},
    doc::Node,
    event::{ConsultEnd, Event},
    graph::unjudged::WHOLE_PLAN,
    id::{AgentName, AtomId, Digest},
    profile::{self, InferredProfile},
    state::{
        AssessmentCode, AssessmentRecord, AtomStatus, Consult, ISSUES_MAX, IssueType, JudgingLevel,
        ReviewRecord, Role,
        check::Thousandths,
        profile::{PROFILE_CHANGES_MAX, ProfileChange, ProfileRecord, ProfileSource, TaskProfile},
    },
    validation::{self, ValidationAnswer},
};

/// At a dead end: puts the question, unless it was answered. True while its answer is awaited.
pub(super) fn is_awaited(transaction: &mut Transaction, subject: &Digest) -> bool {
    let state = &transaction.state;
    if !profile::judging(state).asks() || is_known(transaction, subject) {
        return false;
    }
    question::is_awaited(transaction, Role::Assess, subject, |transaction, agent| {
        take(transaction, subject.clone(), agent, Err(UNPAID.to_string()));
    })
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

// The issues that a judging agent finds across the phases of a pass that came to its end (contract §9.32).
//
// Invariant: it is advice for whoever assesses the pass and changes the plan. It ends nothing, solves nothing and
// takes no choice away.

/// At a dead end: puts the question, unless it was answered. True while its answer is awaited.
pub(super) fn review_is_awaited(transaction: &mut Transaction, subject: &Digest) -> bool {
    if !is_due(transaction, subject) {
        return false;
    }
    question::is_awaited(transaction, Role::Validate, subject, |transaction, agent| {
        review_take(transaction, subject.clone(), agent, Err(UNPAID.to_string()));
    })
}

fn is_due(transaction: &Transaction, subject: &Digest) -> bool {
    let judging = transaction.state.run.judging.as_ref();
    let known = judging.and_then(|judging| judging.review.as_ref());
    let is_known = known.is_some_and(|known| known.subject == *subject);
    profile::judging(&transaction.state) == JudgingLevel::Full && !is_known
}

/// Whether the answer to a question would still be of use.
pub(super) fn review_is_asked(transaction: &Transaction, asked: &Consult) -> bool {
    question::is_about_plan(transaction, asked) && is_due(transaction, &asked.subject)
}

/// Takes the answer about the pass as it ended; that about any other is void.
pub(super) fn review_answered(transaction: &mut Transaction, asked: &Consult, end: ConsultEnd) {
    let read = |transaction: &Transaction, node: &Node| {
        let state = &transaction.state;
        let is_known = |id: &str| id == WHOLE_PLAN || state.atom(&AtomId::new(id)).is_some();
        validation::read(node, is_known)
    };
    if let Some(read) = question::heard(transaction, asked, end, read) {
        let (subject, agent) = (asked.subject.clone(), asked.agent.clone());
        review_take(transaction, subject, agent, read);
    }
}

/// Keeps what was found, or that nobody looked.
fn review_take(
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

// The kind of task, said anew at the end of a pass that shows it was taken for another (contract §9.26).
//
// Invariant: it is asked about on three signals at once, once a pass, and never where a person said what kind it is.
// The passes that it gives stay within the limits.

/// Passes are allocated anew where they differ by more than this share of those before, in percent.
const DIFFERENCE_PERCENT: u32 = 30;

/// At a dead end: puts the question, unless it was answered. True while its answer is awaited.
pub(super) fn reprofile_is_awaited(transaction: &mut Transaction, subject: &Digest) -> bool {
    reprofile_is_due(transaction, subject)
        && question::is_awaited(transaction, Role::Profile, subject, |_, _| ())
}

/// The pass did not converge, its plan has open issues, and a task could not be done as it was said.
fn reprofile_is_due(transaction: &Transaction, subject: &Digest) -> bool {
    let state = &transaction.state;
    let Some(known) = known(transaction) else {
        return false;
    };
    let judging = state.run.judging.as_ref();
    let assessed = judging.and_then(|judging| judging.assessment.as_ref());
    let is_unconverged = assessed
        .is_some_and(|assessed| assessed.subject == *subject && assessed.converged == Some(false));
    let has_issues = state.run.issues().any(|one| one.severity.is_heavy());
    known.revised.as_ref() != Some(subject)
        && is_unconverged
        && has_issues
        && has_blocked(transaction)
}

/// An agent's profile that is in force.
fn known(transaction: &Transaction) -> Option<&ProfileRecord> {
    let state = &transaction.state;
    let is_persons = state.objective.constraints.profile.is_some();
    state.run.profile.as_ref().filter(|_| !is_persons)
}

/// Whether the answer to a question would still be of use.
pub(super) fn reprofile_is_asked(transaction: &Transaction, asked: &Consult) -> bool {
    question::is_about_plan(transaction, asked) && reprofile_is_due(transaction, &asked.subject)
}

/// Takes the answer about the pass as it ended; that about any other is void.
pub(super) fn reprofile_answered(transaction: &mut Transaction, asked: &Consult, end: ConsultEnd) {
    let read = |_: &Transaction, node: &Node| profile::read(node);
    if let Some(read) = question::heard(transaction, asked, end, read) {
        reprofile_take(transaction, asked, read.ok());
    }
}

fn reprofile_take(transaction: &mut Transaction, asked: &Consult, said: Option<InferredProfile>) {
    let Some(known) = known(transaction).cloned() else {
        return;
    };
    let mut revised = ProfileRecord { revised: Some(asked.subject.clone()), ..known.clone() };
    if let Some(said) = said {
        let at = transaction.at().to_string();
        let new = profile::record(asked.agent.clone(), at, Ok(said));
        revised = ProfileRecord {
            revised: revised.revised,
            history: revised.history,
            extra: revised.extra,
            ..new
        };
    }
    transaction.run().profile = Some(revised);
    let (were, passes) = allocate(transaction);
    let changes = changes(transaction, &known, were, passes);
    if changes.is_empty() {
        return;
    }
    transaction.announce(Event::Profiled {
        agent: asked.agent.clone(),
        source: ProfileSource::Inferred,
        passes,
        because: changes[0].because.clone(),
    });
    if let Some(profile) = &mut transaction.run().profile {
        profile.history.extend(changes);
        let old = profile.history.len().saturating_sub(PROFILE_CHANGES_MAX);
        profile.history.drain(..old);
    }
}

/// Allocates the passes anew, where they differ by much. Gives those before, and those now.
fn allocate(transaction: &mut Transaction) -> (u32, u32) {
    let state = &transaction.state;
    let known = state.run.passes.as_ref();
    let known = known.map(|count| (count.allocated, count.begun));
    let (Some((were, begun)), Some(kind)) = (known, profile::in_force(state)) else {
        return (0, 0);
    };
    let most = profile::max_passes(&state.objective.constraints);
    let wanted = profile::passes(&kind, most);
    let wanted = wanted.max(begun.saturating_add(1)).min(most);
    let is_other =
        wanted.abs_diff(were).saturating_mul(100) > were.saturating_mul(DIFFERENCE_PERCENT);
    if !is_other {
        return (were, were);
    }
    if let Some(count) = &mut transaction.run().passes {
        count.allocated = wanted;
    }
    (were, wanted)
}

/// The fields that are other than before.
fn changes(
    transaction: &Transaction,
    was: &ProfileRecord,
    passes_were: u32,
    passes: u32,
) -> Vec<ProfileChange> {
    let Some(is) = known(transaction) else {
        return Vec::new();
    };
    let fields = |one: &TaskProfile| {
        [
            ("reasoning_depth", one.reasoning_depth.to_string()),
            ("information_sufficiency", one.information_sufficiency.text()),
            ("expected_tool_usage", one.expected_tool_usage.word().to_string()),
            ("output_breadth", one.output_breadth.word().to_string()),
            ("confidence_requirement", one.confidence_requirement.word().to_string()),
        ]
    };
    let pairs = fields(&was.profile).into_iter().zip(fields(&is.profile));
    let other = pairs.filter(|(was, is)| was != is);
    let change = |((field, was), (_, is)): ((&str, String), (&str, String))| ProfileChange {
        pass: transaction.state.run.pass,
        field: field.to_string(),
        was,
        is,
        passes_were,
        passes,
        because: self::known(transaction)
            .map(|profile| profile.raw_inference.clone())
            .unwrap_or_default(),
        extra: Default::default(),
    };
    other.map(change).collect()
}
