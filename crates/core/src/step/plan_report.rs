//! The report on a planner's plan: who looked at it, and what they found.
//!
//! Not here: asking an agent, and what follows from its answer (`gate`).

use alloc::{string::String, vec::Vec};

use super::transaction::Transaction;
use crate::{
    event::Event,
    id::{AtomId, Digest},
    profile,
    state::{
        AnswerRecord, Fragment, IssueRecord, IssuesAnswer, JudgedMark, JudgingLevel, KeptAnswer,
        Question,
    },
};

/// Closes the gate before a new plan where an agent is to look at it too. It opens at once, and says so, where no agent can
/// be asked.
pub(super) fn begin(transaction: &Transaction, fragment: &mut Fragment, issues: &[IssueRecord]) {
    let level = profile::judging(&transaction.state);
    let by_rules = IssuesAnswer::of(issues.to_vec());
    let report = report(transaction, &AtomId::default(), Digest::default(), by_rules);
    fragment.unjudged = level.asks();
    fragment.judged = (level == JudgingLevel::Code).then(|| mark(&report, false));
}

/// Keeps the report of the rules on a new plan.
pub(super) fn note(
    transaction: &mut Transaction,
    atom: &AtomId,
    subject: Digest,
    issues: Vec<IssueRecord>,
) {
    if profile::judging(&transaction.state) != JudgingLevel::Off {
        let report = report(transaction, atom, subject, IssuesAnswer::of(issues));
        if !report.issues().is_empty() {
            announce(transaction, &report, false);
        }
        transaction.run().judging_mut().keep(report);
    }
}

/// A report of rules alone.
pub(super) fn report(
    transaction: &Transaction,
    atom: &AtomId,
    subject: Digest,
    found: IssuesAnswer,
) -> AnswerRecord {
    AnswerRecord {
        question: Question::Plan,
        atom: Some(atom.clone()),
        subject,
        agent: None,
        pass: transaction.state.run.pass,
        at: transaction.at.clone(),
        because: String::new(),
        codes: Vec::new(),
        answer: Some(KeptAnswer::Issues(found)),
        extra: Default::default(),
    }
}

pub(super) fn mark(report: &AnswerRecord, again: bool) -> JudgedMark {
    JudgedMark {
        by: report.by(),
        at: report.at.clone(),
        issues: u32::try_from(report.issues().len()).unwrap_or(u32::MAX),
        because: report.because.clone(),
        found: if again { report.issues().to_vec() } else { Vec::new() },
        extra: Default::default(),
    }
}

pub(super) fn announce(transaction: &mut Transaction, report: &AnswerRecord, again: bool) {
    let Some(KeptAnswer::Issues(found)) = &report.answer else {
        return;
    };
    let count = |rank: usize| {
        let issues = found.issues.iter();
        issues.filter(|one| one.severity.rank() == rank).count()
    };
    transaction.announce(Event::Judged {
        atom: report.atom.clone().unwrap_or_default(),
        by: report.by(),
        agent: report.agent.clone(),
        high: count(0),
        medium: count(1),
        low: count(2),
        unplaced: found.unplaced,
        again,
        because: report.because.clone(),
    });
}
