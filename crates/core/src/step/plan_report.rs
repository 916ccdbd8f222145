//! The report on a planner's plan: who looked at it, and what they found.
//!
//! Not here: asking an agent, and what follows from its answer (`gate`).

use alloc::{string::String, vec::Vec};

use super::transaction::Transaction;
use crate::{
    event::Event,
    id::{AgentName, AtomId, Digest},
    profile,
    state::{
        AnswerRecord, Fragment, IssueRecord, IssuesAnswer, JudgedBy, JudgedMark, JudgingLevel,
        KeptAnswer, Question,
    },
};

/// Who looked at a plan, and what they found.
pub(super) struct PlanReport {
    pub(super) by: JudgedBy,
    pub(super) agent: Option<AgentName>,
    pub(super) issues: Vec<IssueRecord>,
    pub(super) unplaced: u32,
    pub(super) because: String,
}

/// Notes what the rules found, and closes the gate before a new plan where an agent is to look at it too.
pub(super) fn begin(transaction: &Transaction, fragment: &mut Fragment, issues: usize) {
    let level = profile::judging(&transaction.state);
    if level == JudgingLevel::Off {
        return;
    }
    // The gate opens at once, and says so, where no agent can be asked.
    if level.asks() {
        fragment.unjudged = true;
        return;
    }
    fragment.judged = Some(JudgedMark {
        by: JudgedBy::Code,
        at: transaction.at().into(),
        issues: u32::try_from(issues).unwrap_or(u32::MAX),
        because: String::new(),
        found: Vec::new(),
        extra: Default::default(),
    });
}

/// Keeps the report of the rules on a new plan.
pub(super) fn note(
    transaction: &mut Transaction,
    atom: &AtomId,
    subject: Digest,
    issues: Vec<IssueRecord>,
) {
    if profile::judging(&transaction.state) == JudgingLevel::Off {
        return;
    }
    let judged =
        PlanReport { by: JudgedBy::Code, agent: None, issues, unplaced: 0, because: String::new() };
    if !judged.issues.is_empty() {
        announce(transaction, atom, &judged, false);
    }
    report(transaction, atom, subject, judged);
}

pub(super) fn report(
    transaction: &mut Transaction,
    atom: &AtomId,
    subject: Digest,
    judged: PlanReport,
) {
    let found = IssuesAnswer { unplaced: judged.unplaced, ..IssuesAnswer::of(judged.issues) };
    let record = AnswerRecord {
        question: Question::Plan,
        atom: Some(atom.clone()),
        subject,
        agent: judged.agent,
        pass: transaction.state.run.pass,
        at: transaction.at().into(),
        because: judged.because,
        codes: Vec::new(),
        answer: Some(KeptAnswer::Issues(found)),
        extra: Default::default(),
    };
    transaction.run().judging_mut().keep(record);
}

pub(super) fn announce(
    transaction: &mut Transaction,
    atom: &AtomId,
    judged: &PlanReport,
    again: bool,
) {
    let count = |rank: usize| {
        let issues = judged.issues.iter();
        issues.filter(|one| one.severity.rank() == rank).count()
    };
    transaction.announce(Event::Judged {
        atom: atom.clone(),
        by: judged.by,
        agent: judged.agent.clone(),
        high: count(0),
        medium: count(1),
        low: count(2),
        unplaced: judged.unplaced,
        again,
        because: judged.because.clone(),
    });
}
