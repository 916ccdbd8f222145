//! The results of a phase put in short by an agent, before a step that builds on them is planned (contract §9.31).
//!
//! Invariant: the step waits for an answer, and for nothing where there is no agent for it, or none that is paid. A
//! fragment is asked about once; without an answer that can be used its results are shown by code.

use super::{
    question::{self, of_plan, put_or_wait},
    transaction::Transaction,
    usage,
};
use crate::{
    answer_forms,
    doc::Node,
    event::ConsultEnd,
    graph::{Ix, NodeKind},
    state::{Consult, KeptAnswer, Question},
    world::long_phase::{self, LongPhase},
};

/// Before a step is planned: puts the question, unless it was answered. True while its answer is awaited.
pub(super) fn is_awaited(transaction: &mut Transaction, step: Ix) -> bool {
    if transaction.graph.vertex(step).kind != NodeKind::Plan {
        return false;
    }
    let Some(agent) = transaction.session.agents.in_role(Question::Summarise).cloned() else {
        return false;
    };
    let Some(phase) = long_phase::wanted(transaction, step) else {
        return false;
    };
    if transaction.state.run.consult.is_some() {
        return true;
    }
    if !usage::can_pay(transaction, Question::Summarise, &agent) {
        return false;
    }
    let of_plan = of_plan(transaction, Question::Summarise, agent, phase.subject);
    put_or_wait(transaction, Consult { atom: Some(phase.plan), ..of_plan });
    true
}

fn asked_about(transaction: &Transaction, asked: &Consult) -> Option<LongPhase> {
    long_phase::find(transaction, asked.atom.as_ref()?, &asked.subject)
}

/// Whether the answer to a question would still be of use.
pub(super) fn is_asked(transaction: &Transaction, asked: &Consult) -> bool {
    asked_about(transaction, asked).is_some()
}

/// Keeps the answer, or that there is none.
pub(super) fn answered(transaction: &mut Transaction, asked: &Consult, end: ConsultEnd) {
    let Some(phase) = asked_about(transaction, asked) else {
        return;
    };
    let read = |_: &Transaction, node: &Node| Ok((answer_forms::read(node)?, Default::default()));
    let Some(read) = question::heard(transaction, asked, end, read) else {
        return;
    };
    let answer = read.map(|words| Some(KeptAnswer::Text(words)));
    let summary = question::record(transaction, asked, answer);
    transaction.change_plan(&phase.plan, |step| {
        if let Some(fragment) = step.fragment_mut(&phase.first) {
            fragment.summary = Some(summary);
        }
    });
    // The next step starts the planning, since this one may have looked for work already.
    transaction.session.has_more = true;
}
